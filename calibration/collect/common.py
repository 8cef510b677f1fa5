"""What the commands share: flags, opening the GPU, worker processes, ending with the right code."""

import os
import sys

from . import geometry, machine, ranks
from .progress import Budget, Progress, Stop, UserError


def add_common_flags(parser):
    parser.add_argument("--out", default="calibration-profile", help="folder of the profile; an earlier run in it is continued")
    parser.add_argument("--budget-s", type=float, help="end cleanly after about so many seconds")
    parser.add_argument("--power-window-s", type=float, default=2.0, help="energy window of one point (default 2)")
    parser.add_argument("--no-power", action="store_true", help="latencies only (no energy counter needed)")
    parser.add_argument("--moe", choices=("auto", "torch", "triton"), default="auto",
                        help="grouped GEMM: PyTorch's own or the Triton kernel")
    parser.add_argument("--board", help="name of the board in the tables (default: a hash of its UUID)")
    geometry.add_geometry_flag(parser)


class Machine:
    """The opened GPU of this process."""

    def __init__(self, args, device_index=0):
        self.library, boards = machine.open_nvml()
        self.physical = boards
        self.torch = machine.import_torch()
        machine.require_bf16(self.torch)
        self.board = machine.board_of(self.torch, self.library, boards, device_index)
        self.metered = None if args.no_power else self.board
        if self.metered is not None:
            machine.require_energy_counter(self.board)
        self.device = self.torch.device("cuda", device_index)
        self.torch.cuda.set_device(self.device)
        self.board_id = args.board or self.board.id
        if args.board:
            self.board.name_in_tables = args.board

    def bench(self, args):
        from .bench import Bench

        return Bench(self.device, self.metered, args.power_window_s)

    def moe_kind(self, args):
        from . import moe

        return moe.default_implementation(self.device.index) if args.moe == "auto" else args.moe


def direct_path():
    """What peer-to-peer runs over: asked of the driver, without touching CUDA."""
    _, boards = machine.open_nvml()
    return "nvlink" if boards[0].nvlink_active() else "pcie"


def run_ranks(args, world, paths):
    """Starts the workers of each path in turn, which share --budget-s; returns an exit code."""
    _, boards = machine.open_nvml()
    if len(boards) < world:
        raise UserError(f"{world} GPUs are wanted, {len(boards)} are here (steps.py --fake-tp measures one GPU's share)")
    budget = Budget(args.budget_s)
    for index, path in enumerate(paths):
        chosen = direct_path() if path == "direct" else path
        if chosen not in ranks.PATHS:
            raise UserError(f"--paths: unknown path '{path}'; give direct, host_memory or both")
        share = None if args.budget_s is None else budget.left() / (len(paths) - index)
        code = ranks.launch(sys.argv, world, chosen, share)
        if code:
            return code
    return 0


def guarded(main):
    """Runs main() -> exit code; turns what the user can fix into one message and code 2."""
    try:
        return main()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except Stop as stop:
        print(f"stopped by --budget-s: {stop}. Run the same command again to continue.", flush=True)
        return 0


def start(args):
    budget = Budget(ranks.given_budget_s(args.budget_s))
    return budget, Progress(budget)


def quiet_worker(rank):
    """Ranks other than 0 keep their standard output to themselves."""
    if rank:
        sys.stdout = open(os.devnull, "w")
