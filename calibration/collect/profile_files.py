"""Turns a folder of measurements into a calibration profile: geometries.csv and meta.yaml beside the tables.

    python3 calibration/collect/profile_files.py FOLDER        (run.py does it at the end of every run)

Every constant of meta.yaml is a median over the rows of launch.csv, states.csv and roofline.csv, with a band from their
spread; what was not measured says `assumed`. The peaks are the data sheet's where the GPU is known, else what the
roofline reached.
"""

import csv
import math
import os
import re
import statistics
import sys

if __package__ in (None, ""):
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    sys.path = [p for p in sys.path if os.path.abspath(p or ".") != os.path.dirname(os.path.abspath(__file__))]

from collect import geometry, tables  # noqa: E402

# name as the driver prints it -> name in Plateau, memory GB/s, dense bf16 / fp8 / fp4 TFLOP/s (data sheets)
DEVICES = {
    "NVIDIA H200": ("h200-sxm", 4800, 989, 1978, None),
    "NVIDIA H100 80GB HBM3": ("h100-sxm", 3350, 989, 1978, None),
    "NVIDIA B200": ("b200-sxm", 7700, 2250, 4500, 9000),
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": ("rtx-pro-6000-server", 1597, 467.8, 935.6, 1871.2),
}

# What a lower clock does to watts (docs/models.md), where it is known: knee of the voltage, (V(max)/V(knee))^2 - 1.
CLOCKS = {
    "NVIDIA H200": {"min": "345 MHz", "knee": "1400 MHz", "voltage_rise": 0.25, "base_share": 0.28, "source": "interpolated",
                    "note": "clocks at which looped kernels of kernels.csv settle under the 700 W limit"},
}


def rows(folder, name):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return []
    with open(path, newline="") as file:
        return [row for row in csv.DictReader(line for line in file if not line.startswith("#"))]


