"""Ratios between two tables of one kind, by operation: did a second run, board or engine version give the same times?

    python3 calibration/collect/compare.py NEW/kernels.csv OLD/kernels.csv [--value latency_us]
"""

import argparse
import os
import statistics
import sys

if __package__ in (None, ""):
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    sys.path = [p for p in sys.path if os.path.abspath(p or ".") != os.path.dirname(os.path.abspath(__file__))]

from collect import common, tables  # noqa: E402

VALUE = {"kernels.csv": "latency_us", "collectives.csv": "latency_us", "decode_steps.csv": "step_ms",
         "roofline.csv": "latency_us", "serving_runs.csv": "output_tok_s"}


def ratios(new_rows, old_rows, keys, value, group):
    """{group: [(key, new / old)]} over the keys that both tables have."""
    old = {}
    for row in old_rows:
        if row.get(value):
            old.setdefault(tuple(row.get(k, "") for k in keys), float(row[value]))
    found = {}
    for row in new_rows:
        key = tuple(row.get(k, "") for k in keys)
        if row.get(value) and key in old:
            found.setdefault(row.get(group, ""), []).append((key, float(row[value]) / old[key]))
    return found


def main(argv=None):
    p = argparse.ArgumentParser(prog="compare.py", description="Ratios new / old of two tables, by operation.")
    p.add_argument("new")
    p.add_argument("old")
    p.add_argument("--value", help="column to compare (default: the table's latency or throughput)")
    args = p.parse_args(argv)
    kind = next((k for k in VALUE if os.path.basename(args.new).endswith(k)), None)
    if kind is None:
        raise ValueError(f"{args.new}: name one of {', '.join(VALUE)}")
    for path in (args.new, args.old):
        if not os.path.exists(path):
            raise ValueError(f"{path}: no such file")
    keys = [k for k in tables.KEYS[kind] if k != "board"]
    group = "op" if "op" in keys else "model"
    found = ratios(tables.read_rows(args.new), tables.read_rows(args.old), keys, args.value or VALUE[kind], group)
    print(f"{'':20s} {'rows':>5s} {'median':>7s} {'min':>7s} {'max':>7s}   worst row")
    for name, values in sorted(found.items()):
        only = sorted(v for _, v in values)
        worst = max(values, key=lambda kv: abs(kv[1] - 1))
        print(f"{name:20s} {len(only):5d} {statistics.median(only):7.3f} {only[0]:7.3f} {only[-1]:7.3f}   "
              f"{' '.join(worst[0])}: {worst[1]:.3f}")
    if not found:
        print("no key is in both tables")
    return 0


if __name__ == "__main__":
    sys.exit(common.guarded(main))
