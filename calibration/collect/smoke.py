"""Every code path on tiny sizes, with the results checked against plain references. Prints one line per check."""

import math
import os
import shutil
import traceback

from . import common, geometry, points, tables

TINY = "name=tiny,layers=2,hidden=512,q_heads=8,kv_heads=2,head_dim=128,experts=16,topk=2,inter=256,vocab=1024"
WINDOW_S = 0.6


class Checks:
    def __init__(self, progress):
        self.progress = progress
        self.failed = []

    def run(self, name, body):
        try:
            text = body()
            self.progress.line(f"ok      {name}: {text}", force=True)
        except Exception as error:  # every other check is still worth its seconds
            self.failed.append(name)
            self.progress.line(f"FAILED  {name}: {type(error).__name__}: {str(error)[:300]}", force=True)
            traceback.print_exc()


def close(out, expected, limit):
    """Relative error in the 2-norm; NaN never passes."""
    error = float((out.float() - expected.float()).norm() / expected.float().norm())
    if not (math.isfinite(error) and error < limit):
        raise AssertionError(f"relative error {error:.2e}, allowed {limit:.0e}")
    return f"relative error {error:.1e}"


def randn(torch, *shape, scale=1.0):
    return (torch.randn(*shape, device="cuda") * scale).bfloat16()


