#!/usr/bin/env python3
"""Time and memory of `plateau import` on large files, which it writes itself and takes away again.

    bench/import_large.py                        1 GB of SGLang server log, 2 GB of Kineto trace
    bench/import_large.py --log 0.1 --trace 0.2  smaller ones, in GB
Bars: 1 GB of log in 20 s on one core and 200 MB; 2 GB of trace in 300 MB.
"""

import argparse
import os
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PLATEAU = os.path.join(ROOT, "build/release/plateau")
BLOCK = 20000  # records written at a time


def log_lines(start):
    """A server's lines: mostly decode, a prefill and an access line now and then."""
    for i in range(start, start + BLOCK):
        stamp = time.strftime("[%Y-%m-%d %H:%M:%S", time.gmtime(1_770_000_000 + i // 4))
        if i % 20 == 0:
            yield (f"{stamp} TP0] Prefill batch, #new-seq: {i % 8 + 1}, #new-token: {i % 8192 + 1}, #cached-token: 0, token usage: "
                   f"{i % 100 / 100:.2f}, #running-req: {i % 2048}, #queue-req: {i % 512}, input throughput (token/s): {i % 30000 + 0.25:.2f},\n")
        elif i % 20 == 10:
            yield f'{stamp}] INFO:     192.0.2.7:{i % 60000} - "POST /generate HTTP/1.1" 200 OK\n'
        else:
            yield (f"{stamp} TP0] Decode batch, #running-req: {i % 2048}, #token: {i % 495488}, token usage: {i % 100 / 100:.2f}, cuda graph: "
                   f"True, gen throughput (token/s): {i % 4000 + 0.5:.2f}, #queue-req: {i % 1024},\n")


def trace_lines(start):
    names = ["void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16>", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "fused_moe_kernel",
             "void flash::flash_fwd_splitkv_kernel", "void rms_norm_kernel<bf16>"]
    for i in range(start, start + BLOCK):
        comma = ",\n" if i else ""
        yield (f'{comma}  {{\n    "ph": "X", "cat": "kernel", "name": "{names[i % 5]}", "pid": {i % 8}, "tid": 7,\n    "ts": '
               f'{1000 + 12.5 * i:.3f}, "dur": {3 + i % 97}.125,\n    "args": {{"External id": {i}, "device": {i % 8}, "stream": 7, "correlation": {i}, '
               f'"grid": [{i % 512 + 1}, 1, 1], "block": [256, 1, 1], "est. achieved occupancy %": {i % 100}}}\n  }}')


def write(path, size, head, lines, tail):
    with open(path, "w") as file:
        file.write(head)
        start = 0
        while file.tell() < size:
            file.write("".join(lines(start)))
            start += BLOCK
        file.write(tail)
    return start


def measure(path, out):
    """Seconds of processor time and the largest resident set, in MB, of one import."""
    child = os.fork()
    if child == 0:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.execv(PLATEAU, [PLATEAU, "import", path, "--out", out])
    _, status, usage = os.wait4(child, 0)
    if status != 0:
        sys.exit(f"plateau import {path} ended with {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", type=float, default=1.0, help="GB of server log, 0 for none")
    parser.add_argument("--trace", type=float, default=2.0, help="GB of Kineto trace, 0 for none")
    parser.add_argument("--folder", help="where the files may lie (default: the system's)")
    arguments = parser.parse_args()
    jobs = [("server log", arguments.log, "", log_lines, "", 20.0, 200.0),
            ("Kineto trace", arguments.trace, '{"schemaVersion": 1, "traceEvents": [\n', trace_lines, "\n]}\n", None, 300.0)]
    late = False
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        for name, size, head, lines, tail, seconds_bar, megabytes_bar in jobs:
            if size <= 0:
                continue
            path = os.path.join(folder, "large")
            records = write(path, size * 1e9, head, lines, tail)
            written = os.path.getsize(path) / 1e9
            seconds, megabytes = measure(path, os.path.join(folder, "out.csv"))
            os.remove(path)
            scaled = seconds / written * size
            late = late or megabytes > megabytes_bar or (seconds_bar is not None and seconds > seconds_bar * written)
            print(f"{name}: {written:.2f} GB, {records} records: {seconds:.1f} s of one core ({scaled:.1f} s for {size:g} GB), {megabytes:.0f} MB")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
