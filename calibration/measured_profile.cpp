#include "calibration/measured_profile.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "calibration/csv.h"
#include "calibration/measured_rows.h"
#include "calibration/whole.h"

namespace plateau {

namespace {

// Bands (p5 to p95) by how the number was reached. The first: the same library kernels at the same
// shapes, timed by two tools on two boards, differ by -5 to +6 % from 5th to 95th percentile
// (docs/validation.md, "Two measurements of one engine"); a repeat within one run by under 1 %. The
// leave-one-geometry-out errors of tests/holdout stand behind the others.
constexpr double kMeasuredBand = 0.05;
constexpr double kInterpolatedBand = 0.06;
constexpr double kOtherGeometryBand =
    0.08;  // a shape no measured geometry has, at a distance of one
constexpr double kExtrapolatedBand = 0.20;
constexpr double kP95 = 1.6448536269514722;
constexpr double kUnknownBoardBand = 0.15;  // the spread between boards of one type
constexpr double kKnownBoardBand = 0.03;
constexpr double kOtherBoardBand = 0.06;

double band_of(const OpSurfaces::Answer& answer) {
  if (answer.source == Source::extrapolated) return kExtrapolatedBand;
  if (!answer.own_geometry)
    return kInterpolatedBand + kOtherGeometryBand * std::min(1.0, answer.nearest);
  return answer.source == Source::measured ? kMeasuredBand : kInterpolatedBand;
}

double log_interpolate(double x, double x0, double y0, double x1, double y1) {
  const double share = (std::log(x) - std::log(x0)) / (std::log(x1) - std::log(x0));
  return std::exp(std::log(y0) + share * (std::log(y1) - std::log(y0)));
}

constexpr double kNotMetered = -1;

std::string path_name(Interconnect interconnect) {
  return interconnect == Interconnect::nvlink ? "nvlink" : "host_memory";
}

}  // namespace

MeasuredProfile::MeasuredProfile(ProfileMeta meta, const ProfileOptions& options,
                                 const std::string& folder)
    : meta_(std::move(meta)) {
  read_kernels(folder, options);
  const std::string board = options.board.empty() ? meta_.board : options.board;
  const auto known = meta_.boards.find(board);
  if (known != meta_.boards.end()) {
    gain_ = known->second;
    gain_band_ = board == meta_.board ? kKnownBoardBand : kOtherBoardBand;
  } else {
    gain_band_ = kUnknownBoardBand;
    warnings_.push_back("board '" + board +
                        "' has no calibrated power gain: watts are those of board '" + meta_.board +
                        "' and may be off by 15 %");
  }
  if (options.ranks > 1) read_collectives(folder, options);
}

void MeasuredProfile::read_kernels(const std::string& folder, const ProfileOptions& options) {
  const std::vector<MeasuredRow> rows = read_measured_rows(folder, meta_.device.sm_clock_mhz);
  for (const MeasuredRow& row : rows) {
    double& floor = floors_[row.call.op];
    floor = floor == 0 ? row.seconds : std::min(floor, row.seconds);
  }
  for (const auto& [op, floor] : floors_) surfaces_.try_emplace(op, meta_.device, floor);
  for (const MeasuredRow& row : rows) surfaces_.at(row.call.op).add(row.call, row.seconds);
  for (const MeasuredRow& row : rows) {
    if (!row.throttled) continue;
    const double rate = work_of(row.call).flops / row.seconds;
    const auto [held, is_new] = throttled_.try_emplace(row.call.op, Throttled{rate, row.clock});
    held->second.flops_per_s = std::min(held->second.flops_per_s, rate);
    held->second.clock = std::min(held->second.clock, row.clock);
  }
  power_ = MeasuredPower(rows, meta_.power_states.wait.value, meta_.board);
  if (!meta_.fill_from.empty()) fill_from(options);
}

// Geometries that this profile lacks, from another measurement of the same kernels (meta.yaml names
// the operations whose times agree where both measured them).
void MeasuredProfile::fill_from(const ProfileOptions& options) {
  const std::string folder = options.data_dir + "/calibration/data/" + meta_.fill_from;
  std::vector<MeasuredRow> wanted;
  for (const MeasuredRow& row : read_measured_rows(folder, meta_.device.sm_clock_mhz)) {
    const auto& ops = meta_.fill_operations;
    if (std::find(ops.begin(), ops.end(), name_of(row.call.op)) == ops.end()) continue;
    const auto own = surfaces_.find(row.call.op);
    if (own == surfaces_.end() || !own->second.knows(row.call)) wanted.push_back(row);
  }
  for (const MeasuredRow& row : wanted) {
    const auto floor = floors_.try_emplace(row.call.op, row.seconds).first;
    surfaces_.try_emplace(row.call.op, meta_.device, floor->second)
        .first->second.add(row.call, row.seconds);
  }
}

void MeasuredProfile::read_collectives(const std::string& folder, const ProfileOptions& options) {
  const CsvTable table = CsvTable::read(folder + "/collectives.csv");
  const std::string path = path_name(options.interconnect);
  const std::size_t op = table.column("op"), at_path = table.column("path"),
                    gpus = table.column("gpus"), bytes = table.column("bytes"),
                    graph = table.column("cuda_graph"), latency = table.column("latency_us"),
                    power = table.column("power_w"),
                    at_board = table.has("board") ? table.column("board") : table.columns().size();
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.text(row, op) != "all_reduce" || table.text(row, at_path) != path ||
        table.number(row, graph) != 1)
      continue;
    const int ranks = whole<int>(table.number(row, gpus));
    if (ranks > options.ranks || ranks < measured_ranks_) continue;
    if (ranks > measured_ranks_) all_reduce_.clear();
    measured_ranks_ = ranks;
    const std::optional<double> watts = table.optional_number(row, power);
    all_reduce_.push_back(
        {table.number(row, bytes), table.number(row, latency) * 1e-6, watts.value_or(kNotMetered)});
    const auto board = at_board == table.columns().size()
                           ? meta_.boards.find(meta_.board)
                           : meta_.boards.find(std::string(table.text(row, at_board)));
    if (board != meta_.boards.end()) collective_gain_ = gain_ / board->second;
  }
  if (all_reduce_.empty()) {
    throw InputError(
        Problem{folder + "/collectives.csv", 0, 0, "hardware.interconnect",
                "no all-reduce was measured over " + std::string(name_of(options.interconnect)),
                "measured paths: nvlink, pcie_host_staged"});
  }
  std::sort(all_reduce_.begin(), all_reduce_.end(),
            [](const CollectivePoint& a, const CollectivePoint& b) { return a.bytes < b.bytes; });
  meter_between();
  wake_link();
  if (measured_ranks_ < options.ranks) {
    warnings_.push_back("all-reduce over " + std::to_string(options.ranks) +
                        " GPUs is scaled by the ring formula from " +
                        std::to_string(measured_ranks_) + " measured ones");
  }
}

