"""Shapes of the models that are measured: what one GPU of a tensor-parallel group holds.

A name ending in -tpN is that geometry on N GPUs: query heads, KV heads and expert width divided by N (a KV head is
never split: below one head per GPU it is replicated). Hidden size, experts, router and LM head stay whole.
"""

import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Geometry:
    name: str
    layers: int
    hidden: int
    q_heads: int   # on one GPU
    kv_heads: int  # on one GPU
    head_dim: int
    experts: int
    topk: int
    inter: int     # expert width on one GPU
    vocab: int
    tp: int = 1

    @property
    def q_width(self):
        return self.q_heads * self.head_dim

    @property
    def kv_width(self):
        return self.kv_heads * self.head_dim

    @property
    def qkv_width(self):
        return self.q_width + 2 * self.kv_width

    @property
    def kv_bytes_per_token(self):
        """bf16 K and V of one layer on one GPU."""
        return 2 * 2 * self.kv_width

    @property
    def expert_elements(self):
        """Weights of one expert of one layer on one GPU."""
        return 3 * self.hidden * self.inter

    @property
    def layer_elements(self):
        attention = self.hidden * (self.qkv_width + self.q_width)
        return attention + self.experts * (self.hidden + self.expert_elements) + 2 * self.hidden

    @property
    def model_elements(self):
        return self.layers * self.layer_elements + 2 * self.vocab * self.hidden + self.hidden


BASE = {
    g.name: g
    for g in (
        Geometry("qwen3-30b-a3b", 48, 2048, 32, 4, 128, 128, 8, 768, 151936),
        Geometry("glm45-air-20l", 20, 4096, 96, 8, 128, 128, 8, 1408, 151552),
        Geometry("mixtral-8x7b-16l", 16, 4096, 32, 8, 128, 8, 2, 14336, 32000),
        Geometry("olmoe-1b-7b", 16, 2048, 16, 16, 128, 64, 8, 1024, 50304),
    )
}

FIELDS = ("layers", "hidden", "q_heads", "kv_heads", "head_dim", "experts", "topk", "inter", "vocab")


def shard(base, tp):
    """The geometry of one GPU out of tp."""
    if tp == 1:
        return base
    for field in ("q_heads", "inter"):
        if getattr(base, field) % tp:
            raise ValueError(f"{base.name}: {field} = {getattr(base, field)} cannot be divided by {tp} GPUs")
    if base.kv_heads % tp and tp % base.kv_heads:
        raise ValueError(f"{base.name}: {base.kv_heads} KV heads can be neither split nor replicated over {tp} GPUs")
    return dataclasses.replace(
        base,
        name=f"{base.name}-tp{tp}",
        tp=tp,
        q_heads=base.q_heads // tp,
        kv_heads=max(1, base.kv_heads // tp),
        inter=base.inter // tp,
    )


def parse_custom(text):
    """"name=x,layers=48,hidden=2048,..." -> Geometry, whole (not yet divided)."""
    values = {}
    for part in text.split(","):
        key, _, value = part.partition("=")
        key = key.strip()
        if not value or key in values:
            raise ValueError(f"--geometry: '{part}' is not key=value, or '{key}' is given twice")
        values[key] = value.strip()
    name = values.pop("name", "")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name) or re.search(r"-tp\d+$", name):
        raise ValueError("--geometry: give name=NAME of letters, digits, '.', '_', '-' (and no -tpN ending)")
    missing = [f for f in FIELDS if f not in values]
    unknown = [k for k in values if k not in FIELDS]
    if missing or unknown:
        raise ValueError(f"--geometry {name}: missing {missing}, unknown {unknown}; it takes name and {', '.join(FIELDS)}")
    numbers = {}
    for field in FIELDS:
        if not values[field].isdigit() or int(values[field]) < 1:
            raise ValueError(f"--geometry {name}: {field}={values[field]} is not a positive whole number")
        numbers[field] = int(values[field])
    geometry = Geometry(name=name, **numbers)
    check(geometry)
    return geometry


def check(geometry):
    """What the kernels of this collector can run."""
    if geometry.head_dim & (geometry.head_dim - 1) or not 16 <= geometry.head_dim <= 256:
        raise ValueError(f"{geometry.name}: head_dim {geometry.head_dim} must be a power of two from 16 to 256")
    if geometry.q_heads % geometry.kv_heads:
        raise ValueError(f"{geometry.name}: q_heads must be a multiple of kv_heads")
    if geometry.topk > geometry.experts:
        raise ValueError(f"{geometry.name}: topk {geometry.topk} exceeds {geometry.experts} experts")
    if geometry.hidden % 16 or geometry.inter % 8:
        raise ValueError(f"{geometry.name}: hidden must be a multiple of 16 and inter of 8 (16-byte rows)")


def find(name, custom=()):
    """Geometry by name, base or -tpN."""
    known = dict(BASE)
    known.update({g.name: g for g in custom})
    match = re.fullmatch(r"(.+)-tp(\d+)", name)
    base, tp = (match.group(1), int(match.group(2))) if match else (name, 1)
    if base not in known:
        raise ValueError(f"unknown model '{name}'; known: {', '.join(known)} (and -tpN of each), or use --geometry")
    if tp < 1:
        raise ValueError(f"'{name}': the number of GPUs must be at least 1")
    geometry = shard(known[base], tp)
    check(geometry)
    return geometry


def default_names(tps=(1, 2, 4, 8)):
    return [name if tp == 1 else f"{name}-tp{tp}" for tp in tps for name in BASE]


def add_geometry_flag(parser):
    parser.add_argument(
        "--geometry", action="append", default=[], metavar="name=N,layers=..,..",
        help="a model that is not in the table: name and " + ", ".join(FIELDS) + " (whole model; repeatable)")


def custom_from(args):
    return [parse_custom(text) for text in args.geometry]
