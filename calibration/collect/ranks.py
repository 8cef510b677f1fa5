"""One process per GPU: starting them, agreeing on numbers, and the collectives they share."""

import gc
import os
import socket
import subprocess
import sys
import threading
import time

PREFIX = "PLATEAU_COLLECT_"
PATHS = ("nvlink", "pcie", "host_memory")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def environment(rank, world, port, path, budget_s=None):
    env = dict(os.environ)
    env.update({PREFIX + "RANK": str(rank), PREFIX + "WORLD": str(world), PREFIX + "PORT": str(port),
                PREFIX + "PATH": path, PREFIX + "BUDGET": "" if budget_s is None else f"{budget_s:.1f}"})
    # Multicast over NVLink is left off: on shared hosts it can take GPUs out of service.
    env.setdefault("NCCL_NVLS_ENABLE", "0")
    env.setdefault("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1")
    env.setdefault("OMP_NUM_THREADS", "4")
    if path == "host_memory":
        env["NCCL_P2P_DISABLE"] = "1"
    else:
        env.pop("NCCL_P2P_DISABLE", None)
    return env


def worker_rank():
    """(rank, world, path) of this process, or nothing in the parent."""
    if PREFIX + "RANK" not in os.environ:
        return None
    return int(os.environ[PREFIX + "RANK"]), int(os.environ[PREFIX + "WORLD"]), os.environ[PREFIX + "PATH"]


def given_budget_s(own):
    """A worker's share of the budget, as its parent set it."""
    text = os.environ.get(PREFIX + "BUDGET")
    return own if text is None else float(text) if text else None


OVERTIME_S = 60.0  # past its budget a worker that hangs in a collective is ended


def launch(argv, world, path, budget_s=None):
    """Runs this same command once per GPU; the exit code of the first that failed, else 0. Ends only its own children."""
    port = free_port()
    children = [subprocess.Popen([sys.executable] + argv, env=environment(rank, world, port, path, budget_s))
                for rank in range(world)]
    deadline = None if budget_s is None else time.monotonic() + budget_s + OVERTIME_S
    code = 0
    try:
        while any(child.poll() is None for child in children):
            failed = [child.returncode for child in children if child.poll() not in (None, 0)]
            late = deadline is not None and time.monotonic() > deadline
            if failed or late:
                code = failed[0] if failed else 124
                break
            time.sleep(0.1)
        else:
            code = next((child.returncode for child in children if child.returncode), 0)
    finally:
        for child in children:
            if child.poll() is None:
                child.terminate()
        for child in children:
            try:
                child.wait(timeout=10)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
    return code


class Group:
    """The NCCL group of this process, with a key-value store for agreement between hosts."""

    def __init__(self, rank, world, path):
        import torch
        import torch.distributed as dist

        self.rank, self.world, self.path = rank, world, path
        self.dist = dist
        self.device = torch.device("cuda", rank)
        torch.cuda.set_device(self.device)
        port = int(os.environ[PREFIX + "PORT"])
        self.store = dist.TCPStore("127.0.0.1", port, world, rank == 0)
        dist.init_process_group("nccl", store=dist.PrefixStore("nccl", self.store), rank=rank, world_size=world,
                                device_id=self.device)
        self._turn = 0
        warm = torch.ones(1024, dtype=torch.bfloat16, device=self.device)
        dist.all_reduce(warm)
        torch.cuda.synchronize(self.device)
        if float(warm[0]) != world:
            raise RuntimeError(f"all-reduce over {world} GPUs gave {float(warm[0])}")

    def all_reduce(self, tensor):
        self.dist.all_reduce(tensor)

    def agree(self, value):
        """Rank 0's number, on every rank."""
        self._turn += 1
        key = f"value{self._turn}"
        if self.rank == 0:
            self.store.set(key, repr(float(value)))
            return float(value)
        return float(self.store.get(key))

    def exchange(self, text):
        """Everybody's text, by rank."""
        self._turn += 1
        self.store.set(f"text{self._turn}.{self.rank}", text)
        return [self.store.get(f"text{self._turn}.{rank}").decode() for rank in range(self.world)]

    def barrier(self):
        """Hosts meet; the GPUs are not involved."""
        self.exchange("")

    def close(self):
        """Leaves the group; rank 0, which holds the store, last. A teardown that hangs is cut short: all is written."""
        gc.collect()  # graphs that hold collectives go before the communicator does
        self.barrier()
        guard = threading.Timer(15.0, os._exit, (0,))
        guard.daemon = True
        guard.start()
        self.dist.destroy_process_group()
        if self.rank:
            self.store.set(f"bye{self.rank}", "1")
        else:
            self.store.wait([f"bye{rank}" for rank in range(1, self.world)])
        guard.cancel()