// The states were measured over seconds, in which an idle link falls asleep. Between the
// collectives of a step it stays awake: its watts are those of the smallest all-reduce in a loop.
void MeasuredProfile::wake_link() {
  Estimate& wait = meta_.power_states.wait;
  const double link = std::max(0.0, all_reduce_.front().watts - wait.value);
  wait.value += link;
  wait.low += link;
  wait.high += link;
}

// Only some sizes are metered: between two of them watts are linear in bytes, beyond the last they
// stay.
void MeasuredProfile::meter_between() {
  std::vector<CollectivePoint> metered;
  for (const CollectivePoint& point : all_reduce_)
    if (point.watts != kNotMetered) metered.push_back(point);
  for (CollectivePoint& point : all_reduce_) {
    if (point.watts != kNotMetered) continue;
    const auto next =
        std::lower_bound(metered.begin(), metered.end(), point.bytes,
                         [](const CollectivePoint& p, double bytes) { return p.bytes < bytes; });
    if (metered.empty()) {
      point.watts = meta_.power_states.wait.value;
    } else if (next == metered.begin() || next == metered.end()) {
      point.watts = (next == metered.end() ? metered.back() : *next).watts;
    } else {
      const CollectivePoint &low = *(next - 1), &high = *next;
      point.watts =
          std::lerp(low.watts, high.watts, (point.bytes - low.bytes) / (high.bytes - low.bytes));
    }
  }
}

double MeasuredProfile::floor_of(Op op) const {
  const auto found = floors_.find(op);
  return found == floors_.end() ? meta_.launch.graph_gap.value : found->second;
}

Estimate MeasuredProfile::watts(double dynamic, double relative_gain, double misfit) const {
  const double above = dynamic * relative_gain;
  return Estimate::within(meta_.power_states.wait.value + above,
                          std::hypot(gain_band_, kP95 * misfit), Source::interpolated);
}

Estimate MeasuredProfile::watts_of(const OpCall& call, double seconds) const {
  return watts(power_.dynamic_watts(call, seconds), gain_, power_.of(call.op).misfit);
}

