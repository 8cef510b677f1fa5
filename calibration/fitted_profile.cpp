#include "calibration/fitted_profile.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "calibration/input_error.h"

namespace plateau {
namespace {

constexpr double kCollectiveBand = 0.05;
// Hosts differ. 8-GPU all-reduce bus bandwidth of this card: 22.2 GB/s on a dual-socket box with
// defaults, 23.6 on the tables' own host, 37.6 with tuned peer-to-peer, 39-41 behind PCIe switches;
// 4 GPUs: 24.9 on the tables' host, 30.3 with default staging, 39.3 with peer-to-peer (rtx6kpro).
constexpr double kStagedLow = 24.9 / 30.3;
constexpr double kStagedHigh = 1.25;
constexpr double kPeerShare = 23.6 / 37.6;  // of the time beyond latency that peer-to-peer leaves
constexpr double kPeerLow = 23.6 / 41;
constexpr double kUnknownBoardBand = 0.15;  // boards of one kind differ by this much in watts
constexpr double kAssumedShare = 0.8;       // of the memory's peak, for elementwise kernels
constexpr double kAssumedBand = 0.5;
constexpr double kSubstituteBand = 0.25;  // at least, when another type's law stands in

// Storage types whose kernels behave most alike, nearest first. None stands in for 4-bit
// activations.
std::array<DType, 3> siblings(DType dtype) {
  switch (dtype) {
    case DType::fp8:
      return {DType::fp8_block, DType::int8, DType::bf16};
    case DType::fp8_block:
    case DType::int8:
      return {DType::fp8, DType::fp8_block, DType::bf16};
    case DType::nvfp4:
      return {DType::mxfp4, DType::int4, DType::mxfp4};
    case DType::mxfp4:
      return {DType::nvfp4, DType::int4, DType::bf16};
    case DType::int4:
      return {DType::mxfp4, DType::bf16, DType::bf16};
    case DType::bf16:
      return {DType::fp8, DType::fp8_block, DType::fp32};
    case DType::fp32:
      return {DType::bf16, DType::fp8, DType::fp8_block};
  }
  return {dtype, dtype, dtype};
}

bool is_attention_core(Op op) {
  return op == Op::attention_decode || op == Op::attention_prefill || op == Op::mla_decode ||
         op == Op::mla_prefill;
}

Estimate widened(Estimate estimate, double at_least) {
  const double high = std::max(estimate.high / estimate.value - 1, at_least);
  return {estimate.value, estimate.value / (1 + high), estimate.value * (1 + high),
          std::max(estimate.source, Source::extrapolated)};
}

Estimate at_least(Estimate estimate, double seconds) {
  return {std::max(estimate.value, seconds), std::max(estimate.low, seconds),
          std::max(estimate.high, seconds), estimate.source};
}

bool sorted_before(const FittedLaw& law, const LawKey& key) { return law.key < key; }

}  // namespace

FittedProfile::FittedProfile(ProfileMeta meta, const ProfileOptions& options,
                             std::vector<FittedLaw> laws, CollectiveCurves curves)
    : meta_(std::move(meta)),
      laws_(std::move(laws)),
      curves_(std::move(curves)),
      warnings_(meta_.warnings),
      interconnect_(options.interconnect) {
  std::sort(laws_.begin(), laws_.end(),
            [](const FittedLaw& a, const FittedLaw& b) { return a.key < b.key; });
  if (options.attention == "kv_bandwidth") {
    kv_bandwidth_ = true;
  } else if (!options.attention.empty() && options.attention != "table") {
    throw InputError(Problem{"", 0, 0, "calibration.attention",
                             "unknown: \"" + options.attention + "\"", "table or kv_bandwidth"});
  }
  const bool tables_on_nvlink = meta_.interconnect == Interconnect::nvlink;
  if (options.ranks > 1 && tables_on_nvlink != (interconnect_ == Interconnect::nvlink)) {
    throw InputError(Problem{
        "", 0, 0, "hardware.interconnect",
        std::string("profile ") + meta_.provenance.profile + " has no collectives over " +
            name_of(interconnect_) + ": its tables were taken on " + name_of(meta_.interconnect),
        std::string("use ") + name_of(meta_.interconnect) + " or another profile"});
  }
  if (options.ranks > 1 && !curves_.has(Op::all_reduce, CollectivePath::nccl, options.ranks)) {
    throw InputError(Problem{"", 0, 0, "parallel.tp",
                             "profile " + meta_.provenance.profile + " has no all-reduce over " +
                                 std::to_string(options.ranks) + " GPUs",
                             "its curves cover 2, 4 and 8"});
  }
  if (!options.board.empty() && options.board != meta_.board) {
    const auto board = meta_.boards.find(options.board);
    if (board != meta_.boards.end()) {
      gain_ = board->second;
    } else {
      unknown_board_ = true;
      warnings_.push_back("board " + options.board + " is not in profile " +
                          meta_.provenance.profile + ": power is predicted for its own board");
    }
  }
}

const FittedLaw* FittedProfile::find(const LawKey& key) const {
  const auto found = std::lower_bound(laws_.begin(), laws_.end(), key, sorted_before);
  return found != laws_.end() && found->key == key ? &*found : nullptr;
}

// The law of the same type that comes nearest: other head width or windowing, any experts, dense.
const FittedLaw* FittedProfile::find_geometry(const LawKey& key) const {
  if (key.op == Op::attention_decode || key.op == Op::attention_prefill) {
    return nearest_head_dim(key);
  }
  if (key.op == Op::moe_experts || key.op == Op::mla_decode || key.op == Op::mla_prefill) {
    return find(LawKey{key.op, key.dtype, {}});
  }
  return nullptr;
}

const FittedLaw* FittedProfile::nearest_head_dim(const LawKey& key) const {
  const FittedLaw* best = nullptr;
  double best_distance = 0;
  for (const FittedLaw& law : laws_) {
    if (law.key.op != key.op || law.key.dtype != key.dtype) continue;
    const double other_window = law.key.geometry[1] != key.geometry[1] ? 10 : 0;
    const double distance =
        std::abs(std::log(static_cast<double>(law.key.geometry[0]) / key.geometry[0])) +
        other_window;
    if (best == nullptr || distance < best_distance) {
      best = &law;
      best_distance = distance;
    }
  }
  return best;
}

Estimate FittedProfile::by_law(const OpCall& call) const {
  const LawKey key = key_of(call);
  const double cold = streamed_bytes(call) / meta_.weight_stream.value;
  if (const FittedLaw* law = find(key)) return at_least(law->seconds(call, meta_.device), cold);
  if (const FittedLaw* law = find_geometry(key)) {
    const Estimate price = law->seconds(call, meta_.device);
    // The experts' general law was held out by geometry: its band already says how far to trust it.
    if (key.op == Op::moe_experts) return at_least(price, cold);
    return at_least(widened(price, kSubstituteBand), cold);
  }
  for (const DType dtype : siblings(call.weights)) {
    const LawKey other{key.op, dtype, key.geometry};
    const FittedLaw* law = find(other);
    if (law == nullptr) law = find_geometry(other);
    if (law == nullptr) continue;
    OpCall as_known = call;
    // A cache in another type: as slow as the kernel that was measured. Weights in another type:
    // the same share of their own roofline.
    if (is_attention_core(call.op)) as_known.weights = dtype;
    return at_least(widened(law->seconds(as_known, meta_.device), kSubstituteBand), cold);
  }
  throw std::invalid_argument("profile " + meta_.provenance.profile + " has no law for " +
                              name_of(call.op) + " in " + name_of(call.weights));
}

Estimate FittedProfile::elementwise(const OpCall& call) const {
  const bool fused = call.op == Op::residual_add;
  const double bytes = work_of(call).bytes;
  const double stream = bytes / (kAssumedShare * meta_.device.memory_bandwidth);
  Estimate price = Estimate::within(stream, kAssumedBand, Source::assumed);
  if (!fused) price = price + meta_.small_kernel * call.kernels;
  price.source = Source::assumed;
  return price;
}

Estimate FittedProfile::collective(const OpCall& call) const {
  if (call.ranks <= 1) return {};
  const bool nvlink = interconnect_ == Interconnect::nvlink;
  const bool custom = call.op == Op::all_reduce && (nvlink || call.ranks == 2) &&
                      call.bytes <= CollectiveCurves::kCustomLimit &&
                      curves_.has(call.op, CollectivePath::custom, call.ranks);
  const CollectivePath path = custom ? CollectivePath::custom : CollectivePath::nccl;
  Estimate price = curves_.seconds(call.op, path, call.ranks, call.bytes, kCollectiveBand);
  if (nvlink) return price;
  const double staged = price.value;
  if (interconnect_ == Interconnect::pcie_host_staged || meta_.interconnect == Interconnect::pcie) {
    price.low = std::min(price.low, staged * kStagedLow);
    price.high = std::max(price.high, staged * kStagedHigh);
    return price;
  }
  const double latency = curves_.seconds(call.op, path, call.ranks, 0, kCollectiveBand).value;
  const double beyond = std::max(0.0, staged - latency);
  price.value = staged - beyond * (1 - kPeerShare);
  price.low = staged - beyond * (1 - kPeerLow);
  price.high = std::max(price.high, staged);
  price.source = Source::extrapolated;
  return price;
}

Estimate FittedProfile::kv_bandwidth(const OpCall& call) const {
  const double stream = streamed_bytes(call) / meta_.weight_stream.value;
  Estimate price = Estimate::within(stream, kAssumedBand, Source::assumed) + meta_.small_kernel;
  price.source = Source::assumed;
  return price;
}

Estimate FittedProfile::seconds(const OpCall& call) const {
  switch (call.op) {
    case Op::all_reduce:
    case Op::all_gather:
      return collective(call);
    case Op::moe_combine:
      return Estimate{0, 0, 0, Source::interpolated};
    case Op::moe_dispatch: {
      OpCall router = call;
      router.op = Op::gemm;
      router.weights = DType::bf16;
      router.n = call.experts;
      router.k = call.hidden;
      return by_law(router) + meta_.small_kernel;
    }
    case Op::attention_decode:
    case Op::mla_decode:
      return kv_bandwidth_ ? kv_bandwidth(call) : by_law(call);
    case Op::gemm:
    case Op::lm_head:
    case Op::moe_experts:
    case Op::attention_prefill:
    case Op::mla_prefill:
    case Op::mla_bmm:
      return by_law(call);
    case Op::indexer_logits:
    case Op::indexer_topk:
      return find(key_of(call)) != nullptr ? by_law(call) : elementwise(call);
    default:
      return elementwise(call);
  }
}

Estimate FittedProfile::watts(const OpCall& call, double seconds) const {
  if (call.op == Op::all_reduce || call.op == Op::all_gather) return meta_.power_states.wait;
  const double share = meta_.device.peak_flops(call.weights) / meta_.device.bf16_flops;
  Estimate watts = watts_of(meta_.power, work_of(call), seconds, meta_.power.bf16_rate * share);
  if (gain_ != 1) {
    const double floor = meta_.power.busy_w.value;
    const auto scaled = [&](double w) { return w > floor ? floor + gain_ * (w - floor) : w; };
    watts = {scaled(watts.value), scaled(watts.low), scaled(watts.high), watts.source};
  }
  if (unknown_board_) {
    watts.low *= 1 - kUnknownBoardBand;
    watts.high *= 1 + kUnknownBoardBand;
  }
  return watts;
}

OpCost FittedProfile::cost(const OpCall& call) const {
  Estimate time = seconds(call);
  if (meta_.time_band > 0 && time.value > 0) {
    time = {time.value, time.low / (1 + meta_.time_band), time.high * (1 + meta_.time_band),
            std::max(time.source, Source::extrapolated)};
  }
  return {time, watts(call, time.value)};
}

std::unique_ptr<Profile> load_fitted_profile(ProfileMeta meta, const ProfileOptions& options,
                                             const std::string& folder) {
  return std::make_unique<FittedProfile>(std::move(meta), options, read_laws(folder + "/laws.csv"),
                                         CollectiveCurves::read(folder + "/curves.csv"));
}

}  // namespace plateau
