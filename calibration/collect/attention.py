"""Paged decode attention (split-KV, then a combine kernel) and causal prefill attention.

Decode: one program takes one sequence, one KV head (with all its query heads) and one part of the context; it walks that
part page by page. With more than one part a second kernel merges them by their log-sum-exp.
"""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch.nn.attention import SDPBackend, sdpa_kernel

PAGE = 64
BLOCK_G = 16  # rows of a query tile: the matrix unit's smallest


@triton.jit(do_not_specialize=["group", "max_pages", "splits"])
def decode_kernel(q, k_cache, v_cache, out, part_out, part_lse, page_table, context, scale, group, max_pages, splits,
                  q_row, page_stride, token_stride, HEAD_DIM: tl.constexpr, PAGE_TOKENS: tl.constexpr,
                  GROUP_BLOCK: tl.constexpr, WRITE_PARTS: tl.constexpr):
    b = tl.program_id(0)
    h = tl.program_id(1)
    g0 = tl.program_id(2) // splits * GROUP_BLOCK
    part = tl.program_id(2) % splits
    length = tl.load(context + b)
    pages = (length + PAGE_TOKENS - 1) // PAGE_TOKENS
    each = (pages + splits - 1) // splits
    first = part * each
    last = tl.minimum(first + each, pages)

    rows = g0 + tl.arange(0, GROUP_BLOCK)
    d = tl.arange(0, HEAD_DIM)
    t = tl.arange(0, PAGE_TOKENS)
    row_ok = rows < group
    head = h * group + rows
    query = tl.load(q + b * q_row + head[:, None] * HEAD_DIM + d[None, :], mask=row_ok[:, None], other=0.0)
    best = tl.full([GROUP_BLOCK], float("-inf"), tl.float32)
    total = tl.zeros([GROUP_BLOCK], tl.float32)
    acc = tl.zeros([GROUP_BLOCK, HEAD_DIM], tl.float32)
    for p in range(first, last):
        page = tl.load(page_table + b * max_pages + p).to(tl.int64)
        base = page * page_stride + h * HEAD_DIM
        keys = tl.load(k_cache + base + t[None, :] * token_stride + d[:, None])
        scores = tl.dot(query, keys) * scale
        scores = tl.where((p * PAGE_TOKENS + t < length)[None, :], scores, float("-inf"))
        new_best = tl.maximum(best, tl.max(scores, 1))
        shrink = tl.exp2(best - new_best)
        weights = tl.exp2(scores - new_best[:, None])
        total = total * shrink + tl.sum(weights, 1)
        values = tl.load(v_cache + base + t[:, None] * token_stride + d[None, :])
        acc = acc * shrink[:, None] + tl.dot(weights.to(tl.bfloat16), values)
        best = new_best
    empty = total == 0.0
    result = acc / tl.where(empty, 1.0, total)[:, None]
    row = b * tl.num_programs(1) * group + head
    if WRITE_PARTS:
        place = row * splits + part
        tl.store(part_out + place[:, None] * HEAD_DIM + d[None, :], result, mask=row_ok[:, None])
        lse = tl.where(empty, float("-inf"), best + tl.log2(tl.where(empty, 1.0, total)))
        tl.store(part_lse + place, lse, mask=row_ok)
    else:
        tl.store(out + row[:, None] * HEAD_DIM + d[None, :], result.to(tl.bfloat16), mask=row_ok[:, None])


@triton.jit(do_not_specialize=["splits"])
def combine_kernel(part_out, part_lse, out, splits, HEAD_DIM: tl.constexpr, SPLIT_BLOCK: tl.constexpr):
    row = tl.program_id(0)
    s = tl.arange(0, SPLIT_BLOCK)
    d = tl.arange(0, HEAD_DIM)
    lse = tl.load(part_lse + row * splits + s, mask=s < splits, other=float("-inf"))
    weights = tl.exp2(lse - tl.max(lse, 0))
    weights = weights / tl.sum(weights, 0)
    parts = tl.load(part_out + (row * splits + s)[:, None] * HEAD_DIM + d[None, :], mask=(s < splits)[:, None], other=0.0)
    merged = tl.sum(parts * weights[:, None], 0)
    tl.store(out + row * HEAD_DIM + d, merged.to(tl.bfloat16))


class DecodeAttention:
    """Workspace and launch of the two kernels for up to max_rows = batch * query heads * splits parts."""

    def __init__(self, device, max_parts, head_dim):
        self.part_out = torch.empty(max_parts, head_dim, dtype=torch.float32, device=device)
        self.part_lse = torch.empty(max_parts, dtype=torch.float32, device=device)

    def __call__(self, q, k_cache, v_cache, page_table, context, splits, out):
        """q [batch, heads, dim] (rows may be strided), caches [pages, 64, kv heads, dim], context int32 [batch]."""
        batch, heads, dim = q.shape
        kv_heads = k_cache.shape[2]
        group = heads // kv_heads
        scale = dim ** -0.5 * 1.4426950408889634  # the kernel works in powers of two
        group_blocks = -(-group // BLOCK_G)
        decode_kernel[(batch, kv_heads, splits * group_blocks)](
            q, k_cache, v_cache, out, self.part_out, self.part_lse, page_table, context, scale, group,
            page_table.shape[1], splits, q.stride(0), k_cache.stride(0), k_cache.stride(1), HEAD_DIM=dim,
            PAGE_TOKENS=PAGE, GROUP_BLOCK=BLOCK_G, WRITE_PARTS=splits > 1, num_warps=4, num_stages=3)
        if splits > 1:
            combine_kernel[(batch * heads,)](self.part_out, self.part_lse, out, splits, HEAD_DIM=dim,
                                             SPLIT_BLOCK=max(32, triton.next_power_of_2(splits)), num_warps=4)
        return out


def decode_reference(q, k_cache, v_cache, page_table, context):
    """The same in float32, one sequence after another."""
    batch, heads, dim = q.shape
    out = torch.empty(batch, heads, dim, dtype=torch.float32, device=q.device)
    for b in range(batch):
        length = int(context[b])
        pages = page_table[b, :-(-length // PAGE)].long()
        k = k_cache[pages].flatten(0, 1)[:length].float()
        v = v_cache[pages].flatten(0, 1)[:length].float()
        group = heads // k.shape[1]
        k = k.repeat_interleave(group, 1)
        v = v.repeat_interleave(group, 1)
        scores = torch.einsum("hd,thd->ht", q[b].float(), k) * dim ** -0.5
        out[b] = torch.einsum("ht,thd->hd", scores.softmax(-1), v)
    return out


def prefill_attention(q, k, v):
    """Causal flash attention of equally long sequences: q [sequences, length, heads, dim], k and v with KV heads."""
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        out = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True,
                                             enable_gqa=k.shape[2] != q.shape[2])
    return out.transpose(1, 2)
