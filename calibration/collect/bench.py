"""Timing and power of GPU work: capture a few calls into one CUDA graph, replay it, take the median.

Consecutive calls of a graph use different weights (or KV regions), so that the L2 cache does not serve them.
"""

import statistics

import torch

from . import nvml, points

SETTLE_S = 0.2
CHUNK_S = 0.03


class Timing:
    def __init__(self, samples_us):
        ordered = sorted(samples_us)
        self.median_us = statistics.median(ordered)
        self.p10_us = ordered[int(0.1 * (len(ordered) - 1))]
        self.p90_us = ordered[-1 - int(0.1 * (len(ordered) - 1))]
        self.repeats = len(ordered)


class Captured:
    def __init__(self, graph, calls):
        self.graph = graph
        self.calls = calls


class Bench:
    """Owns the capture stream and one memory pool that all graphs share (only one replays at a time)."""

    def __init__(self, device, board=None, window_s=2.0):
        self.device = torch.device(device)
        self.board = board
        self.window_s = window_s
        self.stream = torch.cuda.Stream(self.device)
        self.pool = torch.cuda.graph_pool_handle()
        self._keep = torch.zeros(16, device=self.device)
        self._holder = self.capture([lambda: self._keep.add_(1.0)])  # keeps the pool alive between captures

    def capture(self, calls, warm=1):
        """One graph of all calls in a row. The first `warm` calls run once eagerly (compilation, library handles)."""
        torch.cuda.synchronize(self.device)
        with torch.cuda.stream(self.stream):
            for call in calls[:warm]:
                call()
            self.stream.synchronize()
            graph = torch.cuda.CUDAGraph()
            graph.capture_begin(pool=self.pool, capture_error_mode="thread_local")
            try:
                for call in calls:
                    call()
            finally:
                graph.capture_end()
        return Captured(graph, len(calls))

    def time(self, captured, limit_s=0.05, warm=2, replays=None):
        """Timing of one call, from back-to-back replays."""
        events = [torch.cuda.Event(enable_timing=True) for _ in range(26)]
        captured.graph.replay()
        torch.cuda.synchronize(self.device)
        events[0].record()
        captured.graph.replay()
        events[1].record()
        torch.cuda.synchronize(self.device)
        first_s = events[0].elapsed_time(events[1]) / 1000.0
        count = replays or points.replays(first_s, limit_s)
        for _ in range(max(0, warm - 2)):
            captured.graph.replay()
        events[0].record()
        for i in range(count):
            captured.graph.replay()
            events[i + 1].record()
        torch.cuda.synchronize(self.device)
        return Timing([events[i].elapsed_time(events[i + 1]) * 1000.0 / captured.calls for i in range(count)])

    def time_calls(self, calls, **options):
        captured = self.capture(calls)
        return self.time(captured, **options)

    def power(self, captured, call_us, window_s=None):
        """Board reading while the graph is replayed back to back for about window_s seconds."""
        if self.board is None:
            return nvml.Reading()
        per_replay_s = max(call_us * captured.calls * 1e-6, 2e-6)
        return self.power_of(captured.graph.replay, per_replay_s, window_s)

    def power_of(self, launch, each_s, window_s=None, count=None):
        """Board reading while `launch` is called again and again; the queue never holds more than two chunks.

        count fixes the number of launches: ranks of a collective must agree on it.
        """
        if self.board is None and count is None:
            return nvml.Reading()
        seconds = (window_s or self.window_s) + SETTLE_S
        per_chunk = max(1, int(CHUNK_S / each_s))
        previous, done = None, 0
        with nvml.Meter(self.board) as meter:
            while (done < count) if count else (meter.clock() - meter.start < seconds):
                burst = min(per_chunk, count - done) if count else per_chunk
                for _ in range(burst):
                    launch()
                done += burst
                event = torch.cuda.Event()
                event.record()
                if previous is not None:
                    previous.synchronize()
                previous = event
            torch.cuda.synchronize(self.device)
        return meter.reading(SETTLE_S)


class WeightPool:
    """One large block of random bf16 numbers from which all weights are cut.

    Every weight is a view at its own address: the values repeat between models, the memory traffic does not. Random and
    not zero, because zeros run faster and cooler.
    """

    def __init__(self, elements, device, scale=0.02, seed=1):
        generator = torch.Generator(device=device).manual_seed(seed)
        self.data = torch.empty(int(elements), dtype=torch.bfloat16, device=device)
        step = 1 << 28
        for start in range(0, self.data.numel(), step):
            self.data[start:start + step].normal_(0.0, scale, generator=generator)
        self.used = 0

    def reset(self):
        self.used = 0

    def take(self, *shape):
        """The next weight; starts on a 512-byte boundary."""
        count = 1
        for size in shape:
            count *= size
        if self.used + count > self.data.numel():
            raise MemoryError(f"weight pool: {count} elements wanted, {self.data.numel() - self.used} left")
        view = self.data[self.used:self.used + count].view(*shape)
        self.used += -(-count // 256) * 256
        return view

    def copies(self, count, *shape):
        """Up to `count` different weights of one shape, as many as the pool holds (at least one)."""
        size = 1
        for s in shape:
            size *= s
        fits = max(1, self.data.numel() // (-(-size // 256) * 256))
        self.reset()
        return [self.take(*shape) for _ in range(min(count, fits))]
