"""Measures this machine and writes a calibration profile: one command, see README.md.

    python3 calibration/collect/run.py --out DIR [--quick] [--plan] [--smoke] [--gpus N]
"""

import argparse
import json
import os
import sys

if __package__ in (None, ""):
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    sys.path = [p for p in sys.path if os.path.abspath(p or ".") != os.path.dirname(os.path.abspath(__file__))]

from collect import common, geometry, machine, points, ranks, tables  # noqa: E402
from collect.progress import Stop  # noqa: E402

ONE_GPU_STAGES = ("states", "roofline", "anchors", "launch", "kernels", "host")
RANK_STAGES = ("collectives", "waiting", "steps", "delayed")
COLLECTIVES = ("all_reduce", "all_gather", "all_to_all")
LAUNCH_MODELS = tuple(geometry.BASE)
RESERVE_S = 9.0  # kept for the last anchors and the meta file


def parser():
    p = argparse.ArgumentParser(prog="run.py", description="Measures this machine's GPUs and writes a calibration profile.")
    common.add_common_flags(p)
    p.add_argument("--quick", action="store_true", help="a coarse profile of one-GPU shapes, about two minutes")
    p.add_argument("--plan", action="store_true", help="print what would be measured and about how long it takes; no GPU")
    p.add_argument("--smoke", action="store_true", help="run every code path on tiny sizes and check the results")
    p.add_argument("--only", help="stages, comma separated: " + ",".join(ONE_GPU_STAGES + RANK_STAGES))
    p.add_argument("--models", help="comma separated names (default: the table at 1, 2, 4 and 8 GPUs)")
    p.add_argument("--gpus", type=int, default=1, help="2 or more: measure what needs several GPUs instead")
    p.add_argument("--paths", default="direct,host_memory", help="with --gpus: direct (NVLink or PCIe), host_memory")
    p.add_argument("--collectives", default=",".join(COLLECTIVES))
    p.add_argument("--step-models", default="qwen3-30b-a3b", help="with --gpus: whole steps of these (without -tpN)")
    p.add_argument("--step-batches", default="1,16,64,256,1024")
    p.add_argument("--delays-ms", default="0,5,20,60", help="with --gpus: how late the last rank starts each step")
    p.add_argument("--delay-batches", default="64,1024")
    return p


def stages_of(args):
    known = RANK_STAGES if args.gpus > 1 else ONE_GPU_STAGES
    if not args.only:
        return list(known)
    wanted = [s.strip() for s in args.only.split(",") if s.strip()]
    unknown = [s for s in wanted if s not in known]
    if unknown:
        raise ValueError(f"--only {','.join(unknown)}: with --gpus {args.gpus} the stages are {', '.join(known)}")
    return wanted


def geometries_of(args):
    custom = common.geometry.custom_from(args)
    names = args.models.split(",") if args.models else geometry.default_names((1,) if args.quick else (1, 2, 4, 8))
    if custom and not args.models:
        names += [g.name for g in custom]
    return [geometry.find(name.strip(), custom) for name in names]


def numbers(text):
    return [int(v) for v in text.split(",") if v]


def print_plan(args):
    todo = points.plan(geometries_of(args), args.quick, with_power=not args.no_power)
    window = args.power_window_s
    print("Kernel points (estimates of device time; power windows included)")
    print(f"  {'':20s} {'points':>7s} {'power':>6s} {'seconds':>8s}")
    for name, (count, power, seconds) in sorted(points.summary(todo, window).items()):
        print(f"  {name:20s} {count:7d} {power:6d} {seconds:8.0f}")
    total = sum(points.guess_point_s(p, window) for p in todo)
    fixed = {"start of PyTorch, Triton compilation": 30.0, "states": 6.0, "roofline": 5 * (window + 1),
             "anchors (3 times)": 9 * (window + 0.5), "launch": 9.0 * (1 if args.quick else len(LAUNCH_MODELS)),
             "host": 3.0 * (1 if args.quick else len(LAUNCH_MODELS))}
    for name, seconds in fixed.items():
        print(f"  {name:35s} {seconds:8.0f}")
    print(f"  {'one GPU, all stages':35s} {total + sum(fixed.values()):8.0f}")
    ops = len(args.collectives.split(","))
    batches = len(numbers(args.step_batches)) * len(args.step_models.split(","))
    delays = len(numbers(args.delays_ms)) * len(numbers(args.delay_batches))
    path = 20 + ops * (4 + 5 * (window + 0.4)) + 8 + batches * (window + 1.5) + delays * (window + 0.5)
    print(f"  {'several GPUs, each path':35s} {path:8.0f}")
    return 0