def check_decode_attention(torch, heads, kv_heads, contexts, splits, dim=128):
    from .attention import PAGE, DecodeAttention, decode_reference

    batch, per = len(contexts), -(-max(contexts) // PAGE)
    k, v = (randn(torch, batch * per, PAGE, kv_heads, dim) for _ in range(2))
    q = randn(torch, batch, heads, dim)
    table = torch.randperm(batch * per, device="cuda").int().view(batch, per)
    context = torch.tensor(contexts, dtype=torch.int32, device="cuda")
    out = torch.full_like(q, float("nan"))
    kernel = DecodeAttention(q.device, batch * heads * splits, dim)
    kernel.part_out.fill_(float("nan"))
    kernel(q, k, v, table, context, splits, out)
    return close(out, decode_reference(q, k, v, table, context), 1e-2)


def check_prefill_attention(torch, heads=8, kv_heads=2, length=150, dim=128):
    from .attention import prefill_attention

    q, k, v = randn(torch, 2, length, heads, dim), randn(torch, 2, length, kv_heads, dim), randn(torch, 2, length, kv_heads, dim)
    out = prefill_attention(q, k, v)
    wide = [t.float().repeat_interleave(heads // kv_heads, 2) for t in (k, v)]
    scores = torch.einsum("slhd,sthd->shlt", q.float(), wide[0]) * dim ** -0.5
    hidden = torch.ones(length, length, device="cuda", dtype=torch.bool).triu(1)
    expected = torch.einsum("shlt,sthd->slhd", scores.masked_fill(hidden, float("-inf")).softmax(-1), wide[1])
    return close(out, expected, 1e-2)


def check_moe(torch, kind, m, hidden=512, experts=16, topk=2, inter=256, zipf=1.2):
    from . import moe

    x = randn(torch, m, hidden)
    router = randn(torch, experts, hidden, scale=0.02)
    w13, w2 = randn(torch, experts, 2 * inter, hidden, scale=0.05), randn(torch, experts, hidden, inter, scale=0.05)
    generator = torch.Generator(device="cuda").manual_seed(3)
    ids = moe.draw_ids(m, experts, topk, zipf, x.device, generator)
    rows, ends, order, weights = moe.dispatch(x, router, topk, ids)
    out = moe.combine(moe.Experts(kind)(rows, ends, w13, w2), order, weights)
    sample = torch.arange(0, m, max(1, m // 24), device="cuda")
    expected = moe.reference(x[sample], ids[sample], weights[sample], w13, w2)
    return close(out[sample], expected, 2e-2)


def check_router(torch, m=40, hidden=512, experts=16, topk=4):
    from . import moe

    x, router = randn(torch, m, hidden), randn(torch, experts, hidden, scale=0.05)
    rows, ends, order, weights = moe.dispatch(x, router, topk)
    probabilities = (x @ router.t()).float().softmax(-1)
    best = probabilities.topk(topk).indices.reshape(-1)
    if int(ends[-1]) != m * topk or not bool((best[order].diff() >= 0).all()):
        raise AssertionError("rows are not sorted by expert")
    if not bool((ends.long() == torch.cumsum(torch.bincount(best, minlength=experts), 0)).all()):
        raise AssertionError("expert ends do not match the router's choice")
    if not bool(torch.equal(rows, x[order // topk])):
        raise AssertionError("gathered rows are not the tokens'")
    return close(weights.sum(-1), torch.ones(m, device="cuda"), 1e-5)


def check_rope(torch, m=70, q_heads=8, kv_heads=2, dim=128):
    from . import layer_ops
    from .attention import PAGE

    qkv = randn(torch, m, (q_heads + 2 * kv_heads) * dim)
    k_cache, v_cache = (torch.zeros(4, PAGE, kv_heads, dim, dtype=torch.bfloat16, device="cuda") for _ in range(2))
    slots = torch.randperm(4 * PAGE, device="cuda")[:m]
    positions = torch.arange(m, device="cuda") * 3 % 200
    table = layer_ops.rope_table(256, dim, "cuda")
    q, k, v = layer_ops.rope_kv_write(qkv, q_heads, kv_heads, dim, table, positions, slots, k_cache, v_cache)
    if not torch.equal(k_cache.view(-1, kv_heads, dim)[slots], k) or not torch.equal(
            v_cache.view(-1, kv_heads, dim)[slots], v):
        raise AssertionError("the cache does not hold what was written")
    raw = qkv[:, :q_heads * dim].view(m, q_heads, dim).float()
    inverse = 1e6 ** (-torch.arange(0, dim, 2, device="cuda", dtype=torch.float64) / dim)
    turn = torch.polar(torch.ones(m, dim // 2, device="cuda", dtype=torch.float64), positions[:, None] * inverse)
    turned = torch.complex(raw[..., :dim // 2].double(), raw[..., dim // 2:].double()) * turn[:, None]
    return close(q, torch.cat([turned.real, turned.imag], -1), 5e-3)


def check_norm(torch):
    from . import layer_ops

    x, w = randn(torch, 33, 2048), randn(torch, 2048)
    expected = x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6) * w.float()
    return close(layer_ops.rms_norm(x, w), expected, 5e-3)


def check_fp8(torch, m=48):
    from . import layer_ops

    x, w = layer_ops.to_fp8(randn(torch, m, 256)), layer_ops.to_fp8(randn(torch, 512, 256))
    scale = torch.ones((), device="cuda")
    return close(layer_ops.linear_fp8(x, w, scale), x.float() @ w.float().t(), 1e-2)


def tiny_decoder(torch, kind, batch, ctx, zipf=0.0, prefill_tokens=256):
    from .bench import WeightPool
    from .engine import Decoder

    g = geometry.parse_custom(TINY)
    pages = batch * 4 + 1
    pool = WeightPool(Decoder.pool_elements(g, pages), torch.device("cuda"))
    return Decoder(g, pool, pages, batch, ctx, zipf, kind, prefill_tokens=prefill_tokens)


def check_decode_after_prefill(torch, kind, length=130):
    """The last of `length` tokens, decoded after a prefill of the others, gives what one prefill of all gives."""
    from .attention import PAGE

    d = tiny_decoder(torch, kind, 1, 192)
    d.ids = [ids[:1].expand(256, -1).contiguous() for ids in d.ids]
    tokens = torch.randint(d.g.vocab, (length,), device="cuda")
    pages = torch.tensor([2, 0, 3], device="cuda")
    slots = (pages[:, None] * PAGE + torch.arange(PAGE, device="cuda")).reshape(-1)
    seen = []
    d.lm_head = RecordingHead(d.lm_head, seen)
    from . import layer_ops

    original, layer_ops.lm_head_argmax = layer_ops.lm_head_argmax, lambda x, w: w.note(x)
    try:
        d.prefill(tokens, slots[:length], 1)
        d.prefill(tokens[:-1], slots[:length - 1], 1)
        d.tokens[0], d.positions[0], d.slots[0], d.context[0] = tokens[-1], length - 1, slots[length - 1], length
        d.page_table[0, :3] = pages.int()
        d.decode(1)
    finally:
        layer_ops.lm_head_argmax = original
    return close(seen[2], seen[0], 3e-2)


class RecordingHead:
    """Stands for the LM head and keeps what it was given."""

    def __init__(self, weight, seen):
        self.weight, self.seen = weight, seen

    def note(self, x):
        self.seen.append(x.float())
        return (x @ self.weight.t()).argmax(dim=-1)


def check_graph_equals_eager(torch, bench, kind):
    d = tiny_decoder(torch, kind, 8, 200)
    d.set_uniform(8, 200)
    d.decode(8)
    eager = d.next_tokens.clone()
    captured = bench.capture([lambda: d.decode(8)])
    d.next_tokens.zero_()
    captured.graph.replay()
    torch.cuda.synchronize()
    same = int((eager == d.next_tokens).sum())
    if same < 7:  # a tie of two logits may fall either way
        raise AssertionError(f"{same} of 8 tokens agree")
    return f"{same} of 8 tokens agree"


def check_meter(torch, bench):
    size = 4096
    a = randn(torch, size, size)
    captured = bench.capture([lambda: a @ a])
    timing = bench.time(captured)
    reading = bench.power(captured, timing.median_us, WINDOW_S)
    if bench.board is None:
        return "power is off"
    if not reading.power_w or not 20 < reading.power_w < 2000:
        raise AssertionError(f"power {reading.power_w} W over {reading.window_s} s")
    return (f"{reading.power_w:.0f} W over {reading.window_s:.2f} s, {reading.sm_mhz} MHz, {reading.util_pct} %, "
            f"GEMM {2 * size ** 3 / timing.median_us / 1e6:.0f} TFLOP/s")


def correctness(checks, torch, bench, kinds, fp8):
    for heads, kv, contexts, splits in ((8, 2, [1, 64, 65, 200], 1), (32, 4, [300, 1024, 7], 3), (12, 1, [700], 4),
                                        (2, 2, [128] * 5, 1), (96, 4, [513, 90], 2), (40, 2, [256, 255], 2)):
        checks.run(f"decode attention {heads}/{kv} heads, {splits} parts",
                   lambda h=heads, k=kv, c=contexts, s=splits: check_decode_attention(torch, h, k, c, s))
    checks.run("prefill attention, grouped heads", lambda: check_prefill_attention(torch))
    checks.run("prefill attention, equal heads", lambda: check_prefill_attention(torch, 4, 4))
    for kind in kinds:
        for m in (1, 7, 130, 1500):
            checks.run(f"experts ({kind}), {m} tokens", lambda k=kind, n=m: check_moe(torch, k, n))
        checks.run(f"experts ({kind}), odd width", lambda k=kind: check_moe(torch, k, 33, hidden=1024, inter=176, experts=8))
    checks.run("router and dispatch", lambda: check_router(torch))
    checks.run("rope and KV write", lambda: check_rope(torch))
    checks.run("rms_norm", lambda: check_norm(torch))
    if fp8:
        checks.run("fp8 GEMM", lambda: check_fp8(torch))
    for kind in kinds:
        checks.run(f"decode after prefill ({kind})", lambda k=kind: check_decode_after_prefill(torch, k))
        checks.run(f"graph equals eager ({kind})", lambda k=kind: check_graph_equals_eager(torch, bench, k))
    checks.run("energy window", lambda: check_meter(torch, bench))


SAMPLE = (("rms_norm", 1), ("qkv_gemm", 1), ("qkv_gemm", 1024), ("o_gemm", 32), ("rope_kv_write", 1), ("rope_kv_write", 256),
          ("rope_kv_write", 8192), ("residual_add", 32), ("moe_dispatch", 1), ("moe_dispatch", 256), ("moe_dispatch", 8192),
          ("moe_combine", 1), ("moe_combine", 512), ("moe_combine", 8192), ("lm_head_argmax", 1), ("lm_head_argmax", 1024))
SAMPLE_ATTENTION = ((1, 256), (1, 4096), (32, 1024), (256, 256), (1024, 256))
SAMPLE_MOE = ((1, 0.0), (32, 0.0), (256, 0.0), (1024, 1.2), (4096, 0.0))


def sample_points():
    g = geometry.find("qwen3-30b-a3b")
    found = [points.Point(op, [g.name], g, m) for op, m in SAMPLE]
    found += [points.Point("attention_decode", [g.name], g, m, ctx) for m, ctx in SAMPLE_ATTENTION]
    found.append(points.Point("attention_prefill", [g.name], g, 4096, 512))
    return found, [points.Point("moe_experts", [g.name], g, m, None, zipf) for m, zipf in SAMPLE_MOE]


def sample_kernels(torch, bench, kinds, out, progress):
    """Real shapes, few: how fast the kernels are, and which grouped GEMM is the faster one."""
    from .bench import WeightPool
    from .measure_kernels import KernelBench, row_of

    sm_count = torch.cuda.get_device_properties(0).multi_processor_count
    free, _ = torch.cuda.mem_get_info()
    pool = WeightPool(int(min(24e9, 0.4 * free) / 2), bench.device)
    plain, experts = sample_points()
    for kind in kinds:
        kernels = KernelBench(bench, pool, kind, sm_count)
        folder = os.path.join(out, kind)
        table = tables.Table(folder, "kernels.csv")
        for point in experts + (plain if kind == kinds[0] else []):
            columns, timing, reading = kernels.measure(point)
            table.append(row_of(point, point.models[0], columns, timing, reading))
            progress.line(f"        {kind}: {point.label}: {timing.median_us:.2f} us "
                          f"({timing.p10_us:.2f} to {timing.p90_us:.2f})", force=True)
    return f"{len(plain)} points, experts by {', '.join(kinds)}"


def pipeline(args, checks, torch, m, kinds, fp8, progress):
    """The measuring stages themselves, on the tiny geometry and into a scratch folder."""
    from . import measure_base, measure_kernels, measure_launch, measure_steps
    from .bench import WeightPool

    out = os.path.join(args.out, "smoke")
    shutil.rmtree(out, ignore_errors=True)
    tiny = geometry.parse_custom(TINY)
    bench = m.bench(args)
    bench.window_s = WINDOW_S
    kernels = measure_kernels.KernelBench(bench, WeightPool(3e8, m.device), kinds[0],
                                          torch.cuda.get_device_properties(0).multi_processor_count)
    made = {name: tables.Table(out, name) for name in ("kernels.csv", "roofline.csv", "states.csv", "launch.csv",
                                                       "host_speed.csv", "decode_steps.csv")}

    def kernel_points():
        todo = points.plan([tiny], quick=True, with_fp8=fp8, with_power=False)
        todo[0].power = m.metered is not None
        failures = []
        measure_kernels.run(kernels, made["kernels.csv"], todo, progress, progress.budget, WINDOW_S, 0.0, failures)
        if failures:
            raise AssertionError(f"{len(failures)} of {len(todo)} failed, first: {failures[0]}")
        return f"{len(todo)} points"

    def roofline():
        measure_base.roofline(bench, made["roofline.csv"], made["states.csv"], progress, True, fp8, m.metered is not None)
        return "bf16, fp8, copy, read, tiny kernels" if fp8 else "bf16, copy, read, tiny kernels"

    def launch():
        measure_launch.small_kernels(bench, made["launch.csv"], progress)
        measure_launch.host_prepare(bench, made["launch.csv"], progress, (1, 8), 3)
        measure_launch.model_costs(bench, kernels, tiny, made["launch.csv"], made["host_speed.csv"], progress, (1, 8), 3)
        measure_launch.host_speed(bench, kernels, tiny, made["launch.csv"], made["host_speed.csv"], progress, 3)
        return "launch and host costs"

    def steps():
        measure_steps.measure_all(bench, tiny, [(1, 256), (8, 128)], (0.0, 1.2), (True, False), kinds[0], WINDOW_S / 2,
                                  made["decode_steps.csv"], m.board_id, progress, progress.budget)
        return "graph and eager, two skews"

    for name, body in (("kernel points", kernel_points), ("roofline", roofline), ("launch", launch), ("steps", steps)):
        checks.run(name, body)
    for graph in (1, 0):
        checks.run(f"serving, graph {graph}", lambda g=graph: serve(args, out, g))
    checks.run("real shapes", lambda: sample_kernels(torch, bench, kinds, out, progress))


def serve(args, out, graph):
    from . import serving

    flags = ["--out", out, "--geometry", TINY, "--model", "tiny", "--concurrency", "12", "--requests", "30", "--isl", "100",
             "--osl", "24", "--osl-jitter", "0.5", "--kv-tokens", "1280", "--graph", str(graph), "--moe", args.moe,
             "--prefill-chunk-tokens", "512", "--trace", f"smoke{graph}"] + (["--no-power"] if args.no_power else [])
    serving.serve(serving.parser().parse_args(flags))
    row = tables.read_rows(os.path.join(out, "serving_runs.csv"))[-1]
    trace = tables.read_rows(os.path.join(out, f"trace_smoke{graph}.csv"))
    produced = sum(int(t["requests"]) for t in trace)  # every step and every prefill gives each request one token
    expected = float(row["output_tok_s"]) * float(row["seconds"])
    if abs(produced - expected) > 0.5 + 1e-4 * expected:
        raise AssertionError(f"trace holds {produced} tokens, the run {expected:.1f}")
    return f"{row['decode_steps']} decode steps, {row['prefill_batches']} prefills, {produced} tokens"


def main(args):
    _, progress = common.start(args)
    m = common.Machine(args)
    from . import machine, moe

    checks = Checks(progress)
    torch = m.torch
    description = machine.describe(torch, m.library, m.board)
    progress.line(" ".join(f"{k}={v}" for k, v in description.items()), force=True)
    torch.manual_seed(5)
    first = m.moe_kind(args)
    kinds = [first] + (["triton"] if first == "torch" and args.moe == "auto" else [])
    fp8 = machine.has_fp8(torch)
    if moe.default_implementation() != first:
        progress.line(f"grouped GEMM: {first} by --moe", force=True)
    correctness(checks, torch, m.bench(args), kinds, fp8)
    pipeline(args, checks, torch, m, kinds, fp8, progress)
    progress.line(f"smoke: {'all checks passed' if not checks.failed else 'FAILED: ' + '; '.join(checks.failed)}", force=True)
    return 1 if checks.failed else 0


def ranks_main(args, rank, world, path):
    """The several-GPU stages on the tiny geometry."""
    from . import run

    args.geometry = [TINY]
    args.step_models, args.step_batches, args.delay_batches, args.delays_ms = "tiny", "1,8", "8", "0,5"
    args.power_window_s, args.quick = WINDOW_S, True
    args.out = os.path.join(args.out, "smoke_ranks")
    return run.run_worker(args, list(run.RANK_STAGES), rank, world, path)
