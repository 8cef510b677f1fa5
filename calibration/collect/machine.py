"""What machine this is, whether it can be measured, and collection.yaml."""

import datetime
import json
import os
import platform
import sys

from . import nvml, tables
from .progress import UserError

TOOL = "plateau calibration/collect 1"


def open_nvml():
    """(Nvml, [Board]); a UserError that says what is missing otherwise."""
    try:
        library = nvml.Nvml()
        boards = [library.board(i) for i in range(library.device_count())]
    except nvml.NvmlError as error:
        raise UserError(f"cannot reach a GPU: {error}") from error
    if not boards:
        raise UserError("cannot reach a GPU: the driver is loaded but lists no GPU")
    return library, boards


def require_energy_counter(board):
    try:
        board.energy_mj()
    except nvml.NvmlError as error:
        raise UserError(
            f"GPU {board.index} ({board.name()}): the energy counter cannot be read: {error}. Power needs it (Volta or "
            "newer; not inside a MIG slice; some virtual GPUs hide it). Latencies alone: run again with --no-power."
        ) from error


def import_torch():
    try:
        import torch
        import triton  # noqa: F401
    except ImportError as error:
        raise UserError(f"{error}: the collector needs PyTorch with CUDA and Triton in {sys.executable}") from error
    if not torch.cuda.is_available():
        built = torch.version.cuda or "no CUDA"
        raise UserError(f"PyTorch {torch.__version__} (built for CUDA {built}) sees no GPU: the driver is older than that "
                        "CUDA version needs, or CUDA_VISIBLE_DEVICES hides the GPUs")
    return torch


def require_bf16(torch):
    if torch.cuda.get_device_capability(0) < (8, 0):
        raise UserError(f"{torch.cuda.get_device_name(0)}: bf16 kernels need compute capability 8.0 or newer")


def board_of(torch, library, boards, device_index):
    """The management handle of a CUDA device (their numbering may differ)."""
    uuid = getattr(torch.cuda.get_device_properties(device_index), "uuid", None)
    if uuid is not None:
        try:
            return library.board_by_uuid(uuid)
        except nvml.NvmlError:
            pass
    return boards[min(device_index, len(boards) - 1)]


def has_fp8(torch):
    return torch.cuda.get_device_capability(0) >= (8, 9) and hasattr(torch, "float8_e4m3fn")


def describe(torch, library, board, device_index=0):
    import triton

    properties = torch.cuda.get_device_properties(device_index)
    return {
        "name": properties.name,
        "board": board.id,
        "sm_count": properties.multi_processor_count,
        "compute_capability": f"{properties.major}.{properties.minor}",
        "memory_bytes": properties.total_memory,
        "l2_bytes": getattr(properties, "L2_cache_size", None),
        "power_limit_w": nvml.known(board.power_limit_w),
        "sm_clock_max_mhz": nvml.known(board.max_sm_mhz),
        "temperature_c_at_start": nvml.known(board.temperature_c),
        "driver": library.driver_version(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "nccl": ".".join(str(v) for v in torch.cuda.nccl.version()) if torch.distributed.is_available() else None,
        "triton": triton.__version__,
        "python": platform.python_version(),
        "cpu": cpu_name(),
        "cpus": os.cpu_count(),
    }


def cpu_name():
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or None


def earlier_runs(folder):
    """What runs.jsonl says about the runs that filled this folder so far."""
    path = os.path.join(folder, "runs.jsonl")
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [json.loads(line) for line in file if line.strip()]


def other_boards(runs, board_id):
    return sorted({run["board"] for run in runs if run.get("board") and run["board"] != board_id})


def write_meta(folder, description, settings, runs):
    """collection.yaml: how these files came to be. `runs` holds every run of the folder, this one last."""
    values = {
        "profile": {
            "source": "measured on this machine",
            "licence": "the user's own measurement",
            "date": datetime.date.today().isoformat(),
            "engine": "plateau reference decoder (calibration/collect)",
            "driver": description.get("driver"),
            "tool": TOOL,
        },
        "machine": description,
        "settings": settings,
        "runs": {f"run{i + 1}": run for i, run in enumerate(runs)},
    }
    tables.write_text(os.path.join(folder, "collection.yaml"), tables.yaml_text(values))
    from . import profile_files

    profile_files.write(folder, description, values["profile"])


def close_run(folder, description, settings, run):
    """Adds this run to runs.jsonl and rewrites collection.yaml and the profile's meta.yaml."""
    runs = earlier_runs(folder) + [run]
    with open(os.path.join(folder, "runs.jsonl"), "a") as file:
        file.write(json.dumps(run) + "\n")
    write_meta(folder, description, settings, runs)
