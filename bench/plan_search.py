#!/usr/bin/env python3
"""How near the guided search of `plateau plan` comes to the best of all points, and at what cost.

    bench/plan_search.py build/release/plateau [--scenarios 20] [--points 5000] [--first 0] [--keep FOLDER]

Draws scenarios (load, lengths, objective, limit) from a fixed seed, runs every point of a grid of
four keys and then the search, and compares. The search passes a scenario when its answer is within
0.5 % of the best and its runs and estimates took at most a tenth of the simulated steps. Exit code 1
when fewer than 19 of 20 pass. Duplicated points (a cap above the pool's wall) count as points. With --keep the
answers of all points are kept in FOLDER and read again when the same question comes back: remove them when the
engine's model changes, not when the search does.
"""
import argparse
import csv
import hashlib
import io
import json
import pathlib
import random
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WITHIN = 0.005
SHARE = 0.1
BASES = ["glm5-nvfp4-8x-rtx-pro-6000-derived-pool.yaml", "qwen3-30b-a3b-1x-h200.yaml"]
OBJECTIVES = ["--maximise=tok_per_s", "--maximise=tok_per_s_per_w", "--minimise=j_per_token",
              "--maximise=tok_per_s_per_gpu"]


def words(draw, points):
    """The command's words but the search, and the kind of limit."""
    clients = draw.choice([64, 128, 256, 384, 512, 768])
    steps = round(points / (10 * 5 * 5))
    sets = {
        "workload.concurrency": clients,
        "workload.requests": clients * draw.choice([1, 2, 3]) + draw.randrange(clients),
        "workload.input_length": f"{draw.choice([32, 128, 512, 1500])} tokens",
        "workload.output_length": f"{draw.choice([16, 32, 64, 128])} tokens",
        "seed": draw.randrange(1, 1000),
    }
    keys = {
        "engine.max_running_requests": f"{max(4, clients // 24)}..{clients}:{steps}",
        "engine.chunked_prefill_size": "1024..16384:10",
        "engine.cuda_graph_max_bs": "8,32,96,160,512",  # beyond it eager, and graphs take memory: not monotone
        "engine.mem_fraction_static": "0.76..0.92:5",
    }
    base = str(ROOT / "scenarios" / draw.choice(BASES))
    result = [base, "--set", "engine.disable_cuda_graph=false"]
    for key, value in sets.items():
        result += ["--set", f"{key}={value}"]
    for key, value in keys.items():
        result += ["--vary", f"{key}={value}"]
    return result, draw.choice(OBJECTIVES), draw.choice([None, "tpot_p50", "ttft_p90", "e2e_p99"])


def limit_of(plateau, command, kind, draw):
    """A limit that some points keep and some break."""
    if kind is None:
        return []
    rows = subprocess.run([plateau, "sweep", *command, "--lhs", "20", "--csv", "-"], check=True,
                          capture_output=True, text=True).stdout
    values = sorted(float(row[kind + "_ms"]) for row in csv.DictReader(io.StringIO(rows))
                    if row["status"] == "ok")
    return ["--limit", f"{kind} <= {values[draw.randrange(len(values) // 4, 3 * len(values) // 4)]:.6g} ms"]


def plan(plateau, command):
    done = subprocess.run([plateau, "plan", *command, "--best", "1", "--json", "-"], capture_output=True,
                          text=True)
    if done.returncode not in (0, 4):
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def best_of_all(plateau, command, keep):
    if keep is None:
        return plan(plateau, [*command, "--exhaustive"])
    kept = keep / (hashlib.sha256("\0".join(command).encode()).hexdigest()[:16] + ".json")
    if not kept.exists():
        kept.write_text(json.dumps(plan(plateau, [*command, "--exhaustive"])))
    return json.loads(kept.read_text())


def compare(plateau, number, points, keep):
    draw = random.Random(f"plateau plan {number}")
    command, objective, kind = words(draw, points)
    command += limit_of(plateau, command, kind, draw) + [objective]
    best = best_of_all(plateau, command, keep)
    found = plan(plateau, command)
    metric = best["objective"]["metric"]
    value = best["best"][0]["figures"][metric] if best["best"] else None
    got = found["best"][0]["figures"][metric] if found["best"] else None
    gap = abs(got / value - 1) if value and got else (0.0 if got == value else 1.0)
    search = found["search"]
    share = (search["steps_simulated"] + search["steps_priced"]) / best["search"]["steps_simulated"]
    passed = gap <= WITHIN and share <= SHARE
    print(f"{number:3} {'ok  ' if passed else 'MISS'} gap {100 * gap:.3f} % with {100 * share:.2f} % of the steps, "
          f"{search['points_simulated']} of {best['points']} points  {objective} "
          f"{command[-3:-1] if kind else ''} {pathlib.Path(command[0]).name}", flush=True)
    return passed


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("plateau")
    arguments.add_argument("--scenarios", type=int, default=20)
    arguments.add_argument("--points", type=int, default=5000)
    arguments.add_argument("--first", type=int, default=0)
    arguments.add_argument("--keep", type=pathlib.Path)
    chosen = arguments.parse_args()
    if chosen.keep:
        chosen.keep.mkdir(parents=True, exist_ok=True)
    passed = sum(compare(chosen.plateau, chosen.first + i, chosen.points, chosen.keep)
                 for i in range(chosen.scenarios))
    print(f"{passed} of {chosen.scenarios} scenarios within {100 * WITHIN} % with a tenth of the steps")
    return 0 if passed >= 0.95 * chosen.scenarios else 1


if __name__ == "__main__":
    sys.exit(main())
