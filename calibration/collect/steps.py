"""Whole decode steps of the reference decoder at fixed batch and context -> decode_steps.csv.

    python3 calibration/collect/steps.py --out DIR --model qwen3-30b-a3b --batches 1,32,256 [--ctx 256] [--graph 1,0]

A name ending in -tpN runs on N GPUs with NCCL; --fake-tp runs one GPU's share alone, without the all-reduce.
"""

import argparse
import os
import sys

if __package__ in (None, ""):
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    sys.path = [p for p in sys.path if os.path.abspath(p or ".") != os.path.dirname(os.path.abspath(__file__))]

from collect import common, geometry, ranks, tables  # noqa: E402


def parser():
    p = argparse.ArgumentParser(prog="steps.py", description="Measures whole decode steps.")
    common.add_common_flags(p)
    p.add_argument("--model", default="qwen3-30b-a3b", help="one or more names, comma separated, of the same -tpN")
    p.add_argument("--batches", default="1,8,32,64,128,256,512,1024")
    p.add_argument("--ctx", default="256", help="contexts, comma separated: every batch is run at every context")
    p.add_argument("--shapes", help="instead of --batches and --ctx: BATCHxCTX, comma separated")
    p.add_argument("--zipf", default="0")
    p.add_argument("--graph", default="1", help="1, 0 or 1,0")
    p.add_argument("--layers", type=int, help="run only so many layers (a check, not a measurement of the model)")
    p.add_argument("--fake-tp", action="store_true", help="-tpN shapes on one GPU, no collective")
    p.add_argument("--paths", default="direct", help="for -tpN: direct, host_memory or both")
    return p


def shapes_of(args):
    if args.shapes:
        return [tuple(int(v) for v in s.lower().split("x")) for s in args.shapes.split(",")]
    return [(int(b), int(c)) for c in args.ctx.split(",") for b in args.batches.split(",")]


def measure(args, device_index=0, group=None):
    budget, progress = common.start(args)
    m = common.Machine(args, device_index)
    from collect import measure_steps

    bench = m.bench(args)
    writes = group is None or group.rank == 0
    table = tables.Table(args.out, "decode_steps.csv") if writes else None
    for g in geometries_of(args):
        progress.line(f"steps: {g.name}, {args.layers or g.layers} layers", force=True)
        measure_steps.measure_all(bench, g, shapes_of(args), [float(z) for z in args.zipf.split(",")],
                                  [v == "1" for v in args.graph.split(",")], m.moe_kind(args), args.power_window_s,
                                  table, m.board_id, progress, budget, group, args.layers)
        m.torch.cuda.empty_cache()
    return 0


def geometries_of(args):
    custom = common.geometry.custom_from(args)
    found = [geometry.find(name.strip(), custom) for name in args.model.split(",")]
    if len({g.tp for g in found}) != 1:
        raise ValueError("--model: names of one command must have the same -tpN")
    return found


def main(argv=None):
    args = parser().parse_args(argv)
    tp = geometries_of(args)[0].tp
    worker = ranks.worker_rank()
    if worker:
        common.quiet_worker(worker[0])
        group = ranks.Group(*worker)
        code = measure(args, worker[0], group)
        group.close()
        return code
    if tp > 1 and not args.fake_tp:
        os.makedirs(args.out, exist_ok=True)
        return common.run_ranks(args, tp, args.paths.split(","))
    return measure(args)


if __name__ == "__main__":
    sys.exit(common.guarded(main))
