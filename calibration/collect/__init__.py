"""Measures one or more GPUs and writes a calibration profile. See README.md in this folder."""
