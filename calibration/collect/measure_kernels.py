"""Latency (and, where planned, power) of every kernel point -> kernels.csv."""

import torch

from . import attention, layer_ops, moe, points
from .progress import Stop

POOL_BYTES = 40e9
ROW_FIELDS = ("experts", "topk", "hidden", "inter")


class Workload:
    """The calls of one point, each on its own weights, and the columns that describe it."""

    def __init__(self, calls, columns=None, keep=()):
        self.calls = calls
        self.columns = columns or {}
        self.keep = keep  # tensors that must outlive the graph


class KernelBench:
    def __init__(self, bench, pool, moe_kind, sm_count):
        self.bench = bench
        self.pool = pool
        self.device = pool.data.device
        self.moe_kind = moe_kind
        self.sm_count = sm_count
        self.experts = moe.Experts(moe_kind)
        self._random = {}
        self._rope = {}

    def measure(self, point, power=None):
        """(columns, Timing, Reading)."""
        work = self.build(point)
        captured = self.bench.capture(work.calls)
        timing = self.bench.time(captured)
        wants = point.power if power is None else power
        reading = self.bench.power(captured, timing.median_us) if wants else None
        return work.columns, timing, reading

    def build(self, point):
        g = point.geometry
        latency = points.guess_latency_s(point.op, g, point.m, point.ctx)
        _, moved = points.work(point.op, g, point.m, point.ctx)
        count = points.calls_in_graph(point.op, moved, latency)
        self.pool.reset()
        return getattr(self, "_" + point.op)(point, g, count)

    def rows(self, m, width):
        """Activations: standard normal, the same block for every point that fits."""
        need = m * width
        block = self._random.get("rows")
        if block is None or block.numel() < need:
            self._random.pop("rows", None)
            block = torch.empty(max(need, 1 << 26), dtype=torch.bfloat16, device=self.device).normal_()
            self._random["rows"] = block
        return block[:need].view(m, width)

    def _gemm(self, point, count, n, k, fp8=False):
        x = self.rows(point.m, k)
        weights = self.pool.copies(count, n, k)
        if not fp8:
            return Workload([lambda w=w: layer_ops.linear(x, w) for w in weights], {"n": n, "k": k})
        scale = torch.ones((), dtype=torch.float32, device=self.device)
        x8 = layer_ops.to_fp8(x)
        narrow = [layer_ops.to_fp8(w * 50.0) for w in weights]
        return Workload([lambda w=w: layer_ops.linear_fp8(x8, w, scale) for w in narrow], {"n": n, "k": k})

    def _qkv_gemm(self, point, g, count):
        return self._gemm(point, count, g.qkv_width, g.hidden)

    def _o_gemm(self, point, g, count):
        return self._gemm(point, count, g.hidden, g.q_width)

    def _qkv_gemm_fp8(self, point, g, count):
        return self._gemm(point, count, g.qkv_width, g.hidden, fp8=True)

    def _o_gemm_fp8(self, point, g, count):
        return self._gemm(point, count, g.hidden, g.q_width, fp8=True)

    def _lm_head_argmax(self, point, g, count):
        x = self.rows(point.m, g.hidden)
        weights = self.pool.copies(count, g.vocab, g.hidden)
        return Workload([lambda w=w: layer_ops.lm_head_argmax(x, w) for w in weights], {"n": g.vocab, "k": g.hidden})

    def _rms_norm(self, point, g, count):
        x = self.rows(point.m, g.hidden)
        weights = self.pool.copies(count, g.hidden)
        return Workload([lambda w=w: layer_ops.rms_norm(x, w) for w in weights])

    def _residual_add(self, point, g, count):
        x = torch.zeros(point.m, g.hidden, dtype=torch.bfloat16, device=self.device).normal_()
        y = self.rows(point.m, g.hidden)
        return Workload([lambda: layer_ops.residual_add(x, y)] * count, keep=(x,))

    def _cache_pages(self, g, pages):
        return self.pool.take(pages, attention.PAGE, g.kv_heads, g.head_dim)

    def _rope_kv_write(self, point, g, count):
        qkv = self.rows(point.m, g.qkv_width)
        table = self._rope.setdefault(g.head_dim, layer_ops.rope_table(8192, g.head_dim, self.device))
        pages = max(1, -(-point.m // attention.PAGE)) * 2
        positions = torch.arange(point.m, device=self.device) % 8192
        slots = torch.randperm(pages * attention.PAGE, device=self.device)[:point.m]
        caches = [(self._cache_pages(g, pages), self._cache_pages(g, pages)) for _ in range(min(count, 8))]
        calls = [lambda k=k, v=v: layer_ops.rope_kv_write(qkv, g.q_heads, g.kv_heads, g.head_dim, table, positions, slots,
                                                          k, v) for k, v in caches]
        return Workload(calls, keep=(positions, slots))

    def _attention_decode(self, point, g, count):
        per = -(-point.ctx // attention.PAGE)
        pages = point.m * per
        size = pages * attention.PAGE * g.kv_width * 2
        count = max(1, min(count, self.pool.data.numel() // (size + 1024)))
        splits = points.attention_splits(point.m, g.kv_heads, point.ctx, self.sm_count)
        kernel = attention.DecodeAttention(self.device, point.m * g.q_heads * splits if splits > 1 else 1, g.head_dim)
        q = self.rows(point.m, g.q_width).view(point.m, g.q_heads, g.head_dim)
        out = torch.empty_like(q)
        context = torch.full((point.m,), point.ctx, dtype=torch.int32, device=self.device)
        table = torch.randperm(pages, device=self.device).int().view(point.m, per)
        caches = [(self._cache_pages(g, pages), self._cache_pages(g, pages)) for _ in range(count)]
        calls = [lambda k=k, v=v: kernel(q, k, v, table, context, splits, out) for k, v in caches]
        return Workload(calls, {"splits": splits}, keep=(kernel, out, context, table))

    def _attention_prefill(self, point, g, count):
        sequences = point.m // point.ctx
        width = g.q_width + 2 * g.kv_width
        block = self.rows(point.m, width)
        q, k, v = (t.reshape(sequences, point.ctx, -1, g.head_dim).contiguous()
                   for t in block.split([g.q_width, g.kv_width, g.kv_width], dim=1))
        return Workload([lambda: attention.prefill_attention(q, k, v)] * count, keep=(q, k, v))

    def _moe_dispatch(self, point, g, count):
        x = self.rows(point.m, g.hidden)
        routers = self.pool.copies(count, g.experts, g.hidden)
        return Workload([lambda w=w: moe.dispatch(x, w, g.topk) for w in routers])

    def _moe_combine(self, point, g, count):
        y = self.rows(point.m * g.topk, g.hidden)
        order = torch.randperm(point.m * g.topk, device=self.device)
        weights = torch.rand(point.m, g.topk, device=self.device)
        return Workload([lambda: moe.combine(y, order, weights)] * count, keep=(order, weights))

    def _moe_experts(self, point, g, count):
        per_layer = g.experts * g.expert_elements + 1024
        fits = max(1, self.pool.data.numel() // per_layer)
        latency = points.guess_latency_s(point.op, g, point.m, None)
        count = min(fits, max(count, 8 if latency < 1.2e-3 else 3))  # several draws of the active experts
        rows = self.rows(point.m * g.topk, g.hidden)
        generator = torch.Generator(device=self.device).manual_seed(1000 + point.m)
        calls, active, hottest, keep = [], 0.0, 0.0, []
        for _ in range(count):
            w13 = self.pool.take(g.experts, 2 * g.inter, g.hidden)
            w2 = self.pool.take(g.experts, g.hidden, g.inter)
            ids = moe.draw_ids(point.m, g.experts, g.topk, point.zipf, self.device, generator)
            ends, _ = moe.sort_rows(ids, g.experts)
            distinct, load = moe.load_of(ids, g.experts)
            active, hottest = active + distinct / count, hottest + load / count
            keep.append(ends)
            calls.append(lambda e=ends, a=w13, b=w2: self.experts(rows, e, a, b))
        columns = {name: getattr(g, name) for name in ROW_FIELDS}
        columns.update(active_experts=active, expert_load_max_over_mean=hottest)
        return Workload(calls, columns, keep)


def row_of(point, model, columns, timing, reading):
    row = dict(point.row_key(model), **columns)
    row.update(latency_us=timing.median_us, latency_p10_us=timing.p10_us, latency_p90_us=timing.p90_us)
    if reading is not None:
        row.update(power_w=reading.power_w, sm_mhz=reading.sm_mhz)
    return row


def run(kernels, table, todo, progress, budget, window_s, reserve_s, failures, middle=None):
    """Measures the points that the table lacks. `middle` is called once, halfway. Failed points go to `failures`."""
    missing = [p for p in todo if any(p.row_key(model) not in table for model in p.models)]
    progress.line(f"kernels: {len(missing)} points to measure, {len(todo) - len(missing)} already there", force=True)
    in_a_row = 0
    for index, point in enumerate(missing):
        if middle is not None and index == len(missing) // 2:
            middle()
        if not budget.allows(points.guess_point_s(point, window_s), reserve_s):
            raise Stop(f"kernels: {index} of {len(missing)} points measured")
        try:
            columns, timing, reading = kernels.measure(point)
            in_a_row = 0
        except (RuntimeError, MemoryError) as error:
            failures.append((point.label, str(error).splitlines()[0][:160]))
            progress.line(f"kernels: FAILED {point.label}: {failures[-1][1]}", force=True)
            in_a_row += 0 if isinstance(error, MemoryError) else 1  # a model too large for this GPU is no defect
            torch.cuda.empty_cache()
            if in_a_row >= 5:
                raise RuntimeError(f"five points in a row failed, the last with: {error}") from error
            continue
        for model in point.models:
            if point.row_key(model) not in table:
                table.append(row_of(point, model, columns, timing, reading))
        watts = f", {reading.power_w:.0f} W" if reading is not None and reading.power_w else ""
        progress.step("kernels", index, len(missing), f"{point.label}: {timing.median_us:.2f} us{watts}")
