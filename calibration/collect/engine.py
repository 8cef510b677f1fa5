"""The reference decoder: the engine whose steps the kernel rows must add up to.

A decode step is, in order: embedding; per layer {rms_norm, qkv_gemm, rope_kv_write, attention_decode, o_gemm,
[all-reduce], residual_add, rms_norm, moe_dispatch, moe_experts, moe_combine, [all-reduce], residual_add}; final rms_norm;
lm_head_argmax. Nothing overlaps. A captured step replays one CUDA graph of a fixed batch; prefill is always eager.
"""

import dataclasses

import torch

from . import layer_ops, moe, points
from .attention import PAGE, DecodeAttention, prefill_attention

CAPTURED_SIZES = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 160, 192, 256, 320, 384, 448, 512, 640, 768, 896, 1024)
BOUNDARIES = 11      # operations of one layer, without collectives


@dataclasses.dataclass
class Layer:
    norm1: torch.Tensor
    qkv: torch.Tensor
    o: torch.Tensor
    norm2: torch.Tensor
    router: torch.Tensor
    w13: torch.Tensor
    w2: torch.Tensor
    k_cache: torch.Tensor
    v_cache: torch.Tensor


class Decoder:
    def __init__(self, geometry, pool, kv_pages, max_batch, max_context, zipf=0.0, moe_kind="torch", comm=None,
                 layers=None, prefill_tokens=0, seed=7):
        self.g = geometry
        self.device = pool.data.device
        self.comm = comm
        self.max_context = max_context
        self.sm_count = torch.cuda.get_device_properties(self.device).multi_processor_count
        self.experts = moe.Experts(moe_kind)
        self.layers = [self._layer(pool, kv_pages) for _ in range(layers or geometry.layers)]
        self.embedding = pool.take(geometry.vocab, geometry.hidden)
        self.lm_head = pool.take(geometry.vocab, geometry.hidden)
        self.final_norm = 1.0 + pool.take(geometry.hidden)
        self.rope = layer_ops.rope_table(max(max_context, 64), geometry.head_dim, self.device)
        programs = -(-2 * self.sm_count // geometry.kv_heads)  # splitting stops at this many sequences
        parts = geometry.q_heads * (2 * programs + 1)
        self.attention = DecodeAttention(self.device, parts, geometry.head_dim)
        self._inputs(max_batch, -(-max_context // PAGE))
        self.draw_routing(max(max_batch, prefill_tokens), zipf, seed)

    def _layer(self, pool, kv_pages):
        g = self.g
        cache = (kv_pages, PAGE, g.kv_heads, g.head_dim)
        return Layer(
            norm1=1.0 + pool.take(g.hidden), qkv=pool.take(g.qkv_width, g.hidden), o=pool.take(g.hidden, g.q_width),
            norm2=1.0 + pool.take(g.hidden), router=pool.take(g.experts, g.hidden),
            w13=pool.take(g.experts, 2 * g.inter, g.hidden), w2=pool.take(g.experts, g.hidden, g.inter),
            k_cache=pool.take(*cache), v_cache=pool.take(*cache))

    @staticmethod
    def pool_elements(geometry, kv_pages, layers=None):
        """What a WeightPool must hold for this decoder."""
        count = layers or geometry.layers
        kv = kv_pages * PAGE * 2 * geometry.kv_width
        padding = 256 * (9 * count + 3)
        return count * (geometry.layer_elements + kv) + (2 * geometry.vocab + 1) * geometry.hidden + padding

    def _inputs(self, max_batch, pages_per_sequence):
        device = self.device
        self.tokens = torch.zeros(max_batch, dtype=torch.int64, device=device)
        self.positions = torch.zeros(max_batch, dtype=torch.int64, device=device)
        self.slots = torch.zeros(max_batch, dtype=torch.int64, device=device)
        self.context = torch.ones(max_batch, dtype=torch.int32, device=device)
        self.page_table = torch.zeros(max_batch, pages_per_sequence, dtype=torch.int32, device=device)
        self.next_tokens = torch.zeros(max_batch, dtype=torch.int64, device=device)

    def draw_routing(self, tokens, zipf, seed):
        """Expert ids of every layer for up to `tokens` rows, and how many experts a batch wakes."""
        generator = torch.Generator(device=self.device).manual_seed(seed)
        self.ids = [moe.draw_ids(tokens, self.g.experts, self.g.topk, zipf, self.device, generator)
                    for _ in self.layers]

    def splits(self, batch):
        return points.attention_splits(batch, self.g.kv_heads, self.max_context, self.sm_count)

    def set_uniform(self, batch, ctx, seed=3):
        """Every sequence has ctx tokens in the cache, the one being decoded included; pages lie scattered."""
        per = -(-ctx // PAGE)
        pages = self.layers[0].k_cache.shape[0]
        generator = torch.Generator(device=self.device).manual_seed(seed)
        table = torch.randperm(pages, device=self.device, generator=generator)[:batch * per].view(batch, per)
        self.page_table[:batch, :per] = table.int()
        self.positions[:batch] = ctx - 1
        self.context[:batch] = ctx
        self.slots[:batch] = table[:, (ctx - 1) // PAGE] * PAGE + (ctx - 1) % PAGE
        self.tokens[:batch] = torch.randint(self.g.vocab, (batch,), device=self.device, generator=generator)

    def decode(self, batch):
        """One decode step of the first `batch` rows of the inputs; leaves next_tokens."""
        x = self.embedding[self.tokens[:batch]]
        self.run_layers(x, lambda layer, qkv: self._attend_decode(layer, qkv, batch))
        x = layer_ops.rms_norm(x, self.final_norm)
        self.next_tokens[:batch] = layer_ops.lm_head_argmax(x, self.lm_head)

    def prefill(self, tokens, slots, sequences):
        """All prompt tokens [sequences * length] of one batch; returns the first output token of each sequence."""
        length = tokens.shape[0] // sequences
        positions = torch.arange(length, device=self.device).repeat(sequences)
        x = self.embedding[tokens]
        self.run_layers(x, lambda layer, qkv: self._attend_prefill(layer, qkv, positions, slots, sequences))
        last = x.view(sequences, length, -1)[:, -1]
        return layer_ops.lm_head_argmax(layer_ops.rms_norm(last, self.final_norm), self.lm_head)

    def run_layers(self, x, attend):
        for layer, ids in zip(self.layers, self.ids):
            self._run_layer(x, layer, ids[:x.shape[0]], attend)

    def _run_layer(self, x, layer, ids, attend):
        h = layer_ops.rms_norm(x, layer.norm1)
        o = layer_ops.linear(attend(layer, layer_ops.linear(h, layer.qkv)), layer.o)
        if self.comm is not None:
            self.comm(o)
        layer_ops.residual_add(x, o)
        h = layer_ops.rms_norm(x, layer.norm2)
        rows, ends, order, weights = moe.dispatch(h, layer.router, self.g.topk, ids)
        y = moe.combine(self.experts(rows, ends, layer.w13, layer.w2), order, weights)
        if self.comm is not None:
            self.comm(y)
        layer_ops.residual_add(x, y)

    def _rope(self, layer, qkv, positions, slots):
        g = self.g
        return layer_ops.rope_kv_write(qkv, g.q_heads, g.kv_heads, g.head_dim, self.rope, positions, slots,
                                       layer.k_cache, layer.v_cache)

    def _attend_decode(self, layer, qkv, batch):
        q, _, _ = self._rope(layer, qkv, self.positions[:batch], self.slots[:batch])
        out = torch.empty_like(q)
        self.attention(q, layer.k_cache, layer.v_cache, self.page_table[:batch], self.context[:batch],
                       self.splits(batch), out)
        return out.view(batch, -1)

    def _attend_prefill(self, layer, qkv, positions, slots, sequences):
        q, k, v = (t.reshape(sequences, -1, t.shape[1], t.shape[2]) for t in self._rope(layer, qkv, positions, slots))
        return prefill_attention(q, k, v).reshape(qkv.shape[0], -1)


def captured_size(n, most):
    """The captured batch that a step of n requests runs."""
    for size in CAPTURED_SIZES:
        if size >= n and size <= most:
            return size
    return most


def captured_sizes(most):
    return sorted({size for size in CAPTURED_SIZES if size <= most} | {most})
