#include "calibration/fit/fit_laws.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "calibration/fit/fit_surface.h"
#include "models/random.h"

namespace plateau {
namespace {

struct Axis {
  Feature feature;
  std::vector<double> knots;  // wanted between the data's ends
};

std::vector<double> geometric(double low, double high, int count) {
  std::vector<double> knots;
  for (int i = 0; i < count; ++i) knots.push_back(low * std::pow(high / low, i / (count - 1.0)));
  return knots;
}

// Knots stand where kernels change: on both sides of a tile's height in m, at the widths of real
// layers in n and k, densest where serving engines work.
const std::vector<double> kTokens = {1,   4,   16,  17,   32,   64,   128,  129,  256,
                                     257, 512, 513, 1024, 1025, 2048, 4096, 8192, 32768};
const std::vector<double> kOutputs = {32,   128,  256,  512,   1024,  2048, 2560,
                                      4096, 6144, 8192, 12288, 16384, 65536};
const std::vector<double> kInputs = {32,   128,  256,  512,  1024,  2048,
                                     3072, 4096, 6144, 8192, 16384, 65536};
const std::vector<double> kContext = {2, 16, 64, 128, 256, 512, 1024, 2048, 4096, 16384, 131072};
const std::vector<double> kBlocks = {1, 4, 16, 32, 64, 128, 256, 512, 1024, 4096, 65536};
const std::vector<double> kPrompt = {1, 16, 64, 128, 256, 512, 1024, 2048, 4096, 16384};
const std::vector<double> kRows = {1, 1.5, 2, 4, 8, 32, 128, 512, 4096};

std::vector<Axis> expert_axes(bool any_experts) {
  if (any_experts) {
    return {{Feature::expert_bytes, geometric(1e5, 1e9, 9)},
            {Feature::active_experts, {1, 4, 8, 16, 32, 64, 128, 256, 512}},
            {Feature::rows_per_expert, kRows}};
  }
  return {{Feature::active_experts, {1, 2, 4, 8, 16, 32, 64, 128, 256, 512}},
          {Feature::rows_per_expert, kRows}};
}

// For kernels that lay every expert out as long as the hottest one.
std::vector<Axis> padded_expert_axes() {
  return {{Feature::active_experts, {1, 2, 4, 8, 16, 32, 64, 128, 256, 512}},
          {Feature::rows_per_expert, {1, 2, 8, 32, 128, 512}},
          {Feature::rows_max_over_mean, {2, 8, 16}}};
}

std::vector<Axis> latent_axes(Op op, bool sparse) {
  if (op == Op::mla_decode) {
    return {{Feature::sequences, {1, 4, 16, 32, 64, 128, 256, 512, 1024}},
            {Feature::context_tokens, kContext},
            {Feature::query_heads, {1, 8, 16, 32, 64, 128}}};
  }
  if (sparse) {
    return {{Feature::query_tokens, {16, 64, 256, 1024, 2048, 4096, 8192, 16384, 32768}},
            {Feature::context_tokens, {64, 512, 1024, 2048, 2304, 4096, 8192, 32768}},
            {Feature::query_heads, {8, 16, 32, 64, 128}}};
  }
  return {{Feature::new_tokens, kPrompt}, {Feature::query_blocks, kBlocks}};
}

std::vector<Axis> indexer_axes(bool prefill) {
  // Several short prompts fill one launch as one longer prompt would.
  if (prefill)
    return {{Feature::pairs, {4096, 65536, 262144, 1048576, 4194304, 16777216, 67108864}}};
  return {{Feature::sequences, {1, 4, 16, 64, 256, 1024}}, {Feature::context_tokens, kContext}};
}

std::vector<Axis> axes_for(const LawKey& key, bool any_experts) {
  switch (key.op) {
    case Op::gemm:
      return {{Feature::m, kTokens}, {Feature::n, kOutputs}, {Feature::k, kInputs}};
    case Op::moe_experts:
      return expert_axes(any_experts);
    case Op::attention_decode:
      return {{Feature::kv_blocks, kBlocks},
              {Feature::context_tokens, kContext},
              {Feature::group, {1, 4, 8, 16, 64}}};
    case Op::attention_prefill:
      return {{Feature::new_tokens, kPrompt},
              {Feature::query_blocks, {1, 8, 32, 128, 512, 2048, 32768}},
              {Feature::group, {1, 8, 64}}};
    case Op::mla_decode:
    case Op::mla_prefill:
      return latent_axes(key.op, key.geometry[0] == 1);
    case Op::mla_bmm:
      return {{Feature::m, kTokens}, {Feature::query_heads, {1, 4, 8, 16, 32, 64, 128}}};
    case Op::indexer_logits:
    case Op::indexer_topk:
      return indexer_axes(key.geometry[0] == 1);
    default:
      return {{Feature::m, kTokens}};
  }
}

// The data's own ends, and the wanted knots well inside them.
std::vector<double> log_knots(const Axis& axis, const std::vector<const TableRow*>& rows) {
  double low = value_of(axis.feature, rows.front()->call);
  double high = low;
  for (const TableRow* row : rows) {
    const double value = value_of(axis.feature, row->call);
    low = std::min(low, value);
    high = std::max(high, value);
  }
  constexpr double kApart = 1.0009;  // tiles end at m = 512 and begin anew at 513
  std::vector<double> knots = {std::log(low)};
  for (const double knot : axis.knots) {
    if (knot > low * kApart && knot * kApart < high) knots.push_back(std::log(knot));
  }
  if (high > low * kApart) knots.push_back(std::log(high));
  return knots;
}

// Chosen on the held-out residuals, which move by less than one percent between 0.03 and 0.3.
SurfaceOptions options_for(const LawKey& key) {
  SurfaceOptions options;
  options.bend = key.op == Op::moe_experts || key.op == Op::mla_decode ? 0.05 : 0.1;
  return options;
}

FittedLaw fit_one(const LawKey& key, const std::vector<const TableRow*>& rows,
                  const std::vector<Axis>& axes, const DeviceSpec& device, double weight_stream) {
  FittedLaw law;
  law.key = key;
  law.kernel = rows.front()->kernel;
  law.rows = static_cast<int>(rows.size());
  law.floor_s = rows.front()->seconds;
  std::vector<std::vector<double>> knots;
  for (const Axis& axis : axes) {
    law.features.push_back(axis.feature);
    knots.push_back(log_knots(axis, rows));
  }
  std::vector<SurfaceSample> samples;
  for (const TableRow* row : rows) {
    law.floor_s = std::min(law.floor_s, row->seconds);
    const double seconds = cold_seconds(*row, weight_stream);
    samples.push_back(
        {law.point(row->call), std::log(reference_seconds(row->call, device) / seconds)});
  }
  law.ln_utilisation = fit_surface(knots, samples, options_for(key));
  return law;
}

double quantile(const std::vector<double>& sorted, double share) {
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(std::lround(share * last))];
}

Residual judge(const FittedLaw& law, const std::vector<const TableRow*>& rows,
               const DeviceSpec& device, double weight_stream) {
  Residual residual;
  residual.key = law.key;
  residual.rows = static_cast<int>(rows.size());
  std::vector<double> sizes;
  double sum = 0;
  for (const TableRow* row : rows) {
    const double cold = cold_seconds(*row, weight_stream);
    constexpr double kVisible = 1.02;
    if (cold > row->seconds * kVisible) ++residual.streamed;
    const double relative = law.seconds(row->call, device).value / cold - 1;
    sum += relative;
    sizes.push_back(std::abs(relative));
  }
  std::sort(sizes.begin(), sizes.end());
  residual.p50 = quantile(sizes, 0.5);
  residual.p90 = quantile(sizes, 0.9);
  residual.worst = sizes.back();
  residual.bias = sum / static_cast<double>(sizes.size());
  return residual;
}

struct Range {
  const char* name;
  double low;
  double high;
};

// The ranges that residuals are told apart by: tokens of a GEMM or an expert layer.
std::vector<Range> ranges_for(Op op) {
  const Range all{"all", 0, 1e300};
  if (op == Op::gemm || op == Op::moe_experts) {
    return {all, {"m<=64", 0, 64}, {"64<m<=512", 64.5, 512}, {"m>512", 512.5, 1e300}};
  }
  return {all};
}

void add_residuals(std::vector<Residual>& residuals, const FittedLaw& law, const char* set,
                   const std::vector<const TableRow*>& rows, bool ranges, const DeviceSpec& device,
                   double weight_stream) {
  for (const Range& range : ranges_for(law.key.op)) {
    std::vector<const TableRow*> inside;
    for (const TableRow* row : rows) {
      if (row->call.m >= range.low && row->call.m <= range.high) inside.push_back(row);
    }
    if (inside.empty()) continue;
    residuals.push_back(judge(law, inside, device, weight_stream));
    residuals.back().set = set;
    residuals.back().range = range.name;
    if (!ranges) return;
  }
}

// Experts whose time two features leave open by more than a tenth get the hottest expert as a
// third, if that halves it.
FittedLaw fit_key_law(const LawKey& key, const std::vector<const TableRow*>& rows, bool any_experts,
                      const DeviceSpec& device, double weight_stream) {
  constexpr double kOpen = 0.1;
  FittedLaw law = fit_one(key, rows, axes_for(key, any_experts), device, weight_stream);
  if (key.op != Op::moe_experts || any_experts) return law;
  const double open = judge(law, rows, device, weight_stream).p90;
  if (open < kOpen) return law;
  FittedLaw padded = fit_one(key, rows, padded_expert_axes(), device, weight_stream);
  return judge(padded, rows, device, weight_stream).p90 < open / 2 ? padded : law;
}

void fit_key(LawFit& fit, const LawKey& key, const std::vector<const TableRow*>& rows,
             bool any_experts, const DeviceSpec& device, double weight_stream) {
  // A surface through fewer rows is a guess; a curve needs less.
  const std::vector<Axis> axes = axes_for(key, any_experts);
  const std::size_t fewest = axes.size() == 1 ? 3 : 8;
  if (rows.size() < fewest) return;
  FittedLaw law = fit_key_law(key, rows, any_experts, device, weight_stream);
  const bool ranges = key.op == Op::gemm || any_experts;
  add_residuals(fit.residuals, law, "fitted", rows, ranges, device, weight_stream);
  law.band = judge(law, rows, device, weight_stream).p90;
  std::vector<const TableRow*> seen;
  std::vector<const TableRow*> held_out;
  for (const TableRow* row : rows) (is_held_out(row->call) ? held_out : seen).push_back(row);
  const bool spans = key.op == Op::gemm || key.op == Op::attention_decode ||
                     key.op == Op::attention_prefill || any_experts;
  if (spans && !held_out.empty() && seen.size() >= fewest) {
    const FittedLaw without = fit_one(key, seen, axes, device, weight_stream);
    add_residuals(fit.residuals, without, "held_out", held_out, ranges, device, weight_stream);
    law.band = std::max(law.band, judge(without, held_out, device, weight_stream).p90);
  }
  fit.laws.push_back(std::move(law));
}

LawFit fit_groups(const std::vector<TableRow>& rows, bool any_experts, const DeviceSpec& device,
                  double weight_stream) {
  std::map<LawKey, std::vector<const TableRow*>> groups;
  for (const TableRow& row : rows) {
    LawKey key = key_of(row.call);
    if (any_experts) key.geometry = {};
    groups[key].push_back(&row);
  }
  LawFit fit;
  for (const auto& [key, members] : groups) {
    fit_key(fit, key, members, any_experts, device, weight_stream);
  }
  return fit;
}

}  // namespace

