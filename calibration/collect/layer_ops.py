"""The small operations around the GEMMs and attention, written with plain PyTorch kernels."""

import torch
import torch.nn.functional as F

EPSILON = 1e-6


def rms_norm(x, weight):
    return F.rms_norm(x, (x.shape[-1],), weight, EPSILON)


def residual_add(x, y):
    return x.add_(y)


def linear(x, weight):
    """weight [n, k]."""
    return x @ weight.t()


def rope_table(positions, head_dim, device, theta=1e6):
    """cos and sin [positions, 1, head_dim / 2] in float32."""
    inverse = 1.0 / theta ** (torch.arange(0, head_dim, 2, device=device, dtype=torch.float32) / head_dim)
    angles = torch.arange(positions, device=device, dtype=torch.float32)[:, None] * inverse[None, :]
    return angles.cos().unsqueeze(1).contiguous(), angles.sin().unsqueeze(1).contiguous()


def _rotate(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1).to(x.dtype)


def rope_kv_write(qkv, q_heads, kv_heads, head_dim, table, positions, slots, k_cache, v_cache):
    """Rotates q and k of qkv [m, (q + 2 kv) heads * dim] and writes k, v to their slots; returns q, k, v."""
    q_width, kv_width = q_heads * head_dim, kv_heads * head_dim
    q, k, v = qkv.split([q_width, kv_width, kv_width], dim=-1)
    q = q.view(-1, q_heads, head_dim)
    k = k.view(-1, kv_heads, head_dim)
    v = v.view(-1, kv_heads, head_dim)
    cos, sin = table[0][positions], table[1][positions]
    q, k = _rotate(q, cos, sin), _rotate(k, cos, sin)
    k_cache.view(-1, kv_heads, head_dim)[slots] = k
    v_cache.view(-1, kv_heads, head_dim)[slots] = v
    return q, k, v


def lm_head_argmax(x, weight):
    return (x @ weight.t()).argmax(dim=-1)


def to_fp8(weight):
    return weight.to(torch.float8_e4m3fn)


def linear_fp8(x, weight, scale):
    """x [m, k] and weight [n, k] in e4m3, one scale each."""
    return torch._scaled_mm(x, weight.t(), scale_a=scale, scale_b=scale, out_dtype=torch.bfloat16)
