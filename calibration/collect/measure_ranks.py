"""What needs two or more GPUs: collectives, waiting for a late peer, a rank that is late on every step.

-> collectives.csv, states.csv, delayed_rank.csv. Runs inside each rank; only rank 0 writes.
"""

import json
import time

import torch

from . import nvml

SIZES = tuple(1 << e for e in range(10, 28))
POWER_SIZES = (4096, 262144, 4194304, 33554432, 134217728)
WAIT_S = 3.0
WAIT_SIZES = (4096, 1 << 20, 1 << 26)
WAITING = "rank waits inside {} for a late peer"
WAITED_FOR = "context resident, no kernel, peer waits for it in {}"


def collective(group, op, bytes_total, average=False):
    """A call on a fresh random bf16 tensor. bytes_total: all_gather counts its output, the others their tensor."""
    count = max(group.world, bytes_total // 2)
    device = group.device
    whole = torch.empty(count, dtype=torch.bfloat16, device=device).normal_()
    dist = group.dist
    if op == "all_reduce":
        kind = dist.ReduceOp.AVG if average else dist.ReduceOp.SUM  # an average stays finite over many repeats
        return lambda: dist.all_reduce(whole, op=kind)
    if op == "all_gather":
        part = torch.empty(count // group.world, dtype=torch.bfloat16, device=device).normal_()
        target = whole[:part.numel() * group.world]
        return lambda: dist.all_gather_into_tensor(target, part)
    if op == "all_to_all":
        source = whole[:count // group.world * group.world]
        target = torch.empty_like(source)
        return lambda: dist.all_to_all_single(target, source)
    raise ValueError(op)


def graph_calls(bytes_total):
    return 20 if bytes_total <= (1 << 20) else 8 if bytes_total <= (1 << 23) else 3


def time_graph(group, bench, call, bytes_total):
    captured = bench.capture([call] * graph_calls(bytes_total))
    group.barrier()
    return captured, bench.time(captured, replays=10)


def time_eager_us(group, call, bytes_total):
    count = 60 if bytes_total <= (1 << 22) else 15
    medians = []
    for _ in range(5):
        group.barrier()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(count):
            call()
        end.record()
        torch.cuda.synchronize()
        medians.append(begin.elapsed_time(end) * 1e3 / count)
    return sorted(medians)[2]


def power_of(group, bench, launch, each_us, window_s):
    """Reading of this rank's board over the same number of launches on every rank."""
    count = int(group.agree(max(1.0, (window_s + 0.2) * 1e6 / each_us)))
    group.barrier()
    return bench.power_of(launch, each_us * 1e-6, count=count)


def collectives(group, bench, table, progress, budget, window_s, quick, with_power, ops):
    sizes = SIZES[::5] if quick else SIZES
    for op in ops:
        for size in sizes:
            enough = group.agree(1.0 if budget.allows(1.0) else 0.0)
            if not enough:
                progress.line("collectives: budget used up", force=True)
                return
            key = {"op": op, "path": group.path, "gpus": group.world, "bytes": size}
            if group.agree(1.0 if table is not None and dict(key, cuda_graph=0) in table else 0.0):
                continue
            measure_size(group, bench, table, progress, key, window_s, with_power and size in POWER_SIZES)


def measure_size(group, bench, table, progress, key, window_s, with_power):
    op, size = key["op"], key["bytes"]
    call = collective(group, op, size)
    call()
    _, timing = time_graph(group, bench, call, size)
    eager_us = time_eager_us(group, call, size)
    reading = nvml.Reading()
    if with_power:
        steady = bench.capture([collective(group, op, size, average=True)] * graph_calls(size))
        steady_us = group.agree(timing.median_us) * steady.calls
        reading = power_of(group, bench, steady.graph.replay, steady_us, window_s)
    if table is None:
        return
    table.append(dict(key, cuda_graph=1, latency_us=timing.median_us, power_w=reading.power_w))
    table.append(dict(key, cuda_graph=0, latency_us=eager_us))
    progress.line(f"collectives: {op} {key['path']} {size} bytes: {timing.median_us:.2f} us in a graph, {eager_us:.2f} eager")


def waiting(group, bench, table, progress):
    """Each rank in turn is late by some seconds while the others already spin in the collective.

    How many blocks NCCL launches depends on the size and the path, and each of them spins: the watts do too.
    """
    for size in WAIT_SIZES:
        tensor = torch.ones(size // 2, dtype=torch.bfloat16, device=group.device)
        group.all_reduce(tensor)
        torch.cuda.synchronize()
        for late in range(min(group.world, 2)):
            wait_for(group, bench, tensor, late, f"an all-reduce of {size} B over {group.path}", table, progress)


def wait_for(group, bench, tensor, late, what, table, progress):
    group.barrier()
    with nvml.Meter(bench.board) as meter:
        if group.rank == late:
            time.sleep(WAIT_S)
            own = meter.reading(0.5)
        group.all_reduce(tensor)
        torch.cuda.synchronize()
        if group.rank != late:
            own = meter.reading(0.5)
    state = (WAITED_FOR if group.rank == late else WAITING).format(what)
    packed = json.dumps([state, bench.board.id, own.power_w, own.util_pct, own.sm_mhz])
    for text in group.exchange(packed):
        state, board, watts, util, mhz = json.loads(text)
        row = {"state": state, "board": board, "power_w": watts, "util_pct": util, "sm_mhz": mhz}
        if table is not None and watts is not None and row not in table:
            table.append(row)
            progress.line(f"states: {state}: {watts:.1f} W, {util} %", force=True)


def delayed_rank(group, bench, graph, key, step_ms, delays_ms, table, progress, window_s):
    """One rank starts every step late by some milliseconds; both boards are metered."""
    late = group.world - 1
    for delay_ms in delays_ms:
        count = int(group.agree(max(3.0, (window_s + 0.2) * 1e3 / (step_ms + delay_ms))))
        group.barrier()
        samples = []
        with nvml.Meter(bench.board) as meter:
            for _ in range(count):
                begin = time.perf_counter()
                if group.rank == late:
                    while (time.perf_counter() - begin) * 1e3 < delay_ms:
                        pass
                graph.replay()
                torch.cuda.synchronize()
                samples.append((time.perf_counter() - begin) * 1e3)
        own = meter.reading(0.2)
        packed = json.dumps([bench.board.id, own.power_w, own.util_pct, own.sm_mhz, own.window_s])
        everybody = [json.loads(text) for text in group.exchange(packed)]
        if table is None:
            continue
        wait, slow = everybody[0], everybody[late]
        row = dict(key, delay_ms=float(delay_ms), late_rank=late, step_ms=sorted(samples)[len(samples) // 2],
                   power_w_waiting=wait[1], util_pct_waiting=wait[2], sm_mhz_waiting=wait[3], power_window_s=wait[4],
                   board_waiting=wait[0], power_w_late=slow[1], board_late=slow[0])
        if row not in table:
            table.append(row)
        progress.line(f"delayed rank: {delay_ms} ms late: step {row['step_ms']:.2f} ms, waiting {watts(wait[1])}, late {watts(slow[1])}",
                      force=True)


def watts(value):
    return "power not measured" if value is None else f"{value:.1f} W"
