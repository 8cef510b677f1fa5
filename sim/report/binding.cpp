#include "sim/report/binding.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/report/format.h"

namespace plateau {

namespace {

constexpr double kHalf = 0.5;
constexpr double kAtCap =
    0.97;  // of max_running_requests, on average over the steps that had a queue
constexpr double kAtWall = 0.9;  // of the requests or tokens the pool holds, likewise

const char* name_of(Roof roof) {
  static constexpr const char* kNames[kRoofs] = {"kernel_floor", "weight_streaming", "kv_streaming",
                                                 "compute"};
  return kNames[static_cast<int>(roof)];
}

double share(const BindingInput& input, Part part) {
  return input.time_split[static_cast<std::size_t>(part)];
}

bool has_kernels(Part part) {
  return part == Part::attention || part == Part::dense_gemm || part == Part::moe ||
         part == Part::norm_etc || part == Part::lm_head;
}

Roof default_roof(Part part, bool decode) {
  if (part == Part::norm_etc) return Roof::kernel_floor;
  if (!decode) return Roof::compute;
  return part == Part::attention ? Roof::kv_streaming : Roof::weight_streaming;
}

Roof roof_of(const OpLine& line, const DeviceSpec& device) {
  const Part part = line.call.part;
  if (part == Part::norm_etc) return Roof::kernel_floor;
  const Work work = work_of(line.call);
  const double peak = device.peak_flops(line.call.weights);
  const double memory = device.memory_bandwidth > 0 ? work.bytes / device.memory_bandwidth : 0;
  const double arithmetic = peak > 0 ? work.flops / peak : 0;
  if (std::max(memory, arithmetic) < kHalf * line.each.seconds.value) return Roof::kernel_floor;
  if (arithmetic > memory) return Roof::compute;
  return part == Part::attention ? Roof::kv_streaming : Roof::weight_streaming;
}

std::string count_text(double value) { return grouped(std::round(value)); }

struct Concurrency {
  std::string constraint;
  std::string why;
};

bool kv_reached(const BindingInput& input) {
  const double running = input.queue.running_when_queued;
  const auto used = static_cast<double>(input.kv.peak_used_tokens);
  const auto pool = static_cast<double>(input.kv.capacity_tokens);
  if (input.retractions.count > 0) return true;
  if (input.kv.wall_requests && running >= kAtWall * static_cast<double>(*input.kv.wall_requests))
    return true;
  return pool > 0 && used >= kAtWall * pool;
}

std::string retractions_text(const BindingInput& input) {
  const auto count = static_cast<double>(input.retractions.count);
  return count > 0 ? " (" + count_text(count) + " retractions)" : "";
}

Concurrency load_limit(const BindingInput& input) {
  const std::string retractions = retractions_text(input);
  if (input.clients == 1) return {"load", "the one client fits"};
  if (input.clients > 0) {
    return {"load", "all " + count_text(input.clients) + " clients fit" + retractions};
  }
  return {"load", "requests find room: " + count_text(input.running_mean) + " run on average" +
                      retractions};
}

std::string kv_text(const BindingInput& input) {
  const auto held = static_cast<double>(input.running_peak);
  std::string text = "the KV pool holds " + count_text(held);
  text += input.clients > 0
              ? " of " + count_text(input.clients) + " clients"
              : " requests while " + count_text(input.queue.waiting_when_queued) + " wait";
  return text + retractions_text(input);
}

Concurrency concurrency_limit(const BindingInput& input) {
  const QueueState& queue = input.queue;
  if (queue.queued_share < kHalf) return load_limit(input);
  const std::string waiting = count_text(queue.waiting_when_queued) + " wait";
  const auto cap = static_cast<double>(input.max_running_requests);
  if (cap > 0 && input.running_peak >= input.max_running_requests &&
      queue.running_when_queued >= kAtCap * cap) {
    return {"running_cap",
            "max_running_requests " + count_text(cap) + " is reached while " + waiting};
  }
  if (kv_reached(input)) return {"kv_pool", kv_text(input)};
  if (queue.prefill_full_share >= kHalf) {
    return {"token_budget", "prefill fills its budget of " +
                                count_text(static_cast<double>(input.prefill_token_budget)) +
                                " tokens a step while " + waiting};
  }
  std::string why =
      "the admission rule lets " + count_text(queue.running_when_queued) + " run while " + waiting;
  if (input.kv.capacity_tokens > 0) {
    const double used = static_cast<double>(input.kv.peak_used_tokens) /
                        static_cast<double>(input.kv.capacity_tokens);
    why += ", with at most " + percent(used) + " of the KV pool in use";
  }
  return {"admission", why};
}

std::string launch_limit(const BindingInput& input) {
  if (input.graph_share >= kHalf) return "kernel_floor";
  const auto captured = static_cast<double>(input.largest_captured_batch);
  return captured > 0 && input.running_mean > captured ? "captured_batch" : "host";
}

void add_to(std::vector<Limit>& limits, const std::string& constraint, double elasticity) {
  for (Limit& limit : limits) {
    if (limit.constraint != constraint) continue;
    limit.elasticity += elasticity;
    return;
  }
  limits.push_back({constraint, elasticity});
}

void strongest_first(std::vector<Limit>& limits) {
  limits.erase(std::remove_if(limits.begin(), limits.end(),
                              [](const Limit& l) { return l.elasticity <= 0; }),
               limits.end());
  std::stable_sort(limits.begin(), limits.end(),
                   [](const Limit& a, const Limit& b) { return a.elasticity > b.elasticity; });
}

std::vector<Limit> step_limits(const BindingInput& input) {
  std::vector<Limit> limits;
  add_to(limits, "all_reduce", share(input, Part::all_reduce));
  add_to(limits, "all_to_all", share(input, Part::all_to_all));
  add_to(limits, "host", share(input, Part::host));
  add_to(limits, launch_limit(input), share(input, Part::launch));
  const double capped = std::clamp(input.capped_share, 0.0, 1.0);
  for (std::size_t i = 0; i < kRoofs; ++i) {
    const Roof roof = static_cast<Roof>(i);
    const bool clocked = roof == Roof::kernel_floor || roof == Roof::compute;
    if (clocked) add_to(limits, "power_cap", input.roofs[i] * capped);
    add_to(limits, name_of(roof), input.roofs[i] * (clocked ? 1 - capped : 1));
  }
  strongest_first(limits);
  return limits;
}

std::string words_for(const std::string& constraint) {
  if (constraint == "all_reduce") return "all-reduce takes";
  if (constraint == "all_to_all") return "all-to-all takes";
  if (constraint == "host") return "the host takes";
  if (constraint == "captured_batch")
    return "launching kernels above the largest captured batch takes";
  if (constraint == "kernel_floor")
    return "kernels below both roofs and the gaps between them take";
  if (constraint == "weight_streaming") return "weight streaming takes";
  if (constraint == "kv_streaming") return "reading the KV cache takes";
  if (constraint == "compute") return "arithmetic takes";
  if (constraint == "power_cap") return "kernels at the power cap take";
  return constraint + " takes";
}

std::string elasticity_text(double elasticity) {
  return grouped(elasticity, std::abs(elasticity) < 0.095 ? 3 : 2) + " %";
}

std::string share_text(const Limit& part) {
  return words_for(part.constraint) + " " + percent(part.elasticity) + " of the time";
}

std::string step_why(const Limit& part, double elasticity,
                     const std::optional<double>& more_running) {
  std::string why =
      share_text(part) + ": 1 % faster gives " + elasticity_text(elasticity) + " more tokens";
  if (more_running) why += ", 1 % more running requests " + elasticity_text(*more_running);
  return why;
}

std::string concurrency_why(const Concurrency& concurrency, const Limit& limit) {
  const bool load = concurrency.constraint == "load";
  return concurrency.why + ": 1 % more " + (load ? "load gives " : "running requests give ") +
         elasticity_text(limit.elasticity) + " more tokens";
}

}  // namespace

std::array<RoofShares, kParts> roofs_of(const std::vector<OpLine>& lines, const DeviceSpec& device,
                                        bool decode) {
  std::array<RoofShares, kParts> shares{};
  for (const OpLine& line : lines) {
    if (!has_kernels(line.call.part)) continue;
    shares[static_cast<std::size_t>(line.call.part)]
          [static_cast<std::size_t>(roof_of(line, device))] +=
        line.call.count * line.each.seconds.value;
  }
  for (std::size_t i = 0; i < kParts; ++i) {
    const Part part = static_cast<Part>(i);
    if (!has_kernels(part)) continue;
    RoofShares& of_part = shares[i];
    const double sum = std::accumulate(of_part.begin(), of_part.end(), 0.0);
    if (sum > 0) {
      for (double& value : of_part) value /= sum;
    } else {
      of_part[static_cast<std::size_t>(default_roof(part, decode))] = 1;
    }
  }
  return shares;
}

std::optional<double> elasticity_at(const std::vector<CurvePoint>& curve, double running) {
  std::optional<double> slope;
  for (std::size_t i = 0; i + 1 < curve.size(); ++i) {
    const CurvePoint& a = curve[i];
    const CurvePoint& b = curve[i + 1];
    if (a.running <= 0 || b.running <= a.running || a.tok_per_s <= 0 || b.tok_per_s <= 0) continue;
    if (slope && running < a.running) break;
    slope = (b.tok_per_s - a.tok_per_s) / (b.tok_per_s + a.tok_per_s) /
            ((b.running - a.running) / (b.running + a.running));
  }
  return slope;
}

BindingReport binding_of(const BindingInput& input) {
  BindingReport binding;
  const Concurrency concurrency = concurrency_limit(input);
  binding.concurrency = concurrency.constraint;
  binding.concurrency_why = concurrency.why;
  std::vector<Limit> steps = step_limits(input);
  if (!steps.empty()) binding.step = steps.front().constraint;

  const bool open = input.clients == 0;
  const double waiting_share = std::clamp(input.queue.queued_share, 0.0, 1.0);
  const double engine =
      open ? waiting_share : 1;  // how much of the run follows the engine and not its load
  const std::string largest_part =
      steps.empty() ? "" : "; in the step " + share_text(steps.front());
  std::optional<double> more;
  if (const auto slope = elasticity_at(input.decode_curve, input.running_mean)) {
    more = *slope * input.decode_time_share * engine;
  }
  binding.limits = steps;
  for (Limit& limit : binding.limits) limit.elasticity *= engine;
  if (open) add_to(binding.limits, "load", 1 - waiting_share);
  if (!open) add_to(binding.limits, "load", share(input, Part::idle));
  if (more && !(open && concurrency.constraint == "load"))
    add_to(binding.limits, concurrency.constraint, *more);
  strongest_first(binding.limits);
  if (binding.limits.empty()) return binding;

  const Limit& first = binding.limits.front();
  binding.constraint = first.constraint;
  const auto part = std::find_if(steps.begin(), steps.end(), [&](const Limit& limit) {
    return limit.constraint == first.constraint;
  });
  binding.why = part != steps.end()
                    ? step_why(*part, first.elasticity, more) + "; " + concurrency.why
                    : concurrency_why(concurrency, first) + largest_part;
  return binding;
}

}  // namespace plateau
