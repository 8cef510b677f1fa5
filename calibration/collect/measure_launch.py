"""What a step costs beyond its kernels -> launch.csv, host_speed.csv.

graph_kernel_floor   one tiny kernel inside a graph
graph_gap            (one captured layer - its operations measured alone) / operation boundaries
graph_layer          (one synchronised replay of a whole step - back-to-back replays) / layers
graph_step           what a synchronised replay of one tiny kernel costs: the part that does not grow with layers
eager_kernel_launch  host time to launch one tiny kernel from Python
eager_layer_host     host time of the launch loop of one eager decode layer
eager_layer          (eager step, GPU-bound - graph step) / layers
eager_prefill_step   host time of a whole eager prefill of a few tokens, per layer in eager_prefill_layer_host
host_prepare         building positions, slots and page tables of one step on the host, by running requests
"""

import statistics
import time

import torch

from . import engine, points
from .attention import PAGE

GAP_BATCHES = (1, 32, 256, 1024)
STEP_LAYERS = 16
CTX = 256


def spread(samples):
    ordered = sorted(samples)
    return {"value_us": statistics.median(ordered), "p10_us": ordered[int(0.1 * (len(ordered) - 1))],
            "p90_us": ordered[-1 - int(0.1 * (len(ordered) - 1))], "repeats": len(ordered)}


def timed_us(call, repeats):
    samples = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        samples.append((time.perf_counter() - start) * 1e6)
    return samples


def small_kernels(bench, table, progress):
    """Costs that belong to the machine, not to a model."""
    tiny = torch.zeros(1024, device=bench.device)
    captured = bench.capture([lambda: tiny.add_(1e-6)] * 200)
    timing = bench.time(captured)
    single = bench.capture([lambda: tiny.add_(1e-6)])

    def replay_and_wait():
        single.graph.replay()
        torch.cuda.synchronize()

    def launch_100():
        for _ in range(100):
            tiny.add_(1e-6)

    replay_and_wait()
    rows = {
        "graph_kernel_floor": {"value_us": timing.median_us, "p10_us": timing.p10_us, "p90_us": timing.p90_us,
                               "repeats": timing.repeats},
        "graph_step": spread(timed_us(replay_and_wait, 200)),
    }
    launch_100()
    torch.cuda.synchronize()
    launches = []
    for _ in range(40):
        launches += [t / 100 for t in timed_us(launch_100, 1)]
        torch.cuda.synchronize()
    rows["eager_kernel_launch"] = spread(launches)
    for quantity, values in rows.items():
        put(table, dict(values, quantity=quantity), progress)


def put(table, row, progress):
    if row in table:
        return
    table.append(row)
    where = f" {row.get('model', '')} batch {row['batch']}" if row.get("batch") else ""
    progress.line(f"launch: {row['quantity']}{where}: {row['value_us']:.2f} us", force=True)


def isolated_sum_us(kernels, g, batch, ctx):
    """Operations of one layer measured alone: (sum, {op: us})."""
    parts = {}
    for op, times in (("rms_norm", 2), ("qkv_gemm", 1), ("rope_kv_write", 1), ("attention_decode", 1), ("o_gemm", 1),
                      ("residual_add", 2), ("moe_dispatch", 1), ("moe_experts", 1), ("moe_combine", 1)):
        zipf = 0.0 if op == "moe_experts" else None
        point = points.Point(op, [g.name], g, batch, ctx if op == "attention_decode" else None, zipf)
        _, timing, _ = kernels.measure(point, power=False)
        parts[op] = times * timing.median_us
    return sum(parts.values()), parts