// A kernel that alone hits the power limit is slower in its own loop than between cooler ones: its
// part that follows the clock may be as fast as at the largest one.
Estimate MeasuredProfile::looped(const OpCall& call, Estimate seconds) const {
  const auto held = throttled_.find(call.op);
  if (held == throttled_.end() || !meta_.clock.known() ||
      work_of(call).flops / seconds.value < held->second.flops_per_s)
    return seconds;
  const double share =
      clock_share(meta_.clock, call, seconds.value, meta_.device.peak_flops(call.weights));
  seconds.low *= 1 - share * (1 - held->second.clock);
  return seconds;
}

// Ring all-reduce: 2(n-1) latencies and 2(n-1)/n of the tensor over the slowest link, so n ranks
// follow from n0 measured ones by scaling each share. NVSwitch trees beat it at small sizes: graded
// extrapolated.
OpCost MeasuredProfile::collective(const OpCall& call) const {
  const auto& points = all_reduce_;
  if (points.empty()) throw std::invalid_argument("collectives were not loaded for one GPU");
  OpCost cost;
  double seconds = 0;
  double dynamic = 0;
  Source source = Source::interpolated;
  const double floor = meta_.power_states.wait.value;
  if (call.bytes <= points.front().bytes) {
    seconds = points.front().seconds;
    dynamic = points.front().watts - floor;
  } else if (call.bytes >= points.back().bytes) {
    seconds = points.back().seconds * call.bytes / points.back().bytes;
    dynamic = points.back().watts - floor;
    source = Source::extrapolated;
  } else {
    const auto next =
        std::lower_bound(points.begin(), points.end(), call.bytes,
                         [](const CollectivePoint& p, double bytes) { return p.bytes < bytes; });
    const auto before = next - 1;
    seconds =
        log_interpolate(call.bytes, before->bytes, before->seconds, next->bytes, next->seconds);
    const double share = (call.bytes - before->bytes) / (next->bytes - before->bytes);
    dynamic = before->watts + share * (next->watts - before->watts) - floor;
    if (call.bytes == next->bytes) source = Source::measured;
  }
  if (call.ranks != measured_ranks_) {
    const double n = call.ranks, n0 = measured_ranks_;
    const double latency = points.front().seconds;
    seconds = latency * std::log2(n) / std::log2(n0) +
              (seconds - latency) * ((n - 1) / n) / ((n0 - 1) / n0);
    source = Source::extrapolated;
  }
  const double band = source == Source::extrapolated ? kExtrapolatedBand : kInterpolatedBand;
  cost.seconds = Estimate::within(seconds, band, source);
  cost.watts = watts(std::max(0.0, dynamic), collective_gain_, 0);
  return cost;
}

OpCost MeasuredProfile::elementwise(const OpCall& call) const {
  const double seconds =
      meta_.launch.graph_gap.value + work_of(call).bytes / meta_.power.memory_rate;
  return {Estimate::within(seconds, 0.5, Source::assumed), watts_of(call, seconds)};
}

// Flash attention reaches about half of the dense peak on long prompts (assumed; short ones are
// launch bound).
OpCost MeasuredProfile::flash_attention(const OpCall& call) const {
  const Work work = work_of(call);
  const double seconds =
      floor_of(Op::attention_decode) +
      std::max(work.bytes / meta_.power.memory_rate, work.flops / (0.5 * meta_.device.bf16_flops));
  return {Estimate::within(seconds, 0.5, Source::assumed), watts_of(call, seconds)};
}

OpCost MeasuredProfile::cost(const OpCall& call) const {
  if (call.op == Op::sampling) return {{0, 0, 0, Source::measured}, watts(0, gain_, 0)};
  if (call.op == Op::all_reduce) return collective(call);
  const auto surface = surfaces_.find(call.op);
  if (surface == surfaces_.end()) {
    if (call.op == Op::embedding || call.op == Op::activation) return elementwise(call);
    if (call.op == Op::attention_prefill) return flash_attention(call);
    throw std::invalid_argument(std::string("profile ") + meta_.provenance.profile +
                                " has no measurement of " + name_of(call.op));
  }
  if (call.weights != DType::bf16 && call.op != Op::attention_decode &&
      call.op != Op::attention_prefill) {
    throw std::invalid_argument(std::string("profile ") + meta_.provenance.profile +
                                " has measured " + name_of(call.op) + " in bf16 only, not " +
                                name_of(call.weights));
  }
  const OpSurfaces::Answer answer = surface->second.at(call);
  return {looped(call, Estimate::within(answer.seconds, band_of(answer), answer.source)),
          watts_of(call, answer.seconds)};
}

}  // namespace plateau
