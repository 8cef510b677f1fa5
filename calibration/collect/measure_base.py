"""What needs no model: idle states, roofline, anchors -> states.csv, roofline.csv, anchors.csv."""

import torch

from . import geometry, layer_ops, nvml, points

IDLE_S = 2.5
ANCHOR_MODEL = "qwen3-30b-a3b"
# Small and launch-bound, bandwidth-bound, and compute-bound: drift shows in at least one of them.
ANCHORS = {
    "rms_norm_m1": ("rms_norm", 1, None),
    "moe_experts_m64": ("moe_experts", 64, 0.0),
    "qkv_gemm_m8192": ("qkv_gemm", 8192, None),
}


def add_state(table, board, state, reading, progress):
    if reading.power_w is None:
        progress.line(f"states: '{state}': the energy counter did not move; no row", force=True)
        return
    table.append({"state": state, "board": board.id, "power_w": reading.power_w, "util_pct": reading.util_pct,
                  "sm_mhz": reading.sm_mhz})
    progress.line(f"states: {state}: {reading.power_w:.1f} W, {reading.util_pct} %, {reading.sm_mhz} MHz", force=True)


def idle_state(table, board, state, progress, seconds=IDLE_S):
    if {"state": state, "board": board.id} not in table:
        add_state(table, board, state, nvml.idle_reading(board, seconds), progress)


def roofline_workloads(bench, quick, fp8):
    """name -> (call, flops, bytes)."""
    size = 2048 if quick else 8192
    device = bench.device
    a = torch.empty(size, size, dtype=torch.bfloat16, device=device).normal_()
    b = torch.empty(size, size, dtype=torch.bfloat16, device=device).normal_()
    block = torch.empty((1 << 26) if quick else (1 << 31), dtype=torch.bfloat16, device=device).normal_()
    target = torch.empty_like(block)
    tiny = torch.zeros(1024, device=device)
    works = {
        "bf16_gemm": ([lambda: a @ b], 2.0 * size ** 3, None),
        "copy": ([lambda: target.copy_(block)], None, 4.0 * block.numel()),
        "read_sum": ([lambda: block.sum()], None, 2.0 * block.numel()),
        "tiny_kernels_200": ([lambda: [tiny.add_(1e-6) for _ in range(200)]], None, None),
    }
    if fp8:
        scale = torch.ones((), dtype=torch.float32, device=device)
        a8, b8 = layer_ops.to_fp8(a), layer_ops.to_fp8(b)
        works["fp8_gemm"] = ([lambda: layer_ops.linear_fp8(a8, b8, scale)], 2.0 * size ** 3, None)
    return works


LOADED_STATES = {"copy": "memory-bound: large copy", "bf16_gemm": "compute-bound: large bf16 GEMM",
                 "tiny_kernels_200": "launch-bound: tiny kernels"}


def roofline(bench, table, states, progress, quick, fp8, with_power=True):
    """The ceilings, and the board's draw at each of them. Returns microseconds of one tiny kernel in a graph."""
    for name, (calls, flops, moved) in roofline_workloads(bench, quick, fp8).items():
        if {"op": name} in table:
            continue
        captured = bench.capture(calls)
        timing = bench.time(captured)
        reading = bench.power(captured, timing.median_us) if with_power else nvml.Reading()
        seconds = timing.median_us * 1e-6
        table.append({"op": name, "latency_us": timing.median_us, "tflops": flops / seconds / 1e12 if flops else None,
                      "tb_per_s": moved / seconds / 1e12 if moved else None, "power_w": reading.power_w,
                      "sm_mhz": reading.sm_mhz})
        progress.line(f"roofline: {name}: {timing.median_us:.1f} us", force=True)
        state = LOADED_STATES.get(name)
        if state and reading.power_w and {"state": state, "board": bench.board.id} not in states:
            add_state(states, bench.board, state, reading, progress)


def anchors(kernels, table, when, progress, with_power=True):
    """The same few points again: how far the machine drifted."""
    model = geometry.find(ANCHOR_MODEL)
    for name, (op, m, zipf) in ANCHORS.items():
        row = {"anchor": name, "when": when}
        if row in table:
            continue
        point = points.Point(op, [model.name], model, m, None, zipf)
        _, timing, reading = kernels.measure(point, power=with_power)
        row.update(seconds_since_start=progress.budget.elapsed(), latency_us=timing.median_us,
                   latency_p10_us=timing.p10_us, latency_p90_us=timing.p90_us)
        if reading is not None:
            row.update(power_w=reading.power_w, sm_mhz=reading.sm_mhz)
        table.append(row)
        progress.line(f"anchors ({when}): {name}: {timing.median_us:.2f} us", force=True)
