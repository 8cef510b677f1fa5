#include "sim/report/load_text.h"

#include <fmt/format.h>

#include <vector>

#include "sim/report/format.h"

namespace plateau {

std::string load_text(const SaturationReport& s) {
  std::string text = fmt::format(
      "{}: {} requests/s came, {} ended in the second half of the arrivals; {} in the engine at "
      "its start, {} at its end",
      name_of(s.verdict), compact(s.arrivals_per_s), compact(s.completions_per_s),
      compact(s.backlog_middle), compact(s.backlog_end));
  if (s.verdict == SaturationReport::Verdict::unknown)
    return "too few arrivals to tell whether the queue grows";
  return text;
}

std::string goodput_text(const GoodputReport& goodput) {
  std::string text =
      fmt::format("{} of the requests within limits: {} requests/s, {} output tok/s; limits {}",
                  percent(goodput.requests_share), compact(goodput.requests_per_s),
                  compact(goodput.output_tok_per_s), goodput.met ? "met" : "missed");
  for (const LimitResult& limit : goodput.limits) {
    text += fmt::format("; {} {} ms of {} {}", limit.name,
                        limit.measured_ms ? compact(*limit.measured_ms) : "-",
                        compact(limit.limit_ms), limit.met ? "kept" : "missed");
  }
  return text;
}

std::string cost_text(const CostReport& cost) {
  const auto money = [&](const std::optional<double>& value) {
    return value ? compact(*value) + " " + cost.currency : std::string();
  };
  std::vector<std::string> parts;
  if (cost.per_million_output_tokens) {
    parts.push_back(money(cost.per_million_output_tokens) + " per million output tokens");
    if (cost.per_million_output_tokens_steady)
      parts.push_back(money(cost.per_million_output_tokens_steady) + " in the steady state");
    if (cost.per_million_good_output_tokens)
      parts.push_back(money(cost.per_million_good_output_tokens) + " within limits");
    parts.push_back(money(cost.per_million_total_tokens) + " with prompts");
  }
  if (cost.per_hour) parts.push_back(money(cost.per_hour) + " an hour");
  if (cost.rack_w) {
    std::string draw = fmt::format("{} W with {} host{}", compact(*cost.rack_w), cost.hosts,
                                   cost.hosts == 1 ? "" : "s");
    if (cost.site_w) draw += fmt::format(", {} W at the site's meter", compact(*cost.site_w));
    parts.push_back(draw);
  }
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text;
}

std::string growth_text(const SaturationReport& s) {
  const std::string rates =
      "requests came at " + compact(s.arrivals_per_s) + "/s and ended at " +
      compact(s.completions_per_s) + "/s in the second half of the arrivals, from " +
      compact(s.backlog_middle) + " in the engine to " + compact(s.backlog_end);
  return s.verdict == SaturationReport::Verdict::saturated
             ? "saturated: " + rates +
                   "; the queue grows without bound, so the latencies measure the length of the run"
             : "not steady: " + rates +
                   "; the load was still building up, so the latencies are those of this stretch";
}

}  // namespace plateau
