"""The routed experts: dispatch (router, top-k, sort, gather), grouped GEMMs, combine (un-sort, weighted sum).

Two implementations of the grouped GEMM take the same inputs: PyTorch's own (Hopper and data-centre Blackwell) and a
Triton kernel (any GPU with bf16 matrix units).
"""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl


def dispatch(hidden, router, topk, forced_ids=None):
    """hidden [m, h] -> (rows sorted by expert, expert ends int32 [experts], order, weights [m, topk]).

    forced_ids [m, topk] replaces the router's choice (random weights route almost evenly); the router is still run.
    """
    logits = hidden @ router.t()
    probabilities = torch.softmax(logits, dim=-1, dtype=torch.float32)
    weights, ids = torch.topk(probabilities, topk, dim=-1)
    weights = weights / weights.sum(-1, keepdim=True)
    flat = (ids if forced_ids is None else forced_ids).reshape(-1)
    order = torch.sort(flat).indices
    counts = torch.zeros(router.shape[0], dtype=torch.int32, device=hidden.device)
    counts.scatter_add_(0, flat, _ones(flat))
    ends = torch.cumsum(counts, 0, dtype=torch.int32)
    rows = hidden[order // topk]
    return rows, ends, order, weights


def _ones(flat):
    return torch.ones_like(flat, dtype=torch.int32)


def combine(expert_out, order, weights):
    """expert_out [m*topk, h] in sorted order -> [m, h]."""
    unsorted = torch.empty_like(expert_out)
    unsorted[order] = expert_out
    m, topk = weights.shape
    return (unsorted.view(m, topk, -1) * weights.unsqueeze(-1)).sum(1).to(expert_out.dtype)


def torch_grouped_mm():
    return getattr(F, "grouped_mm", None) or getattr(torch, "_grouped_mm", None)


def default_implementation(device_index=0):
    """PyTorch's grouped GEMM has a fast, capturable path on compute capability 9.0 and 10.0 only."""
    capability = torch.cuda.get_device_capability(device_index)
    return "torch" if capability in ((9, 0), (10, 0)) and torch_grouped_mm() else "triton"


class Experts:
    """gate_up GEMM, SiLU * up, down GEMM over rows sorted by expert."""

    def __init__(self, implementation):
        if implementation not in ("torch", "triton"):
            raise ValueError(f"unknown grouped GEMM '{implementation}'")
        self.implementation = implementation
        self.grouped_mm = torch_grouped_mm()

    def __call__(self, rows, ends, w13, w2):
        """w13 [experts, 2*inter, h], w2 [experts, h, inter]."""
        if self.implementation == "torch":
            gate_up = self.grouped_mm(rows, w13.transpose(1, 2), offs=ends)
        else:
            gate_up = grouped_gemm(rows, w13, ends)
        inter = w2.shape[2]
        activated = F.silu(gate_up[:, :inter]) * gate_up[:, inter:]
        if self.implementation == "torch":
            return self.grouped_mm(activated, w2.transpose(1, 2), offs=ends)
        return grouped_gemm(activated, w2, ends)


@triton.jit(do_not_specialize=["experts"])
def grouped_gemm_kernel(x, w, out, ends, experts, n, k, EXPERT_BLOCK: tl.constexpr, BLOCK_M: tl.constexpr,
                        BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, EVEN_K: tl.constexpr):
    pid_n = tl.program_id(0)
    pid_m = tl.program_id(1)
    e = tl.arange(0, EXPERT_BLOCK)
    end = tl.load(ends + e, mask=e < experts, other=0)
    begin = tl.load(ends + e - 1, mask=(e > 0) & (e < experts), other=0)
    tiles = (end - begin + BLOCK_M - 1) // BLOCK_M
    upto = tl.cumsum(tiles, 0)
    expert = tl.sum((upto <= pid_m).to(tl.int32), 0)  # the expert whose tiles hold number pid_m
    if expert < experts:
        mine = e == expert
        first_tile = tl.sum(tl.where(mine, upto - tiles, 0), 0)
        row_begin = tl.sum(tl.where(mine, begin, 0), 0) + (pid_m - first_tile) * BLOCK_M
        row_end = tl.sum(tl.where(mine, end, 0), 0)
        rm = row_begin + tl.arange(0, BLOCK_M)
        rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
        rk = tl.arange(0, BLOCK_K)
        m_ok = rm < row_end
        n_ok = rn < n
        a_at = x + rm[:, None].to(tl.int64) * k + rk[None, :]
        b_at = w + expert.to(tl.int64) * n * k + rn[None, :].to(tl.int64) * k + rk[:, None]
        acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        for start in range(0, k, BLOCK_K):
            if EVEN_K:
                a = tl.load(a_at, mask=m_ok[:, None], other=0.0)
                b = tl.load(b_at, mask=n_ok[None, :], other=0.0)
            else:
                k_ok = start + rk < k
                a = tl.load(a_at, mask=m_ok[:, None] & k_ok[None, :], other=0.0)
                b = tl.load(b_at, mask=n_ok[None, :] & k_ok[:, None], other=0.0)
            acc = tl.dot(a, b, acc)
            a_at += BLOCK_K
            b_at += BLOCK_K
        place = out + rm[:, None].to(tl.int64) * n + rn[None, :]
        tl.store(place, acc.to(tl.bfloat16), mask=m_ok[:, None] & n_ok[None, :])


def tile_for(rows, experts, large_shared):
    """(BLOCK_M, BLOCK_N, BLOCK_K, warps, stages) by the mean rows of an expert; small GPUs share under 100 KB a block."""
    mean = rows / experts
    stages = 4 if large_shared else 2
    if mean <= 16:
        return 16, 128, 64, 4, 4
    if mean <= 48:
        return 32, 128, 64, 4, stages
    if mean <= 96:
        return 64, 128, 64, 4, stages
    return 128, 128, 64, 8, stages


_large_shared = {}


def has_large_shared(device):
    """At least 160 KB of shared memory a block (A100, H100, B200; not the workstation parts)."""
    if device not in _large_shared:
        capability = torch.cuda.get_device_capability(device)
        _large_shared[device] = capability in ((8, 0), (9, 0), (10, 0), (10, 3))
    return _large_shared[device]


def most_tiles(rows, experts, block_m):
    """Tiles that `rows` rows can need however they fall on the experts: the grid must not depend on the routing."""
    return min(experts, rows) + rows // block_m


def grouped_gemm(rows, weights, ends):
    """rows [r, k] sorted by expert, weights [experts, n, k] -> [r, n]."""
    r, k = rows.shape
    experts, n, _ = weights.shape
    block_m, block_n, block_k, warps, stages = tile_for(r, experts, has_large_shared(rows.device))
    out = torch.empty(r, n, dtype=rows.dtype, device=rows.device)
    grid = (-(-n // block_n), most_tiles(r, experts, block_m))
    grouped_gemm_kernel[grid](rows, weights, out, ends, experts, n, k, EXPERT_BLOCK=triton.next_power_of_2(experts),
                              BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, EVEN_K=k % block_k == 0,
                              num_warps=warps, num_stages=stages)
    return out


def reference(hidden, ids, weights, w13, w2):
    """Naive float32 experts: token by token, choice by choice."""
    out = torch.zeros_like(hidden, dtype=torch.float32)
    inter = w2.shape[2]
    for token in range(hidden.shape[0]):
        for choice in range(ids.shape[1]):
            e = int(ids[token, choice])
            gate_up = w13[e].float() @ hidden[token].float()
            activated = F.silu(gate_up[:inter]) * gate_up[inter:]
            out[token] += float(weights[token, choice]) * (w2[e].float() @ activated)
    return out


def draw_ids(m, experts, topk, zipf, device, generator):
    """Expert ids [m, topk], distinct within a token: Gumbel top-k from a Zipf popularity in random order."""
    ranks = torch.arange(1, experts + 1, dtype=torch.float32, device=device)
    popularity = -zipf * torch.log(ranks)
    popularity = popularity[torch.randperm(experts, device=device, generator=generator)]
    uniform = torch.rand(m, experts, device=device, generator=generator).clamp_(1e-12, 1 - 1e-7)
    gumbel = -torch.log(-torch.log(uniform))
    return torch.topk(popularity + gumbel, topk, dim=-1).indices


def load_of(ids, experts):
    """(distinct experts, hottest expert's rows over the mean)."""
    counts = torch.bincount(ids.reshape(-1), minlength=experts)
    return int((counts > 0).sum()), float(counts.max()) * experts / ids.numel()


def sort_rows(ids, experts):
    """(ends int32 [experts], order) as dispatch would give for these ids."""
    flat = ids.reshape(-1)
    order = torch.sort(flat).indices
    ends = torch.cumsum(torch.bincount(flat, minlength=experts), 0).to(torch.int32)
    return ends, order
