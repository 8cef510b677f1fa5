"""Closed-loop serving runs of the reference decoder -> serving_runs.csv, trace_NAME.csv, power_NAME.csv.

    python3 calibration/collect/serving.py --out DIR --model qwen3-30b-a3b --concurrency 256 --requests 512 \\
        --isl 128 --osl 128 --kv-tokens 65536 --trace c256

The rules of the engine are at the top of serving_engine.py. A name ending in -tpN runs on N GPUs.
"""

import argparse
import os
import sys

if __package__ in (None, ""):
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    sys.path = [p for p in sys.path if os.path.abspath(p or ".") != os.path.dirname(os.path.abspath(__file__))]

from collect import common, geometry, ranks, tables  # noqa: E402

PAGE_TOKENS = 64


def parser():
    p = argparse.ArgumentParser(prog="serving.py", description="Runs closed-loop serving and measures it.")
    common.add_common_flags(p)
    p.add_argument("--model", default="qwen3-30b-a3b")
    p.add_argument("--concurrency", type=int, default=64)
    p.add_argument("--isl", type=int, default=128)
    p.add_argument("--osl", type=int, default=128)
    p.add_argument("--osl-jitter", type=float, default=0.0)
    p.add_argument("--requests", type=int, help="default: twice the concurrency")
    p.add_argument("--kv-tokens", type=int, default=65536)
    p.add_argument("--max-running", type=int, default=4096)
    p.add_argument("--prefill-chunk-tokens", type=int, default=8192)
    p.add_argument("--num-continuous-decode-steps", type=int, default=1)
    p.add_argument("--zipf", type=float, default=0.0)
    p.add_argument("--graph", type=int, choices=(0, 1), default=1)
    p.add_argument("--layers", type=int, help="run only so many layers (a check, not a measurement of the model)")
    p.add_argument("--trace", metavar="NAME", help="also write trace_NAME.csv and power_NAME.csv")
    p.add_argument("--fake-tp", action="store_true", help="-tpN shapes on one GPU, no collective")
    p.add_argument("--paths", default="direct")
    return p


def check(args):
    if not 0 <= args.osl_jitter < 1:
        raise ValueError("--osl-jitter must be at least 0 and below 1")
    if args.kv_tokens % PAGE_TOKENS:
        raise ValueError(f"--kv-tokens {args.kv_tokens} is not a multiple of the page, {PAGE_TOKENS} tokens")
    longest = args.isl + int(args.osl * (1 + args.osl_jitter))
    if args.kv_tokens < -(-longest // PAGE_TOKENS) * PAGE_TOKENS:
        raise ValueError(f"--kv-tokens {args.kv_tokens} cannot hold one request of {longest} tokens")


def inputs_row(args, name, path, board):
    return {"model": name, "concurrency": args.concurrency, "isl_tokens": args.isl, "osl_tokens": args.osl,
            "osl_jitter": args.osl_jitter, "requests": requests_of(args), "kv_tokens": args.kv_tokens,
            "page_tokens": PAGE_TOKENS, "max_running": args.max_running,
            "prefill_chunk_tokens": args.prefill_chunk_tokens,
            "num_continuous_decode_steps": args.num_continuous_decode_steps, "zipf_alpha": args.zipf,
            "cuda_graph": args.graph, "all_reduce_path": path, "board": board}


def requests_of(args):
    return args.requests or 2 * args.concurrency


def serve(args, device_index=0, group=None):
    _, progress = common.start(args)
    m = common.Machine(args, device_index)
    from collect import nvml
    from collect.serving_engine import result_of

    g = geometry.find(args.model, common.geometry.custom_from(args))
    server = build(args, g, m, group)
    progress.line(f"serving: {g.name}: ready, {len(server.graphs)} graphs captured", force=True)
    if group is not None:
        group.barrier()
    with nvml.Meter(m.metered, every_s=0.02) as meter:
        server.run()
    if group is not None and group.rank:
        return 0
    row = dict(inputs_row(args, g.name, group.path if group else "", m.board_id), **result_of(server, meter.reading()))
    tables.Table(args.out, "serving_runs.csv").append(row)
    if args.trace:
        write_trace(args.out, args.trace, server, meter)
    progress.line(f"serving: {row['output_tok_s']:.1f} tok/s, {row['power_w']} W, p50 decode step "
                  f"{row['decode_step_ms_p50']:.3f} ms, TTFT p50 {row['ttft_p50_s']:.3f} s", force=True)
    return 0


def build(args, g, m, group):
    from collect import engine, serving_engine
    from collect.bench import WeightPool

    options = serving_engine.Options(args.concurrency, args.isl, args.osl, args.osl_jitter, requests_of(args),
                                     args.kv_tokens, args.max_running, args.prefill_chunk_tokens,
                                     args.num_continuous_decode_steps, bool(args.graph))
    pages = args.kv_tokens // PAGE_TOKENS + 1
    pool = WeightPool(engine.Decoder.pool_elements(g, pages, args.layers), m.device)
    decoder = engine.Decoder(g, pool, pages, options.most_running, options.longest, args.zipf, m.moe_kind(args),
                             group.all_reduce if group else None, args.layers,
                             prefill_tokens=max(args.prefill_chunk_tokens, args.isl))
    server = serving_engine.Server(decoder, m.bench(args), options)
    server.prepare()
    return server


def write_trace(folder, name, server, meter):
    for stem in (f"trace_{name}.csv", f"power_{name}.csv"):
        path = os.path.join(folder, stem)
        if os.path.exists(path):
            os.remove(path)
    trace = tables.Table(folder, f"trace_{name}.csv", "trace.csv")
    for row in server.trace:
        trace.append(row)
    power = tables.Table(folder, f"power_{name}.csv", "power.csv")
    for t, watts, mhz, util in meter.log:
        power.append({"t_s": round(t, 3), "power_w": watts, "sm_mhz": mhz, "util_pct": util})


def main(argv=None):
    args = parser().parse_args(argv)
    check(args)
    g = geometry.find(args.model, common.geometry.custom_from(args))
    worker = ranks.worker_rank()
    if worker:
        common.quiet_worker(worker[0])
        group = ranks.Group(*worker)
        code = serve(args, worker[0], group)
        group.close()
        return code
    if g.tp > 1 and not args.fake_tp:
        os.makedirs(args.out, exist_ok=True)
        return common.run_ranks(args, g.tp, args.paths.split(","))
    return serve(args)


if __name__ == "__main__":
    sys.exit(common.guarded(main))
