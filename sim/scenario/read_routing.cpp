#include <array>

#include "sim/scenario/overlay.h"
#include "sim/scenario/read_scenario.h"
#include "sim/scenario/sections.h"

namespace plateau {

namespace {

using Law = RoutingConfig::Law;

// Spread of the two-level log-normal that reproduces DeepSeek-V3/R1's recorded decode loads (58
// layers, CV 0.77, active experts within 1 % at 32 tokens): experts 0.50 within a router group,
// groups 0.55. A model that routes without groups has none of the second. Public loads of other
// models were not found: for them both are assumed.
constexpr double kSigmaExpert = 0.50;
constexpr double kSigmaGroup = 0.55;

const ConfigReader::Choices<Law> kLaws = {
    {"uniform", Law::uniform},     {"two_level_lognormal", Law::two_level_lognormal},
    {"zipf", Law::zipf},           {"zipf_gumbel", Law::zipf_gumbel},
    {"power_law", Law::power_law}, {"replay", Law::replay}};

bool has_alpha(Law law) {
  return law == Law::zipf || law == Law::zipf_gumbel || law == Law::power_law;
}

// A parameter of another law would be ignored, so it is refused.
void check_parameters(ConfigReader* routing, Law law) {
  struct Parameter {
    const char* key;
    bool belongs;
  };
  const std::array parameters = {Parameter{"alpha", has_alpha(law)},
                                 Parameter{"sigma_group", law == Law::two_level_lognormal},
                                 Parameter{"sigma_expert", law == Law::two_level_lognormal},
                                 Parameter{"groups", law == Law::two_level_lognormal},
                                 Parameter{"counts", law == Law::replay},
                                 Parameter{"trace", law == Law::replay}};
  for (const Parameter& parameter : parameters) {
    if (parameter.belongs || !routing->has(parameter.key)) continue;
    std::string name;
    for (const auto& [text, value] : kLaws) {
      if (value == law) name = text;
    }
    routing->complain(parameter.key, "the law " + name + " has no " + parameter.key,
                      "name the law that has it");
  }
  if (has_alpha(law) && !routing->has("alpha")) routing->complain("alpha", "is missing");
  if (law == Law::replay && !routing->has("counts")) {
    routing->complain("counts", "is missing", "a CSV file of tokens per layer and expert");
  }
}

}  // namespace

std::vector<std::string> routing_law_names() {
  std::vector<std::string> names;
  for (const auto& [name, law] : kLaws) names.push_back(name);
  return names;
}

void read_routing(ConfigReader routing, int router_groups, RoutingConfig* config,
                  std::vector<std::string>* warnings) {
  const auto law = routing.one_of<Law>("law", kLaws);
  config->assumed = !routing.has("law");
  config->law = law.value_or(Law::two_level_lognormal);
  config->alpha = routing.optional<double>("alpha", {0, 10}).value_or(0);
  const bool two_level = config->law == Law::two_level_lognormal;
  config->groups =
      routing.optional<int>("groups", {1, 4096}).value_or(two_level ? router_groups : 1);
  config->sigma_group = routing.optional<double>("sigma_group", {0, 10})
                            .value_or(two_level && config->groups > 1 ? kSigmaGroup : 0);
  config->sigma_expert =
      routing.optional<double>("sigma_expert", {0, 10}).value_or(two_level ? kSigmaExpert : 0);
  if (const auto counts = routing.optional<std::string>("counts")) {
    config->counts = path_from(*routing.raw("counts"), *counts);
  }
  config->trace = routing.optional<std::string>("trace").value_or("");
  config->exact = routing.optional<bool>("exact").value_or(false);
  config->sample_layers = routing.optional<int>("sample_layers", {0, 10'000}).value_or(0);
  if (law || config->assumed) check_parameters(&routing, config->law);
  if (config->assumed) {
    warnings->push_back(
        "routing: no law given; assumed two_level_lognormal with the spread of DeepSeek-V3/R1's "
        "recorded decode loads");
  }
}

}  // namespace plateau