LawFit fit_laws(const std::vector<TableRow>& rows, const DeviceSpec& device, double weight_stream) {
  return fit_groups(rows, false, device, weight_stream);
}

LawFit fit_any_experts(const std::vector<TableRow>& rows, const DeviceSpec& device,
                       double weight_stream) {
  // Geometries that another kernel runs would only widen the spread.
  std::map<DType, std::map<std::string, int>> kernels;
  for (const TableRow& row : rows) ++kernels[row.call.weights][row.kernel];
  std::vector<TableRow> main;
  for (const TableRow& row : rows) {
    const auto& counts = kernels[row.call.weights];
    const auto most =
        std::max_element(counts.begin(), counts.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (row.kernel == most->first) main.push_back(row);
  }
  return fit_groups(main, true, device, weight_stream);
}

double measured_weight_stream(const std::vector<TableRow>& gemms) {
  constexpr double kLarge = 5e8;  // bytes, four times the largest L2
  constexpr double kFewTokens = 16;
  std::map<DType, std::vector<double>> rates;
  for (const TableRow& row : gemms) {
    if (row.call.m > kFewTokens || streamed_bytes(row.call) < kLarge) continue;
    rates[row.call.weights].push_back(streamed_bytes(row.call) / row.seconds);
  }
  double best = 0;
  for (auto& [dtype, values] : rates) {
    std::sort(values.begin(), values.end());
    best = std::max(best, quantile(values, 0.5));
  }
  return best;
}

double cold_seconds(const TableRow& row, double weight_stream) {
  return std::max(row.seconds, streamed_bytes(row.call) / weight_stream);
}

bool is_held_out(const OpCall& call) {
  constexpr std::uint64_t kFifth = 5;
  std::string shape;
  switch (call.op) {
    case Op::gemm:
      shape = fmt::format("{}/{}", call.n, call.k);
      break;
    case Op::moe_experts:
      shape = fmt::format("{}/{}/{}", call.hidden, call.experts, call.top_k);
      break;
    default:
      shape = fmt::format("{}/{}", call.query_heads, call.kv_heads);
      break;
  }
  return fnv1a(shape) % kFifth == 0;
}

}  // namespace plateau
