"""Which kernel points are measured, in which order, and about how long that takes. Needs no GPU.

An operation whose shape does not depend on the number of GPUs (norms, dispatch, combine, LM head) is measured once and
written for every model that has this shape.
"""

import dataclasses

ORIGINAL_M = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
EXTRA_M = (48, 96, 192, 384, 768, 1536)
CONTEXTS = (128, 256, 512, 1024, 2048, 4096, 8192)
ATTENTION_BATCH = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)
PREFILL = ((1, 128), (1, 512), (1, 2048), (1, 8192), (8, 128), (8, 1024), (64, 128), (16, 512), (4, 2048))
ZIPF = (0.0, 0.6, 1.2)
LM_HEAD_MAX_M = 2048
KV_LIMIT_BYTES = 16e9      # of one attention call
PAGE_TOKENS = 64

# Rates for the estimate of device time only; a measurement never uses them.
GUESS_BYTES_PER_S = 2.8e12
GUESS_FLOPS = 450e12
GUESS_POINT_S = 0.022      # build, warm up, capture
GUESS_POWER_EXTRA_S = 0.25  # settling before the energy window

# (operation, tokens, context) whose power is measured, from one token to saturation: the first table's model gets
# the full list, the others every shape of THIN_POWER.
POWER_SHAPES = {
    "qkv_gemm": ((1, None), (64, None), (256, None), (1024, None), (8192, None)),
    "o_gemm": ((32, None), (512, None)),
    "moe_experts": ((1, None), (8, None), (64, None), (512, None), (2048, None), (8192, None)),
    "attention_decode": ((1, 256), (16, 1024), (64, 1024), (256, 256), (1024, 256), (32, 4096)),
    "attention_prefill": ((8192, 128), (8192, 2048)),
    "lm_head_argmax": ((1, None), (256, None)),
    "rope_kv_write": ((1, None), (256, None), (4096, None)),
    "moe_dispatch": ((1, None), (256, None), (4096, None)),
    "moe_combine": ((16, None), (512, None), (8192, None)),
    "rms_norm": ((64, None), (8192, None)),
    "residual_add": ((4096, None),),
    "qkv_gemm_fp8": ((1024, None), (8192, None)),
}
THIN_POWER = {
    "qkv_gemm": ((1, None), (1024, None), (8192, None)),
    "o_gemm": ((32, None),),
    "moe_experts": ((1, None), (32, None), (256, None), (1024, None), (8192, None)),
    "attention_decode": ((16, 1024), (256, 256), (1024, 256)),
    "attention_prefill": ((8192, 512),),
    "lm_head_argmax": ((64, None),),
    "rope_kv_write": ((512, None),),
    "moe_dispatch": ((512, None),),
    "moe_combine": ((1024, None),),
    "rms_norm": ((2048, None),),
}
FULL_POWER_MODEL = "qwen3-30b-a3b"
POWER_ZIPF = {(64, 1.2), (1024, 1.2)}
TP_POWER = {"tp2": (("moe_experts", 32), ("qkv_gemm", 256)), "tp4": (("moe_experts", 128),),
            "tp8": (("moe_experts", 512),)}


@dataclasses.dataclass
class Point:
    op: str
    models: list          # names the row is written for; the first one's geometry is measured
    geometry: object
    m: int
    ctx: int = None       # attention: KV tokens of each sequence
    zipf: float = None
    power: bool = False
    rank: int = 2         # 0 first

    @property
    def label(self):
        context = f" ctx {self.ctx}" if self.ctx else ""
        skew = f" zipf {self.zipf:g}" if self.zipf is not None else ""
        return f"{self.models[0]} {self.op} m {self.m}{context}{skew}"

    def row_key(self, model):
        return {"model": model, "op": self.op, "m_tokens": self.m, "ctx_tokens": self.ctx, "zipf_alpha": self.zipf}