class Run:
    """One GPU: opens it, runs the stages, keeps the meta file."""

    def __init__(self, args, stages):
        self.args, self.stages = args, stages
        self.budget, self.progress = common.start(args)
        self.out = args.out
        self.table = {name: tables.Table(self.out, name) for name in (
            "kernels.csv", "roofline.csv", "states.csv", "launch.csv", "host_speed.csv", "anchors.csv")}
        self.failures = []
        self.done = []

    def go(self):
        self._idle_before_context()
        self.machine = common.Machine(self.args)
        m = self.machine
        self.description = machine.describe(m.torch, m.library, m.board)
        others = machine.other_boards(machine.earlier_runs(self.out), m.board_id)
        if others:
            self.progress.line(f"warning: {self.out} holds rows of board {', '.join(others)}; this is {m.board_id}: "
                               "times agree between boards, power does not", force=True)
        self.fp8 = machine.has_fp8(m.torch)
        try:
            self._stages()
            self.progress.line("done", force=True)
        finally:
            self._close()
        return 0

    def _idle_before_context(self):
        _, boards = machine.open_nvml()
        board = boards[0]
        board.name_in_tables = self.args.board
        if "states" in self.stages and not self.args.no_power:
            machine.require_energy_counter(board)
            machine.import_torch()
            from collect import measure_base

            measure_base.idle_state(self.table["states.csv"], board, "idle, no context", self.progress)

    def _stages(self):
        from collect import measure_base, measure_launch
        from collect.bench import WeightPool
        from collect.measure_kernels import POOL_BYTES, KernelBench

        args, m, power = self.args, self.machine, not self.args.no_power
        self.base, self.launch = measure_base, measure_launch
        self.bench = m.bench(args)
        if "states" in self.stages and power:
            measure_base.idle_state(self.table["states.csv"], m.board, "idle, context only", self.progress)
        free, _ = m.torch.cuda.mem_get_info(m.device)
        pool = WeightPool(int(min(POOL_BYTES, 0.45 * free) / 2), m.device)
        self.kernels = KernelBench(self.bench, pool, m.moe_kind(args), self.description["sm_count"])
        self.progress.line(f"board {m.board_id}, grouped GEMM: {self.kernels.moe_kind}, "
                           f"weights in {2 * pool.data.numel() / 1e9:.0f} GB", force=True)
        if "states" in self.stages and power:
            m.torch.cuda.synchronize()
            measure_base.idle_state(self.table["states.csv"], m.board, "idle, weights loaded", self.progress)
        if "roofline" in self.stages:
            measure_base.roofline(self.bench, self.table["roofline.csv"], self.table["states.csv"], self.progress,
                                  args.quick, self.fp8, power)
            m.torch.cuda.empty_cache()
        self._anchors("start")
        self._measured_stages()
        self._anchors("end")

    def _measured_stages(self):
        todo = points.plan(geometries_of(self.args), self.args.quick, with_fp8=self.fp8,
                           with_power=not self.args.no_power)
        try:
            if "launch" in self.stages:
                self.launch.small_kernels(self.bench, self.table["launch.csv"], self.progress)
                self.launch.host_prepare(self.bench, self.table["launch.csv"], self.progress)
            self._kernels(todo, 0)
            self._model_stages()
            self._kernels(todo, 1, middle=lambda: self._anchors("middle"))
            self._host_again()
            self._kernels(todo, 2)
        except Stop as stop:
            self.done.append(f"stopped: {stop}")
            self.progress.line(f"the budget ends here: {stop}; the same command continues", force=True)

    def _kernels(self, todo, rank, middle=None):
        if "kernels" not in self.stages:
            return
        from collect import measure_kernels

        measure_kernels.run(self.kernels, self.table["kernels.csv"], [p for p in todo if p.rank == rank], self.progress,
                            self.budget, self.args.power_window_s, RESERVE_S, self.failures, middle)
        self.done.append(f"kernels rank {rank}")

    def _model_stages(self):
        names = LAUNCH_MODELS[:1] if self.args.quick else LAUNCH_MODELS
        for name in names:
            g = geometry.find(name)
            if "launch" in self.stages:
                self.budget.require(10.0, RESERVE_S)
                self.launch.model_costs(self.bench, self.kernels, g, self.table["launch.csv"],
                                        self.table["host_speed.csv"], self.progress)
            if "host" in self.stages:
                self.budget.require(4.0, RESERVE_S)
                self.launch.host_speed(self.bench, self.kernels, g, self.table["launch.csv"],
                                       self.table["host_speed.csv"], self.progress)
            self.done.append(f"launch and host {name}")

    def _host_again(self):
        """Minutes later: host speed differs more between times than within one loop."""
        if "host" in self.stages and self.budget.allows(4.0, RESERVE_S):
            self.launch.host_speed(self.bench, self.kernels, geometry.find(LAUNCH_MODELS[0]), self.table["launch.csv"],
                                   self.table["host_speed.csv"], self.progress, kind_suffix="_late")

    def _anchors(self, when):
        if "anchors" in self.stages:
            again = len(machine.earlier_runs(self.out))
            label = when if not again else f"{when}, run {again + 1}"
            self.base.anchors(self.kernels, self.table["anchors.csv"], label, self.progress,
                              with_power=not self.args.no_power)
            self.done.append(f"anchors {when}")

    def _close(self):
        run = {"board": self.machine.board_id, "seconds": round(self.budget.elapsed(), 1), "stages": self.done,
               "failures": [f"{label}: {why}" for label, why in self.failures]}
        settings = {"power_window_s": self.args.power_window_s, "quick": self.args.quick,
                    "grouped_gemm": getattr(getattr(self, "kernels", None), "moe_kind", None),
                    "timing": "median of replays of a CUDA graph of 2 to 64 calls, each on its own weights",
                    "power": None if self.args.no_power else "energy counter between two of its movements"}
        machine.close_run(self.out, self.description, settings, run)
        for label, why in self.failures:
            self.progress.line(f"not measured: {label}: {why}", force=True)