def median_term(values, unit, note, least=0.02, floor=None):
    """A term of meta.yaml: the median, and half the distance between the tenth and the ninetieth percentile as band."""
    if not values:
        return term(0, unit, 0, "assumed", "not measured")
    values = sorted(values)
    middle = statistics.median(values)
    if floor is not None:
        middle = max(floor, middle)
    low, high = values[len(values) // 10], values[-1 - len(values) // 10]
    band = max(least, (high - low) / 2 / middle) if middle > 0 else 0
    return term(middle, unit, min(band, 1.0), "measured", f"{note}; median of {len(values)}")


# Between hosts of one kind: the H200 boxes of 2026-11-30 needed 1490 and 1272 us a layer for the same launches, a factor
# of 1.17, hence a deviation of ln 1.17 / sqrt(2).
HOSTS_DIFFER = 0.11


def host_term(values, unit, note):
    """As median_term, but the band is for another day and another host: p5 to p95 of what loops of this run and hosts vary by."""
    if not values:
        return term(0, unit, 0, "assumed", "not measured")
    deviation = statistics.pstdev(math.log(value) for value in values)
    band = 1.645 * math.hypot(deviation, HOSTS_DIFFER)
    return term(statistics.median(values), unit, min(band, 1.0), "measured",
                f"{note}; median of {len(values)}, which vary by {100 * deviation:.0f} %, hosts by {100 * HOSTS_DIFFER:.0f} %")


def term(value, unit, band, source, note=None):
    values = {"value": f"{value:.4g} {unit}", "band": round(band, 3), "source": source}
    if note:
        values["note"] = note
    return values


TWICE = {"rms_norm": 2, "residual_add": 2}  # a layer has two of each
GAP_CTX = 256  # context of the captured layers of launch.csv


def launch_terms(folder):
    table = rows(folder, "launch.csv")

    def of(quantity):
        return [float(row["value_us"]) for row in table if row["quantity"] == quantity]

    graph_step = statistics.median(of("graph_step") or [0.0])
    eager = of("eager_layer_host") + of("eager_prefill_layer_host")
    prepare = sorted((float(row["batch"]), float(row["value_us"])) for row in table if row["quantity"] == "host_prepare")
    step_us, request_us = line_through(prepare)
    return {
        "graph_gap": median_term(gaps(table, prices(folder)), "us",
                                 "a captured layer less its operations in kernels.csv, per operation", floor=0),
        "graph_layer": median_term(
            layer_costs(table, graph_step), "us",
            "a synchronised replay against back-to-back ones, less the launch, per layer", floor=0),
        "graph_step": median_term(of("graph_step"), "us", "launch of one graph"),
        "eager_gap": term(0, "us", 0, "assumed", "counted by layer"),
        "eager_layer": median_term(of("eager_layer"), "us", "GPU-bound eager layer less its operations"),
        "eager_kernel_launch": term(0, "us", 0, "assumed", "counted by layer"),
        "eager_layer_host": host_term(eager, "us", "launch loop of a layer"),
        "eager_step": term(0, "us", 0, "assumed", "counted by layer"),
        "host_step": term(step_us, "us", 0.5, "measured", "host_prepare at no request"),
        "host_request": term(request_us, "us", 0.5, "measured", "slope of host_prepare"),
    }


def prices(folder):
    """What kernels.csv says of each operation of a decode layer: {(model, op, batch): us}; attention at one context."""
    found = {}
    for row in rows(folder, "kernels.csv"):
        if row["ctx_tokens"] in ("", str(GAP_CTX)) and row["zipf_alpha"] in ("", "0"):
            found.setdefault((row["model"], row["op"], row["m_tokens"]), float(row["latency_us"]))
    return found


def gaps(table, price_of):
    """What brings the sum of a layer's prices to the layer as captured, per operation. launch.csv has the operations
    timed beside the layer too, but steps are priced by kernels.csv, which tells some of them a little differently."""
    found = []
    for row in table:
        layer = re.search(r"layer ([0-9.]+) us", row["detail"] or "")
        if row["quantity"] != "graph_gap" or not layer:
            continue
        priced, operations = 0.0, 0
        for op, all_us in re.findall(r"(\w+)=([0-9.]+)", row["detail"]):
            times = TWICE.get(op, 1)
            priced += times * price_of.get((row["model"], op, row["batch"]), float(all_us) / times)
            operations += times
        found.append((float(layer.group(1)) - priced) / operations)
    return found


def layer_costs(table, graph_step_us):
    """graph_layer rows hold (synchronised - back to back) / layers, which contains the launch once per replay."""
    costs = []
    for row in table:
        layers = re.search(r"(\d+) layers", row["detail"] or "")
        if row["quantity"] == "graph_layer" and layers:
            costs.append(float(row["value_us"]) - graph_step_us / int(layers.group(1)))
    return costs


def line_through(points):
    """Least squares y = a + b x with a >= 0; zeros when there is nothing to fit."""
    if len(points) < 2:
        return 0.0, 0.0
    mean_x = statistics.fmean(x for x, _ in points)
    mean_y = statistics.fmean(y for _, y in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)
    return max(0.0, mean_y - slope * mean_x), slope


WAITING = "rank waits inside an all-reduce"  # then its size and path, measure_ranks.py


def power_terms(folder):
    states = [(row["state"], float(row["power_w"])) for row in rows(folder, "states.csv") if row["power_w"]]
    idle = [watts for state, watts in states if state.startswith("idle, ") and "no context" not in state]
    waiting = [watts for state, watts in states if state.startswith(WAITING)]
    tiny = [watts for state, watts in states if state.startswith("launch-bound")]
    wait = median_term(waiting, "W", "a rank inside an all-reduce for a late peer") if waiting else \
        term(statistics.median(tiny or idle), "W", 0.05, "measured", "tiny kernels in a graph; no waiting rank was measured")
    copies = [float(row["tb_per_s"]) * 1e3 for row in rows(folder, "roofline.csv") if row["tb_per_s"]]
    return {
        "idle": median_term(idle, "W", "context resident, no kernel"),
        "wait": wait,
        "host_gap": term(statistics.median(tiny or idle), "W", 0.05, "assumed", "as tiny kernels: clocks up, nothing resident"),
        "memory_rate": f"{max(copies):.4g} GB/s",
    }


def device_of(folder, machine):
    name, memory, bf16, fp8, fp4 = DEVICES.get(machine["name"], (None,) * 5)
    roofline = {row["op"]: row for row in rows(folder, "roofline.csv")}
    if name is None:
        name = machine["name"].lower().replace("nvidia ", "").replace(" ", "-")
        memory = max(float(row["tb_per_s"]) * 1e3 for row in roofline.values() if row["tb_per_s"])
        bf16 = float(roofline["bf16_gemm"]["tflops"])
        fp8 = float(roofline["fp8_gemm"]["tflops"]) if "fp8_gemm" in roofline else None
    device = {"name": name, "memory": f"{round(machine['memory_bytes'] / 2**20)} MiB", "memory_bandwidth": f"{memory:g} GB/s",
              "bf16": f"{bf16:g} TFLOP/s"}
    if fp8:
        device["fp8"] = f"{fp8:g} TFLOP/s"
    if fp4:
        device["fp4"] = f"{fp4:g} TFLOP/s"
    device.update({"power_limit": f"{machine['power_limit_w']:g} W", "sm_clock": f"{machine['sm_clock_max_mhz']:g} MHz",
                   "sms": machine["sm_count"], "compute_capability": int(str(machine["compute_capability"]).split(".")[0])})
    return device


def write_geometries(folder, board):
    names = []
    for row in rows(folder, "kernels.csv"):
        if row["model"] not in names:
            names.append(row["model"])
    lines = ["model,layers,hidden,query_heads,kv_heads,head_dim,experts,top_k,expert_intermediate,vocab,board"]
    for name in names:
        g = geometry.find(name, [])
        lines.append(f"{name},{g.layers},{g.hidden},{g.q_heads},{g.kv_heads},{g.head_dim},{g.experts},{g.topk},{g.inter},{g.vocab},{board}")
    tables.write_text(os.path.join(folder, "geometries.csv"), "\n".join(lines) + "\n")


NEEDED = ("kernels.csv", "roofline.csv", "states.csv", "launch.csv")


def write(folder, machine, provenance):
    """geometries.csv and meta.yaml from the tables of the folder; False when a run has not yet measured them all."""
    if not all(rows(folder, name) for name in NEEDED):
        return False
    board = machine["board"]
    write_geometries(folder, board)
    noise = {"kernels.csv": 0.005, "geometries.csv": 0, "collectives.csv": 0.01}
    present = {name: {"noise": value} for name, value in noise.items() if os.path.exists(os.path.join(folder, name))}
    values = {
        "kind": "measured",
        "device": device_of(folder, machine),
        "launch": launch_terms(folder),
        "power": power_terms(folder),
        "clock": clock_of(folder, machine),
        "board": board,
        "boards": {board: {"gain": 1}},
        "provenance": provenance,
        "tables": present,
    }
    values = {key: value for key, value in values.items() if value is not None}
    tables.write_text(os.path.join(folder, "meta.yaml"), tables.yaml_text(values))
    return True


def clock_of(folder, machine):
    """None where nothing is known: power caps and clocks are then refused for this profile."""
    known = CLOCKS.get(machine["name"])
    if known is None:
        return None
    idle = power_terms(folder)["idle"]["value"]
    return {"max": f"{machine['sm_clock_max_mhz']:g} MHz", "static": idle, **known}


def read_collection(folder):
    """machine and profile blocks of collection.yaml: two levels of scalars, as tables.yaml_text writes them."""
    blocks, block = {}, None
    with open(os.path.join(folder, "collection.yaml")) as file:
        for line in file:
            text = line.rstrip("\n")
            if text and not text.startswith(" "):
                block = blocks.setdefault(text.rstrip(":"), {})
            elif text.startswith("  ") and not text.startswith("   ") and ": " in text and block is not None:
                key, value = text.strip().split(": ", 1)
                value = value.strip()
                block[key] = value[1:-1] if value.startswith('"') else (float(value) if "." in value else int(value)) \
                    if value.replace(".", "", 1).isdigit() else value
    return blocks


def main(arguments):
    if len(arguments) != 1 or not os.path.isdir(arguments[0]):
        print("usage: profile_files.py FOLDER", file=sys.stderr)
        return 2
    blocks = read_collection(arguments[0])
    if not write(arguments[0], blocks["machine"], blocks["profile"]):
        print(f"{arguments[0]} is not a whole profile yet: run.py measures {', '.join(NEEDED)}", file=sys.stderr)
        return 2
    print(f"wrote {arguments[0]}/meta.yaml and geometries.csv")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
