#include "calibration/measured_rows.h"

#include <map>

#include "calibration/csv.h"

namespace plateau {

namespace {

constexpr double kThrottledBelow = 0.985;  // of the full SM clock

struct Geometry {
  double hidden = 0;
  double query_heads = 0;
  double kv_heads = 0;
  double head_dim = 0;
  double experts = 0;
  double top_k = 0;
  std::string board;
};

std::map<std::string, Geometry> read_geometries(const std::string& path) {
  const CsvTable table = CsvTable::read(path);
  const std::size_t model = table.column("model");
  const std::size_t hidden = table.column("hidden");
  const std::size_t query = table.column("query_heads");
  const std::size_t kv = table.column("kv_heads");
  const std::size_t dim = table.column("head_dim");
  const std::size_t experts = table.column("experts");
  const std::size_t top_k = table.column("top_k");
  const std::size_t board = table.column("board");
  std::map<std::string, Geometry> geometries;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    geometries[std::string(table.text(row, model))] = {table.number(row, hidden),
                                                       table.number(row, query),
                                                       table.number(row, kv),
                                                       table.number(row, dim),
                                                       table.number(row, experts),
                                                       table.number(row, top_k),
                                                       std::string(table.text(row, board))};
  }
  return geometries;
}

struct Columns {
  explicit Columns(const CsvTable& table)
      : model(table.column("model")),
        op(table.column("op")),
        m(table.column("m_tokens")),
        n(table.column("n")),
        k(table.column("k")),
        context(table.column("ctx_tokens")),
        inter(table.column("inter")),
        active(table.column("active_experts")),
        max_over_mean(table.column("expert_load_max_over_mean")),
        latency(table.column("latency_us")),
        p10(table.column("latency_p10_us")),
        p90(table.column("latency_p90_us")),
        power(table.column("power_w")),
        sm_mhz(table.column("sm_mhz")) {}
  std::size_t model, op, m, n, k, context, inter, active, max_over_mean, latency, p10, p90, power,
      sm_mhz;
};

bool is_gemm(std::string_view op) {
  return op == "qkv_gemm" || op == "o_gemm" || op == "gemm" || op == "lm_head_argmax" ||
         op == "qkv_gemm_fp8" || op == "o_gemm_fp8";
}

void set_attention(OpCall& call, const Geometry& geometry) {
  call.query_heads = geometry.query_heads;
  call.kv_heads = geometry.kv_heads;
  call.head_dim = geometry.head_dim;
}

// Which fields a row's operation needs. False: an operation this reader does not know.
bool set_shape(const CsvTable& table, std::size_t row, const Columns& at, const Geometry& geometry,
               OpCall& call) {
  const std::string_view op = table.text(row, at.op);
  call.m = table.number(row, at.m);
  if (op == "rms_norm" || op == "residual_add" || op == "moe_combine") {
    call.op = op == "rms_norm"       ? Op::rms_norm
              : op == "residual_add" ? Op::residual_add
                                     : Op::moe_combine;
    call.k = geometry.hidden;
    call.top_k = geometry.top_k;
  } else if (op == "rope_kv_write") {
    call.op = Op::rope_kv_write;
    call.k = (geometry.query_heads + 2 * geometry.kv_heads) * geometry.head_dim;
  } else if (is_gemm(op)) {
    call.op = op == "lm_head_argmax" ? Op::lm_head : Op::gemm;
    if (op.size() > 4 && op.substr(op.size() - 4) == "_fp8") call.weights = DType::fp8;
    call.n = table.number(row, at.n);
    call.k = table.number(row, at.k);
  } else if (op == "attention_decode") {
    call.op = Op::attention_decode;
    call.sequences = call.m;
    call.new_tokens = 1;
    call.context_tokens = table.number(row, at.context);
    set_attention(call, geometry);
  } else if (op == "attention_prefill") {  // m = all new tokens, ctx = tokens of each sequence
    call.op = Op::attention_prefill;
    call.new_tokens = call.context_tokens = table.number(row, at.context);
    call.sequences = call.m / call.new_tokens;
    set_attention(call, geometry);
  } else if (op == "moe_dispatch") {
    call.op = Op::moe_dispatch;
    call.hidden = geometry.hidden;
    call.experts = geometry.experts;
    call.top_k = geometry.top_k;
  } else if (op == "moe_experts") {
    call.op = Op::moe_experts;
    call.hidden = geometry.hidden;
    call.experts = geometry.experts;
    call.top_k = geometry.top_k;
    call.inter = table.number(row, at.inter);
    call.active_experts = table.number(row, at.active);
    call.rows_max_over_mean = table.number(row, at.max_over_mean);
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::vector<MeasuredRow> read_measured_rows(const std::string& folder, double sm_clock_mhz) {
  const std::map<std::string, Geometry> geometries = read_geometries(folder + "/geometries.csv");
  const CsvTable table = CsvTable::read(folder + "/kernels.csv");
  const Columns at(table);
  std::vector<MeasuredRow> rows;
  rows.reserve(table.rows());
  std::vector<Problem> problems;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto geometry = geometries.find(std::string(table.text(row, at.model)));
    if (geometry == geometries.end()) {
      problems.push_back(table.problem(row, at.model, "geometries.csv does not name this model",
                                       "add its row there"));
      continue;
    }
    MeasuredRow measured;
    if (!set_shape(table, row, at, geometry->second, measured.call)) {
      problems.push_back(table.problem(row, at.op, "unknown operation"));
      continue;
    }
    measured.board = geometry->second.board;
    measured.model = geometry->first;
    measured.seconds = table.number(row, at.latency) * 1e-6;
    measured.spread =
        (table.number(row, at.p90) - table.number(row, at.p10)) * 0.5e-6 / measured.seconds;
    measured.watts = table.optional_number(row, at.power);
    const std::optional<double> clock = table.optional_number(row, at.sm_mhz);
    if (clock) measured.clock = *clock / sm_clock_mhz;
    measured.throttled = clock.has_value() && *clock < kThrottledBelow * sm_clock_mhz;
    if (!(measured.seconds > 0) || (measured.watts && *measured.watts <= 0)) {
      problems.push_back(table.problem(row, at.latency, "latency and power must be above 0"));
      continue;
    }
    rows.push_back(measured);
  }
  if (!problems.empty()) throw InputError(problems);
  return rows;
}

}  // namespace plateau