def build_decoder(bench, pool, g, moe_kind, batch, layers):
    pool.reset()
    pages = batch * (-(-CTX // PAGE)) + 1
    return engine.Decoder(g, pool, pages, batch, CTX, moe_kind=moe_kind, layers=layers, prefill_tokens=64)


def layers_that_fit(pool, g, batch):
    pages = batch * (-(-CTX // PAGE)) + 1
    layers = min(STEP_LAYERS, g.layers)
    while layers > 1 and engine.Decoder.pool_elements(g, pages, layers) > pool.data.numel():
        layers -= 1
    return layers


def model_costs(bench, kernels, g, table, speed, progress, batches=GAP_BATCHES, repeats=30):
    """Captured layers against their operations; synchronised against back-to-back; eager against graph."""
    pool = kernels.pool
    layers = layers_that_fit(pool, g, max(batches))
    for batch in batches:
        key = {"model": g.name, "batch": batch, "ctx_tokens": CTX}
        if dict(key, quantity="graph_gap") in table:
            continue
        alone, parts = isolated_sum_us(kernels, g, batch, CTX)
        decoder = build_decoder(bench, pool, g, kernels.moe_kind, batch, layers)
        decoder.set_uniform(batch, CTX)
        body = layer_body(decoder, batch)
        timing = bench.time(bench.capture([body]))
        layer_us = timing.median_us / layers
        detail = f"layer {layer_us:.2f} us of {layers} captured; alone {alone:.2f}: " + " ".join(
            f"{op}={us:.2f}" for op, us in parts.items())
        put(table, dict(key, quantity="graph_gap", value_us=(layer_us - alone) / engine.BOUNDARIES,
                        p10_us=(timing.p10_us / layers - alone) / engine.BOUNDARIES,
                        p90_us=(timing.p90_us / layers - alone) / engine.BOUNDARIES, repeats=timing.repeats,
                        detail=detail), progress)
        step_costs(bench, decoder, batch, key, table, speed, progress, repeats)


def layer_body(decoder, batch):
    hidden = decoder.embedding[decoder.tokens[:batch]].clone()

    def body():
        x = hidden.clone()
        decoder.run_layers(x, lambda layer, qkv: decoder._attend_decode(layer, qkv, batch))

    return body


def step_costs(bench, decoder, batch, key, table, speed, progress, repeats):
    layers = len(decoder.layers)

    def step():
        decoder.decode(batch)

    captured = bench.capture([step])
    back_to_back = bench.time(captured).median_us

    def synced():
        captured.graph.replay()
        torch.cuda.synchronize()

    synced()
    waits = timed_us(synced, repeats)
    put(table, dict(key, quantity="graph_layer", detail=f"{layers} layers; back to back {back_to_back:.1f} us",
                    **spread([(w - back_to_back) / layers for w in waits])), progress)
    launch, total = eager_samples(step, repeats)
    record(speed, "eager_decode", key, layers, launch, total)
    put(table, dict(key, quantity="eager_layer_host", detail=f"{layers} layers and the head",
                    **spread([t * 1e3 / layers for t in launch])), progress)
    if statistics.median(total) > 1.3 * statistics.median(launch):  # the GPU was the slower one
        put(table, dict(key, quantity="eager_layer",
                        **spread([(t * 1e3 - statistics.median(waits)) / layers for t in total])), progress)


def eager_samples(step, repeats):
    """(host ms until everything is launched, ms until the GPU is done) of every repeat."""
    step()
    torch.cuda.synchronize()
    launch, total = [], []
    for _ in range(repeats):
        start = time.perf_counter()
        step()
        launched = time.perf_counter()
        torch.cuda.synchronize()
        launch.append((launched - start) * 1e3)
        total.append((time.perf_counter() - start) * 1e3)
    return launch, total


def record(speed, kind, key, layers, launch, total):
    for repeat, (launch_ms, total_ms) in enumerate(zip(launch, total)):
        row = dict(key, kind=kind, layers=layers, repeat=repeat, launch_ms=launch_ms, total_ms=total_ms)
        if row not in speed:
            speed.append(row)


def host_speed(bench, kernels, g, table, speed, progress, repeats=60, kind_suffix=""):
    """The launch loop of an eager decode step and of a tiny eager prefill, many times, spread over a few seconds."""
    layers = layers_that_fit(kernels.pool, g, 8)
    decoder = build_decoder(bench, kernels.pool, g, kernels.moe_kind, 8, layers)
    decoder.set_uniform(8, CTX)
    key = {"model": g.name, "batch": 8, "ctx_tokens": CTX}
    launch, total = eager_samples(lambda: decoder.decode(8), repeats)
    record(speed, "eager_decode_loop" + kind_suffix, key, layers, launch, total)
    tokens = torch.randint(g.vocab, (16,), device=bench.device)
    slots = torch.arange(16, device=bench.device)
    launch, total = eager_samples(lambda: decoder.prefill(tokens, slots, 1), repeats)
    prefill = dict(key, batch=1, ctx_tokens=16)
    record(speed, "eager_prefill_tiny" + kind_suffix, prefill, layers, launch, total)
    put(table, dict(prefill, quantity="eager_prefill_step", detail=f"16 tokens, {layers} layers and the head",
                    **spread([t * 1e3 for t in total])), progress)
    put(table, dict(prefill, quantity="eager_prefill_layer_host", detail="launch loop per layer",
                    **spread([t * 1e3 / layers for t in launch])), progress)


def host_prepare(bench, table, progress, sizes=(1, 16, 64, 128, 256, 512, 1024), repeats=40):
    """Needs the serving engine's own input builder, so that the cost is the one its steps pay."""
    from .serving_engine import HostInputs, Running

    for running in sizes:
        requests = [Running(pages=[i, i + 1, i + 2, i + 3], length=200, last_token=1) for i in range(running)]
        inputs = HostInputs(bench.device, running, 4)
        samples = timed_us(lambda: inputs.build(requests, running), repeats + 5)[5:]
        put(table, dict(spread(samples), quantity="host_prepare", batch=running), progress)

