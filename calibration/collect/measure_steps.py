"""Whole decode steps at fixed batch and context -> decode_steps.csv."""

import time

import torch

from . import engine, nvml
from .attention import PAGE
from .bench import WeightPool


def kv_pages(batch, ctx):
    return batch * -(-ctx // PAGE) + 1


def decoder_for(geometry, device, shapes, zipf, moe_kind, comm=None, layers=None):
    """A decoder with room for the largest of shapes [(batch, ctx)]."""
    pages = max(kv_pages(b, c) for b, c in shapes)
    free, _ = torch.cuda.mem_get_info(device)
    need = 2 * engine.Decoder.pool_elements(geometry, pages, layers)
    if need > 0.93 * free:
        raise MemoryError(f"{geometry.name}: weights and KV need {need / 1e9:.0f} GB, {free / 1e9:.0f} GB are free")
    pool = WeightPool(engine.Decoder.pool_elements(geometry, pages, layers), device)
    return engine.Decoder(geometry, pool, pages, max(b for b, _ in shapes), max(c for _, c in shapes), zipf, moe_kind,
                          comm, layers)


class Stepper:
    """One captured (or eager) step that can be run and waited for."""

    def __init__(self, bench, decoder, batch, ctx, cuda_graph, group=None):
        self.bench, self.group = bench, group
        decoder.set_uniform(batch, ctx)
        self.eager = lambda: decoder.decode(batch)
        self.captured = bench.capture([self.eager]) if cuda_graph else None
        self.launch = self.captured.graph.replay if cuda_graph else self.eager

    def sync_step_ms(self):
        begin = time.perf_counter()
        self.launch()
        torch.cuda.synchronize()
        return (time.perf_counter() - begin) * 1e3

    def measure(self, window_s):
        """(median step ms, Reading): every step is waited for, as the engine does."""
        for _ in range(2):
            self.sync_step_ms()
        guess = sorted(self.sync_step_ms() for _ in range(3))[1]
        count = max(5, int((window_s + 0.2) * 1e3 / guess))
        if self.group is not None:
            count = int(self.group.agree(count))
            self.group.barrier()
        with nvml.Meter(self.bench.board, every_s=0.02) as meter:
            samples = [self.sync_step_ms() for _ in range(count)]
        return sorted(samples)[len(samples) // 2], meter.reading(0.2)


def step_row(geometry, batch, ctx, zipf, cuda_graph, path, step_ms, reading, window_s, board):
    return {"model": geometry.name, "batch": batch, "ctx_tokens": ctx, "zipf_alpha": zipf, "cuda_graph": int(cuda_graph),
            "all_reduce_path": path, "step_ms": step_ms, "power_w": reading.power_w,
            "power_window_s": window_s if reading.power_w is not None else None, "board": board}


def measure_all(bench, geometry, shapes, zipfs, graphs, moe_kind, window_s, table, board_id, progress, budget,
                group=None, layers=None):
    """Every (zipf, graph, batch, ctx); returns the decoder, so that a caller can go on with it."""
    path = group.path if group is not None else ""
    comm = group.all_reduce if group is not None else None
    decoder = decoder_for(geometry, bench.device, shapes, zipfs[0], moe_kind, comm, layers)
    for zipf in zipfs:
        decoder.draw_routing(max(b for b, _ in shapes), zipf, 7)
        for cuda_graph in graphs:
            for batch, ctx in shapes:
                decoder.max_context = ctx
                row = step_row(geometry, batch, ctx, zipf, cuda_graph, path, None, nvml.Reading(), None, board_id)
                go = budget.allows(window_s + 3.0) and not (table is not None and row in table)
                if group is not None:
                    go = bool(group.agree(float(go)))
                if not go:
                    continue
                stepper = Stepper(bench, decoder, batch, ctx, cuda_graph, group)
                step_ms, reading = stepper.measure(window_s)
                if table is not None:
                    table.append(step_row(geometry, batch, ctx, zipf, cuda_graph, path, step_ms, reading, window_s,
                                          board_id))
                watts = f"{reading.power_w:.0f} W" if reading.power_w else "power not measured"
                progress.line(f"steps: {geometry.name} batch {batch} ctx {ctx} zipf {zipf:g} graph {int(cuda_graph)} "
                              f"{path}: {step_ms:.3f} ms, {watts}", force=True)
    return decoder