def run_worker(args, stages, rank, world, path):
    """One rank of the several-GPU stages."""
    common.quiet_worker(rank)
    budget, progress = common.start(args)
    group = ranks.Group(rank, world, path)
    m = common.Machine(args, rank)
    writes = rank == 0

    def table(name):
        return tables.Table(args.out, name) if writes else None

    from collect import measure_ranks

    bench = m.bench(args)
    power = not args.no_power
    if "waiting" in stages and power:
        measure_ranks.waiting(group, bench, table("states.csv"), progress)
    if "collectives" in stages:
        measure_ranks.collectives(group, bench, table("collectives.csv"), progress, budget, args.power_window_s,
                                  args.quick, power, args.collectives.split(","))
    if "steps" in stages or "delayed" in stages:
        steps_of_ranks(args, stages, group, m, bench, table, progress, budget)
    boards = group.exchange(json.dumps(m.board_id))
    if writes:
        run = {"board": m.board_id, "boards": [json.loads(b) for b in boards], "gpus": world, "path": path,
               "seconds": round(budget.elapsed(), 1), "stages": stages}
        machine.close_run(args.out, machine.describe(m.torch, m.library, m.board),
                          {"power_window_s": args.power_window_s, "grouped_gemm": m.moe_kind(args)}, run)
        progress.line(f"path {path} done", force=True)
    group.close()
    return 0


def steps_of_ranks(args, stages, group, m, bench, table, progress, budget):
    from collect import measure_ranks, measure_steps

    custom = geometry.custom_from(args)
    for name in args.step_models.split(","):
        g = geometry.find(f"{name}-tp{group.world}", custom)
        shapes = [(batch, 256) for batch in numbers(args.step_batches)] if "steps" in stages else []
        delayed = [(batch, 256) for batch in numbers(args.delay_batches)] if "delayed" in stages else []
        steps, decoder = table("decode_steps.csv"), None
        if shapes:
            room = sorted(set(shapes + delayed))
            decoder = measure_steps.measure_all(bench, g, room if delayed else shapes, (0.0,), (True,),
                                                m.moe_kind(args), args.power_window_s, steps, m.board_id, progress,
                                                budget, group)
        elif delayed:
            decoder = measure_steps.decoder_for(g, bench.device, delayed, 0.0, m.moe_kind(args), group.all_reduce)
        for batch, ctx in delayed:
            if not group.agree(float(budget.allows(8.0))):
                progress.line("delayed rank: budget used up", force=True)
                break
            stepper = measure_steps.Stepper(bench, decoder, batch, ctx, True, group)
            stepper.sync_step_ms()
            step_ms = group.agree(sorted(stepper.sync_step_ms() for _ in range(3))[1])
            key = {"model": g.name, "batch": batch, "ctx_tokens": ctx, "all_reduce_path": group.path}
            measure_ranks.delayed_rank(group, bench, stepper.captured.graph, key, step_ms, numbers(args.delays_ms),
                                       table("delayed_rank.csv"), progress, args.power_window_s)
        del decoder
        m.torch.cuda.empty_cache()


def main(argv=None):
    args = parser().parse_args(argv)
    stages = stages_of(args)
    if args.plan:
        return print_plan(args)
    worker = ranks.worker_rank()
    if worker:
        if args.smoke:
            from collect import smoke

            return smoke.ranks_main(args, *worker)
        return run_worker(args, stages, *worker)
    if args.smoke:
        from collect import smoke

        return smoke.main(args)
    if args.gpus > 1:
        os.makedirs(args.out, exist_ok=True)
        return common.run_ranks(args, args.gpus, args.paths.split(","))
    geometries_of(args)  # names are checked before the GPU is opened
    return Run(args, stages).go()


if __name__ == "__main__":
    sys.exit(common.guarded(main))
