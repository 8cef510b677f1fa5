"""The files of a profile: columns, append-only writing, resume, meta.yaml.

A row is written and flushed as soon as it is measured, so an interrupted run keeps what it had. A key that is already
in the file is not measured again. A value that was not measured is an empty cell, never 0.
"""

import csv
import io
import os

COLUMNS = {
    "kernels.csv": (
        "model op m_tokens n k ctx_tokens splits zipf_alpha experts topk hidden inter active_experts "
        "expert_load_max_over_mean latency_us latency_p10_us latency_p90_us power_w sm_mhz").split(),
    "collectives.csv": "op path gpus bytes cuda_graph latency_us power_w".split(),
    "roofline.csv": "op latency_us tflops tb_per_s power_w sm_mhz".split(),
    "states.csv": "state board power_w util_pct sm_mhz".split(),
    "launch.csv": "quantity model batch ctx_tokens value_us p10_us p90_us repeats detail".split(),
    "host_speed.csv": "kind model batch ctx_tokens layers repeat launch_ms total_ms".split(),
    "anchors.csv": "anchor when seconds_since_start latency_us latency_p10_us latency_p90_us power_w sm_mhz".split(),
    "decode_steps.csv": (
        "model batch ctx_tokens zipf_alpha cuda_graph all_reduce_path step_ms power_w power_window_s board").split(),
    "delayed_rank.csv": (
        "model batch ctx_tokens all_reduce_path delay_ms late_rank step_ms power_w_waiting power_w_late util_pct_waiting "
        "sm_mhz_waiting power_window_s board_waiting board_late").split(),
    "serving_runs.csv": (
        "model concurrency isl_tokens osl_tokens osl_jitter requests kv_tokens page_tokens max_running "
        "prefill_chunk_tokens num_continuous_decode_steps zipf_alpha cuda_graph all_reduce_path board seconds "
        "output_tok_s total_tok_s power_w j_per_output_tok peak_running mean_running decode_steps prefill_batches "
        "prefill_s decode_s decode_step_ms_p50 ttft_p50_s ttft_p99_s e2e_p50_s tpot_mean_s").split(),
    "trace.csv": "phase start_s requests tokens ms".split(),
    "power.csv": "t_s power_w sm_mhz util_pct".split(),
}

KEYS = {
    "kernels.csv": "model op m_tokens ctx_tokens zipf_alpha".split(),
    "collectives.csv": "op path gpus bytes cuda_graph".split(),
    "roofline.csv": ["op"],
    "states.csv": "state board".split(),
    "launch.csv": "quantity model batch ctx_tokens".split(),
    "host_speed.csv": "kind model batch ctx_tokens repeat".split(),
    "anchors.csv": "anchor when".split(),
    "decode_steps.csv": "model batch ctx_tokens zipf_alpha cuda_graph all_reduce_path board".split(),
    "delayed_rank.csv": "model batch ctx_tokens all_reduce_path delay_ms late_rank".split(),
    "serving_runs.csv": (
        "model concurrency isl_tokens osl_tokens osl_jitter requests kv_tokens prefill_chunk_tokens "
        "num_continuous_decode_steps zipf_alpha cuda_graph all_reduce_path board").split(),
}


def cell(value):
    """Text of one cell: floats at six significant digits, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise ValueError("a measurement is not a finite number")
        return f"{value:.6g}" if abs(value) < 1e6 else f"{value:.0f}"
    return str(value)


class Table:
    """One CSV file, opened for appending; knows which keys it already holds."""

    def __init__(self, folder, name, kind=None):
        self.path = os.path.join(folder, name)
        self.columns = COLUMNS[kind or name]
        self.key_columns = KEYS.get(kind or name, [])
        self.keys = set()
        os.makedirs(folder, exist_ok=True)
        self._load()

    def _load(self):
        fresh = not os.path.exists(self.path) or os.path.getsize(self.path) == 0
        if fresh:
            self._append_line(self.columns)
            return
        self._cut_half_line()
        with open(self.path, newline="") as file:
            reader = csv.DictReader(line for line in file if not line.startswith("#"))
            if reader.fieldnames != self.columns:
                raise ValueError(f"{self.path}: its columns are not those of this collector; use another --out folder")
            for row in reader:
                self.keys.add(self.key_of(row))

    def _cut_half_line(self):
        """An interrupted write leaves a line without its newline: drop it."""
        with open(self.path, "rb+") as file:
            data = file.read()
            if data and not data.endswith(b"\n"):
                file.truncate(data.rfind(b"\n") + 1)

    def key_of(self, row):
        return tuple(cell(row.get(column)) for column in self.key_columns)

    def __contains__(self, row):
        return self.key_of(row) in self.keys

    def append(self, row):
        unknown = set(row) - set(self.columns)
        if unknown:
            raise KeyError(f"{self.path}: no such columns: {sorted(unknown)}")
        self._append_line([cell(row.get(column)) for column in self.columns])
        self.keys.add(self.key_of(row))

    def _append_line(self, cells):
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow(cells)
        with open(self.path, "a", newline="") as file:
            file.write(text.getvalue())


def read_rows(path):
    """Rows of a CSV file as dictionaries; an absent file has none."""
    if not os.path.exists(path):
        return []
    with open(path, newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def yaml_text(values, indent=0):
    """Nested dicts, lists and scalars as YAML that any reader takes."""
    pad = "  " * indent
    lines = []
    for key, value in values.items():
        if isinstance(value, dict):
            lines.append(f"{pad}{key}:" + ("" if value else " {}"))
            if value:
                lines.append(yaml_text(value, indent + 1).rstrip("\n"))
        elif isinstance(value, (list, tuple)):
            lines.append(f"{pad}{key}: [{', '.join(scalar(v) for v in value)}]")
        else:
            lines.append(f"{pad}{key}: {scalar(value)}")
    return "\n".join(lines) + "\n"


def scalar(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return cell(value)
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def write_text(path, text):
    """Whole or not at all."""
    temporary = path + ".part"
    with open(temporary, "w") as file:
        file.write(text)
    os.replace(temporary, path)