def signature(op, g):
    """What the time of an operation depends on besides m, ctx and zipf."""
    return {
        "rms_norm": (g.hidden,),
        "residual_add": (g.hidden,),
        "qkv_gemm": (g.qkv_width, g.hidden),
        "o_gemm": (g.hidden, g.q_width),
        "qkv_gemm_fp8": (g.qkv_width, g.hidden),
        "o_gemm_fp8": (g.hidden, g.q_width),
        "rope_kv_write": (g.q_heads, g.kv_heads, g.head_dim),
        "attention_decode": (g.q_heads, g.kv_heads, g.head_dim),
        "attention_prefill": (g.q_heads, g.kv_heads, g.head_dim),
        "moe_dispatch": (g.hidden, g.experts, g.topk),
        "moe_experts": (g.hidden, g.inter, g.experts, g.topk),
        "moe_combine": (g.hidden, g.topk),
        "lm_head_argmax": (g.vocab, g.hidden),
    }[op]


def attention_splits(batch, kv_heads, ctx, sm_count):
    """Split-KV parts: two programs for each multiprocessor, none shorter than 256 tokens."""
    wanted = -(-2 * sm_count // (batch * kv_heads))
    return max(1, min(wanted, ctx // 256))


def expected_active(g, m):
    return g.experts * (1 - (1 - g.topk / g.experts) ** m)


def work(op, g, m, ctx):
    """(flops, bytes) of one call, for the estimate."""
    rows = m * g.topk
    if op.startswith(("qkv_gemm", "o_gemm", "lm_head")):
        n, k = {"q": (g.qkv_width, g.hidden), "o": (g.hidden, g.q_width), "l": (g.vocab, g.hidden)}[op[0]]
        return 2.0 * m * n * k, 2.0 * (n * k + m * (n + k)) + (4.0 * m * n if op[0] == "l" else 0)
    if op == "moe_experts":
        weights = expected_active(g, m) * g.expert_elements
        return 2.0 * rows * g.expert_elements, 2.0 * (weights + rows * (2 * g.hidden + 6 * g.inter))
    if op == "moe_dispatch":
        return 2.0 * m * g.hidden * g.experts, 2.0 * (m * g.hidden + rows * g.hidden) * 1.5
    if op == "moe_combine":
        return 0.0, 14.0 * rows * g.hidden
    if op == "attention_decode":
        return 4.0 * m * ctx * g.q_width, float(m) * ctx * g.kv_bytes_per_token
    if op == "attention_prefill":
        return 2.0 * m * ctx * g.q_width, 2.0 * m * (2 * g.q_width + 2 * g.kv_width)
    if op == "rope_kv_write":
        return 0.0, 40.0 * m * (g.q_width + g.kv_width)
    return 0.0, 6.0 * m * g.hidden


LAUNCHES = {"rope_kv_write": 20, "moe_dispatch": 14, "moe_experts": 12, "moe_combine": 4, "lm_head_argmax": 2}


def guess_latency_s(op, g, m, ctx):
    flops, bytes_moved = work(op, g, m, ctx)
    return LAUNCHES.get(op, 1) * 1.7e-6 + max(flops / GUESS_FLOPS, bytes_moved / GUESS_BYTES_PER_S)


ROTATED = ("qkv_gemm", "o_gemm", "lm_head_argmax", "attention_decode", "moe_experts", "qkv_gemm_fp8", "o_gemm_fp8")


def calls_in_graph(op, bytes_per_call, latency_s):
    """Enough calls that a graph lasts 0.15 ms and that the weights of one call are gone from the cache at the next."""
    last = min(16, 150e-6 / latency_s)
    rotate = min(64, 200e6 / max(bytes_per_call, 1.0)) if op in ROTATED else 0
    return int(max(2, last, rotate))


def replays(graph_s, limit_s=0.05):
    return int(min(25, max(5, limit_s / max(graph_s, 1e-6))))


def guess_point_s(point, window_s):
    flops, bytes_moved = work(point.op, point.geometry, point.m, point.ctx)
    latency = guess_latency_s(point.op, point.geometry, point.m, point.ctx)
    calls = calls_in_graph(point.op, bytes_moved, latency)
    build = GUESS_POINT_S + calls * LAUNCHES.get(point.op, 1) * 12e-6
    total = build + latency * calls * (replays(latency * calls) + 2)
    return total + (window_s + GUESS_POWER_EXTRA_S if point.power else 0.0)


def m_grid(quick, extra):
    if quick:
        return (1, 16, 128, 1024)
    return tuple(sorted(ORIGINAL_M + EXTRA_M)) if extra else ORIGINAL_M


def shapes_of(op, g, quick):
    """(m, ctx, zipf) of every point of one operation."""
    if op == "attention_decode":
        batches = (1, 16, 256) if quick else ATTENTION_BATCH
        contexts = (256, 1024) if quick else CONTEXTS
        return [(b, c, None) for b in batches for c in contexts
                if b * c * g.kv_bytes_per_token <= KV_LIMIT_BYTES and not (b > 1024 and c > 256)]
    if op == "attention_prefill":
        pairs = PREFILL[::4] if quick else PREFILL
        return [(s * c, c, None) for s, c in pairs]
    if op == "moe_experts":
        return [(m, None, z) for m in m_grid(quick, True) for z in ZIPF
                if z in (0.0, 1.2) or (m in ORIGINAL_M and not quick)]
    if op == "lm_head_argmax":
        return [(m, None, None) for m in m_grid(quick, True) if m <= LM_HEAD_MAX_M]
    if op.endswith("_fp8"):
        return [(m, None, None) for m in m_grid(quick, False) if m >= 16]
    return [(m, None, None) for m in m_grid(quick, True)]


OPS = ("rms_norm", "qkv_gemm", "rope_kv_write", "attention_decode", "attention_prefill", "o_gemm", "residual_add",
       "moe_dispatch", "moe_experts", "moe_combine", "lm_head_argmax", "qkv_gemm_fp8", "o_gemm_fp8")


def wants_power(op, g, m, ctx, zipf, quick):
    if quick:
        return op in ("moe_experts", "qkv_gemm") and m in (1, 1024) and zipf in (None, 0.0) and g.tp == 1
    if g.tp > 1:
        return zipf in (None, 0.0) and (op, m) in TP_POWER.get(f"tp{g.tp}", ())
    if zipf not in (None, 0.0):
        return (m, zipf) in POWER_ZIPF
    shapes = POWER_SHAPES if g.name == FULL_POWER_MODEL else THIN_POWER
    return (m, ctx) in shapes.get(op, ())


def rank_of(g, m, zipf, power):
    """0: the grid that most predictions rest on; 1: power; 2: refinements."""
    if power:
        return 1
    if g.tp <= 2 and (m in ORIGINAL_M) and zipf != 0.6:
        return 0
    return 2


def plan(geometries, quick=False, ops=OPS, with_fp8=True, with_power=True):
    """All kernel points, equal shapes merged, most useful first."""
    merged = {}
    for g in geometries:
        for op in ops:
            if op.endswith("_fp8") and not (with_fp8 and g.tp in (1, 2)):
                continue
            for m, ctx, zipf in shapes_of(op, g, quick):
                key = (op, signature(op, g), m, ctx, zipf)
                if key in merged:
                    merged[key].models.append(g.name)
                    continue
                power = with_power and wants_power(op, g, m, ctx, zipf, quick)
                merged[key] = Point(op, [g.name], g, m, ctx, zipf, power, rank_of(g, m, zipf, power))
    return sorted(merged.values(), key=lambda p: p.rank)


def summary(points, window_s):
    """{rank or op: (points, power points, seconds)} for --plan."""
    groups = {}
    for point in points:
        for key in (f"rank {point.rank}", point.op):
            count, power, seconds = groups.get(key, (0, 0, 0.0))
            groups[key] = (count + 1, power + point.power, seconds + guess_point_s(point, window_s))
    return groups
