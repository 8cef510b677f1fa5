"""Continuous batching on the reference decoder: a closed loop of clients, prefill first, full KV reservation.

Scheduler: if any waiting request fits, a prefill batch of at most `prefill_chunk_tokens` prompt tokens is run before
anything decodes; a request is admitted only if ceil((input + its output) / page) pages are free and running < max_running;
the prefill emits the first token. Otherwise up to `num_continuous_decode_steps` decode steps run for all running requests,
stopping early when one finishes. The host waits for the tokens after each step and builds page tables itself.
"""

import collections
import dataclasses
import random
import statistics
import time

import torch

from . import engine
from .attention import PAGE


@dataclasses.dataclass
class Options:
    concurrency: int
    isl_tokens: int
    osl_tokens: int
    osl_jitter: float
    requests: int
    kv_tokens: int
    max_running: int = 4096
    prefill_chunk_tokens: int = 8192
    num_continuous_decode_steps: int = 1
    cuda_graph: bool = True

    @property
    def longest(self):
        return self.isl_tokens + int(self.osl_tokens * (1 + self.osl_jitter))

    @property
    def most_running(self):
        shortest = self.isl_tokens + max(1, int(self.osl_tokens * (1 - self.osl_jitter)))
        return min(self.concurrency, self.max_running, (self.kv_tokens // PAGE) // -(-shortest // PAGE))


@dataclasses.dataclass
class Running:
    pages: list
    length: int        # KV tokens already written
    last_token: int
    output: int = 0    # tokens it will produce
    produced: int = 0
    sent_s: float = 0.0
    first_s: float = 0.0
    end_s: float = 0.0


class HostInputs:
    """Positions, slots, context lengths and page tables of one decode step, built on the host."""

    def __init__(self, device, max_batch, width, scratch_page=0):
        self.device = device
        self.width = width
        self.scratch = scratch_page
        self.max_batch = max_batch

    def build(self, running, size):
        """Device tensors for `size` rows; rows past the running requests write to the scratch page."""
        pad = size - len(running)
        lengths = [r.length for r in running]
        slots = [r.pages[r.length // PAGE] * PAGE + r.length % PAGE for r in running]
        table = [r.pages + [self.scratch] * (self.width - len(r.pages)) for r in running]
        table += [[self.scratch] * self.width] * pad
        tokens = [r.last_token for r in running] + [0] * pad
        wide = torch.tensor([tokens, lengths + [0] * pad, slots + [self.scratch * PAGE] * pad], dtype=torch.int64)
        narrow = torch.tensor([n + 1 for n in lengths] + [1] * pad, dtype=torch.int32)
        return (wide.to(self.device, non_blocking=True), narrow.to(self.device, non_blocking=True),
                torch.tensor(table, dtype=torch.int32).to(self.device, non_blocking=True))


class Server:
    def __init__(self, decoder, bench, options, seed=11):
        self.decoder = decoder
        self.bench = bench
        self.o = options
        self.random = random.Random(seed)
        self.scratch = options.kv_tokens // PAGE  # one page more than requests can have
        width = -(-options.longest // PAGE)
        self.inputs = HostInputs(decoder.device, options.most_running, width, self.scratch)
        self.free = list(range(options.kv_tokens // PAGE))
        self.waiting = collections.deque()
        self.running = []
        self.finished = []
        self.sent = 0
        self.trace = []       # (phase, start_s, requests, tokens, ms)
        self.graphs = {}
        self.phase_s = {"prefill": 0.0, "decode": 0.0}
        self.prompt = torch.randint(decoder.g.vocab, (options.prefill_chunk_tokens + options.isl_tokens,),
                                    device=decoder.device)

    def prepare(self):
        """Captures every batch size that can run, and runs each kind of step once."""
        warm = [Running(pages=[self.scratch] * self.inputs.width, length=self.o.isl_tokens, last_token=1)]
        if self.o.cuda_graph:
            for size in engine.captured_sizes(self.o.most_running):
                self._load(warm, size)
                self.graphs[size] = self.bench.capture([lambda s=size: self.decoder.decode(s)])
        else:
            self._load(warm, 1)
            self.decoder.decode(1)
        for sequences in (1, self._prefill_most()):
            slots = torch.full((sequences * self.o.isl_tokens,), self.scratch * PAGE, device=self.decoder.device)
            self.decoder.prefill(self.prompt[:slots.shape[0]], slots, sequences)
        torch.cuda.synchronize()

    def _prefill_most(self):
        return max(1, min(self.o.most_running, self.o.prefill_chunk_tokens // self.o.isl_tokens))

    def run(self):
        self.start = time.perf_counter()
        for _ in range(min(self.o.concurrency, self.o.requests)):
            self._send()
        while len(self.finished) < self.o.requests:
            begin = time.perf_counter()
            batch = self._admit()
            if batch:
                self._prefill(batch)
                self.phase_s["prefill"] += time.perf_counter() - begin
                continue
            for _ in range(self.o.num_continuous_decode_steps):
                if self._decode():
                    break
            self.phase_s["decode"] += time.perf_counter() - begin
        self.seconds = time.perf_counter() - self.start

    def now(self):
        return time.perf_counter() - self.start

    def _send(self):
        if self.sent < self.o.requests:
            low = max(1, int(self.o.osl_tokens * (1 - self.o.osl_jitter)))
            high = int(self.o.osl_tokens * (1 + self.o.osl_jitter))
            output = self.random.randint(low, high) if self.o.osl_jitter else self.o.osl_tokens
            self.waiting.append((self.now(), output))
            self.sent += 1

    def _admit(self):
        batch, tokens = [], 0
        while self.waiting and tokens + self.o.isl_tokens <= max(self.o.prefill_chunk_tokens, self.o.isl_tokens):
            sent, output = self.waiting[0]
            need = -(-(self.o.isl_tokens + output) // PAGE)
            if need > len(self.free) or len(self.running) + len(batch) >= self.o.max_running:
                break
            self.waiting.popleft()
            pages = [self.free.pop() for _ in range(need)]
            batch.append(Running(pages=pages, length=self.o.isl_tokens, last_token=0, output=output, sent_s=sent))
            tokens += self.o.isl_tokens
        if not batch and not self.running and self.waiting:
            raise ValueError("the KV pool is smaller than one request")
        return batch

    def _prefill(self, batch):
        slots = [page * PAGE + i for r in batch for p, page in enumerate(r.pages)
                 for i in range(min(PAGE, self.o.isl_tokens - p * PAGE))]
        start = self.now()
        where = torch.tensor(slots, dtype=torch.int64).to(self.decoder.device, non_blocking=True)
        tokens = self.decoder.prefill(self.prompt[:len(slots)], where, len(batch)).tolist()
        self._note("prefill", start, len(batch), len(slots))
        self._emit(batch, tokens)
        self.running += [r for r in batch if r.produced < r.output]

    def _load(self, running, size):
        wide, context, table = self.inputs.build(running, size)
        d = self.decoder
        d.tokens[:size], d.positions[:size], d.slots[:size] = wide[0], wide[1], wide[2]
        d.context[:size] = context
        d.page_table[:size, :table.shape[1]] = table

    def _decode(self):
        """One step for all running requests; True when a request finished."""
        count = len(self.running)
        size = engine.captured_size(count, self.o.most_running) if self.o.cuda_graph else count
        self._load(self.running, size)
        start = self.now()
        if self.o.cuda_graph:
            self.graphs[size].graph.replay()
        else:
            self.decoder.decode(size)
        tokens = self.decoder.next_tokens[:count].tolist()  # waits for the step
        for r in self.running:
            r.length += 1
        self._note("decode", start, count, sum(r.length for r in self.running))
        self._emit(self.running, tokens)
        before = len(self.running)
        self.running = [r for r in self.running if r.produced < r.output]
        return len(self.running) < before

    def _note(self, phase, start, requests, tokens):
        self.trace.append({"phase": phase, "start_s": round(start, 6), "requests": requests, "tokens": tokens,
                           "ms": (self.now() - start) * 1e3})

    def _emit(self, requests, tokens):
        now = self.now()
        for r, token in zip(requests, tokens):
            r.last_token = token
            r.produced += 1
            if r.produced == 1:
                r.first_s = now
            if r.produced == r.output:
                r.end_s = now
                self.free += r.pages
                self.finished.append(r)
                self._send()


def quantile(values, q):
    """Upper quantile: the value at ceil of the rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def result_of(server, reading):
    """The measured columns of serving_runs.csv."""
    done = server.finished
    decode = [t for t in server.trace if t["phase"] == "decode"]
    output = sum(r.output for r in done)
    tpot = [(r.end_s - r.first_s) / (r.output - 1) for r in done if r.output > 1]
    per_s = output / server.seconds
    return {
        "seconds": server.seconds,
        "output_tok_s": per_s,
        "total_tok_s": per_s + len(done) * server.o.isl_tokens / server.seconds,
        "power_w": reading.power_w,
        "j_per_output_tok": reading.power_w / per_s if reading.power_w else None,
        "peak_running": max(t["requests"] for t in decode),
        "mean_running": statistics.fmean(t["requests"] for t in decode),
        "decode_steps": len(decode),
        "prefill_batches": len(server.trace) - len(decode),
        "prefill_s": server.phase_s["prefill"],
        "decode_s": server.phase_s["decode"],
        "decode_step_ms_p50": quantile([t["ms"] for t in decode], 0.5),
        "ttft_p50_s": quantile([r.first_s - r.sent_s for r in done], 0.5),
        "ttft_p99_s": quantile([r.first_s - r.sent_s for r in done], 0.99),
        "e2e_p50_s": quantile([r.end_s - r.sent_s for r in done], 0.5),
        "tpot_mean_s": statistics.fmean(tpot) if tpot else None,
    }
