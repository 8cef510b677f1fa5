#include <cmath>

#include "calibration/csv.h"
#include "sim/scenario/overlay.h"
#include "sim/scenario/sections.h"
#include "sim/scenario/unmodelled.h"

namespace plateau {

namespace {

using Client = WorkloadConfig::Client;
using Law = LengthConfig::Law;

const ConfigReader::Choices<Law> kLengthLaws = {{"fixed", Law::fixed},
                                                {"sglang_uniform", Law::sglang_uniform},
                                                {"vllm_uniform", Law::vllm_uniform},
                                                {"jitter", Law::jitter}};

constexpr double kMostPerClient = 1e6;

void read_law(ConfigReader length, LengthConfig* config) {
  const auto law = length.one_of<Law>("law", kLengthLaws);
  if (!length.has("law"))
    length.complain("law", "is missing", "fixed, sglang_uniform, vllm_uniform or jitter");
  if (!length.has("tokens")) length.complain("tokens", "is missing", "write tokens: 128 tokens");
  config->law = law.value_or(Law::fixed);
  config->tokens = static_cast<int>(
      length.tokens("tokens", {1, kLongestRequest}, ConfigReader::TokenUnit::required).value_or(1));
  const auto ratio = length.optional<double>("ratio", {0, 1});
  config->ratio = ratio.value_or(0);
  if (!law) return;
  if (*law == Law::fixed && ratio)
    length.complain("ratio", "a fixed length has no ratio", "name another law");
  if (*law != Law::fixed && !length.has("ratio")) {
    length.complain("ratio", "is missing",
                    "the engines' random_range_ratio, 0 to 1; it means different things to each");
  }
}

// `128 tokens`, or {law: sglang_uniform, tokens: 128 tokens, ratio: 0.5}.
void read_length(ConfigReader* workload, const char* key, LengthConfig* config) {
  const ConfigNode* node = workload->raw(key);
  if (node == nullptr) {
    workload->complain(key, "is missing", "write " + std::string(key) + ": 128 tokens");
  } else if (node->kind == ConfigNode::Kind::map) {
    read_law(workload->section(key), config);
  } else {
    config->tokens = static_cast<int>(
        workload->tokens(key, {1, kLongestRequest}, ConfigReader::TokenUnit::required).value_or(1));
  }
}

// "3 per client" -> 3; nothing for other text.
std::optional<double> parse_per_client(const std::string& text) {
  const std::size_t space = text.find(' ');
  if (space == std::string::npos || text.substr(space) != " per client") return std::nullopt;
  return parse_number(text.substr(0, space));
}

void read_requests(ConfigReader* workload, WorkloadConfig* config) {
  const ConfigNode* node = workload->raw("requests");
  config->requests_given = node != nullptr;
  if (node == nullptr) {
    if (config->client != Client::trace)
      workload->complain("requests", "is missing", "write a count, or `3 per client`");
    return;
  }
  if (node->kind != ConfigNode::Kind::scalar || node->text.find("per") == std::string::npos) {
    config->requests = workload->optional<std::int64_t>("requests", {1, kMostRequests}).value_or(1);
    return;
  }
  const auto per_client = parse_per_client(node->text);
  if (!per_client) {
    workload->complain("requests", "`" + node->text + "` is not understood",
                       "write a count, or `3 per client`");
    return;
  }
  if (config->client != Client::closed_loop) {
    workload->complain("requests", "an open loop has no number of clients", "write a count");
    return;
  }
  const double total = std::ceil(*per_client * config->concurrency);
  if (*per_client <= 0 || *per_client > kMostPerClient ||
      total > static_cast<double>(kMostRequests)) {
    workload->complain("requests", "`" + node->text + "` is outside the range 1 to " +
                                       std::to_string(kMostRequests) + " requests in all");
    return;
  }
  config->requests_per_client = *per_client;
  config->requests = static_cast<std::int64_t>(total);
}

// Lengths come from a trace, or else both keys are due.
void read_lengths(ConfigReader* workload, WorkloadConfig* config) {
  for (const auto& [key, length] :
       {std::pair<const char*, LengthConfig*>{"input_length", &config->input},
        {"output_length", &config->output}}) {
    if (config->client != Client::trace) {
      read_length(workload, key, length);
    } else if (workload->raw(key) != nullptr) {
      workload->complain(key, "a trace has its own lengths",
                         "remove it (`~` takes an inherited one away)");
    }
  }
}

void read_rate(ConfigReader* workload, WorkloadConfig* config) {
  config->request_rate = workload->quantity("request_rate", Dimension::rate, {1e-6, 1e6});
  const auto burstiness = workload->optional<double>("burstiness", {1e-3, 1e3});
  config->burstiness = burstiness.value_or(1);
  const bool random = config->client == Client::poisson || config->client == Client::gamma;
  if (random && !workload->has("request_rate")) {
    workload->complain("request_rate", "is missing", "write request_rate: 4 requests/s");
  }
  if (!random && workload->has("request_rate")) {
    const bool trace = config->client == Client::trace;
    workload->complain(
        "request_rate", trace ? "a trace has its own rate" : "a closed loop has no request rate",
        trace ? "write rate_scale: 2 for twice the load" : "give concurrency, or client: poisson");
  }
  if (config->client == Client::gamma && !workload->has("burstiness")) {
    workload->complain("burstiness", "is missing",
                       "the gamma shape: 1 is Poisson, below 1 comes in bursts");
  }
  if (config->client != Client::gamma && burstiness) {
    workload->complain("burstiness", "only gamma arrivals have a burstiness");
  }
}

void read_trace_keys(ConfigReader* workload, WorkloadConfig* config) {
  const bool trace = config->client == Client::trace;
  if (const auto file = workload->optional<std::string>("trace")) {
    config->trace = path_from(*workload->raw("trace"), *file);
  }
  config->rate_scale = workload->optional<double>("rate_scale", {1e-6, 1e6}).value_or(1);
  config->drop_oversized = workload->choose("oversized", {"refuse", "drop"}) == 1;
  if (trace && !workload->has("trace")) {
    workload->complain("trace", "is missing", "a CSV of arrival_ms, input_tokens, output_tokens");
  }
  for (const char* key : {"trace", "rate_scale", "oversized"}) {
    if (!trace && workload->has(key)) workload->complain(key, "only client: trace reads a trace");
  }
}

void read_concurrency(ConfigReader* workload, WorkloadConfig* config) {
  const bool closed = config->client == Client::closed_loop;
  const auto concurrency = workload->optional<int>("concurrency", {1, kMostClients});
  config->concurrency = concurrency.value_or(1);
  if (closed && !workload->has("concurrency"))
    workload->complain("concurrency", "is missing", "the number of clients");
  if (!closed && workload->has("concurrency")) {
    workload->complain("concurrency", "an open loop has no number of clients",
                       "remove it (`~` takes an inherited one away), or write client: closed_loop");
  }
}

}  // namespace

void read_workload(ConfigReader workload, WorkloadConfig* config) {
  refuse_unmodelled("workload", &workload);
  config->client = workload
                       .one_of<Client>("client", {{"closed_loop", Client::closed_loop},
                                                  {"poisson", Client::poisson},
                                                  {"gamma", Client::gamma},
                                                  {"trace", Client::trace}})
                       .value_or(Client::closed_loop);
  read_concurrency(&workload, config);
  read_requests(&workload, config);
  read_lengths(&workload, config);
  config->ignore_eos = workload.optional<bool>("ignore_eos").value_or(true);
  read_rate(&workload, config);
  read_trace_keys(&workload, config);
  if (workload.has("random_range_ratio")) {
    workload.raw("random_range_ratio");
    workload.complain("random_range_ratio", "means different things to SGLang and vLLM",
                      "write output_length: {law: sglang_uniform, tokens: 128 tokens, ratio: 1.0}");
  }
}

}  // namespace plateau
