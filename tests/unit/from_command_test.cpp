#include "sim/scenario/from_command.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "calibration/config_node.h"
#include "sim/scenario/launch_flags.h"
#include "sim/scenario/read_scenario.h"

using namespace plateau;

namespace {

ScenarioDraft draft(const std::string& command, const std::string& device = "h200-sxm") {
  DraftOptions options;
  options.models = {"glm-5-nvfp4", "qwen3-30b-a3b"};
  options.profiles = {"h200-sxm/sglang-0.5.14", "h200-sxm/torch-2.11-bf16"};
  options.device = device;
  return draft_scenario(imports::parse_launch_script(command, ""), options);
}

std::string value_of(const ScenarioDraft& draft, const std::string& key) {
  for (const DraftKey& entry : draft.keys) {
    if (entry.key == key) return entry.value;
  }
  return "";
}

bool lists(const std::vector<FlagReason>& reasons, const std::string& flag) {
  return std::any_of(reasons.begin(), reasons.end(),
                     [&](const FlagReason& reason) { return reason.flag == flag; });
}

bool holds(const std::vector<std::string>& texts, const std::string& part) {
  return std::any_of(texts.begin(), texts.end(),
                     [&](const std::string& text) { return text.find(part) != std::string::npos; });
}

const std::string kServer =
    "python -m sglang.launch_server --model-path Qwen/Qwen3-30B-A3B --tp 2 --max-running-requests "
    "512 "
    "--disable-cuda-graph --port 30000 --attention-backend fa3";
const std::string kBench =
    "\npython -m sglang.bench_serving --backend sglang --dataset-name random --num-prompts 64 "
    "--random-input-len 128 --random-output-len 64 --random-range-ratio 1 --max-concurrency 16";

}  // namespace

TEST_CASE("every flag of a command has one place: a key, no effect, or a warning") {
  const ScenarioDraft made = draft(kServer + " --frobnicate 3 --speculative-num-steps 3" + kBench);
  CHECK(value_of(made, "model") == "qwen3-30b-a3b");
  CHECK(value_of(made, "parallel.tp") == "2");
  CHECK(value_of(made, "hardware.count") == "2");
  CHECK(value_of(made, "hardware.interconnect") == "nvlink");
  CHECK(value_of(made, "engine.kind") == "sglang");
  CHECK(value_of(made, "engine.max_running_requests") == "512");
  CHECK(value_of(made, "engine.disable_cuda_graph") == "true");
  CHECK(value_of(made, "workload.concurrency") == "16");
  CHECK(value_of(made, "workload.requests") == "64");
  CHECK(value_of(made, "workload.input_length") == "128 tokens");
  CHECK(value_of(made, "workload.output_length") == "64 tokens");
  CHECK(value_of(made, "calibration.profile") == "h200-sxm/sglang-0.5.14");
  CHECK(lists(made.immaterial, "--port"));
  CHECK(lists(made.immaterial, "--attention-backend"));
  CHECK(made.unknown == std::vector<std::string>{"--frobnicate"});
  REQUIRE(made.warnings.size() == 2);
  CHECK(holds(made.warnings, "--frobnicate: unknown flag"));
  CHECK(holds(made.warnings, "--speculative-num-steps: not modelled"));
  CHECK(made.open.empty());
}

TEST_CASE("a drafted scenario reads without a complaint") {
  const ScenarioDraft made = draft(kServer + kBench);
  ScenarioOptions options;
  options.load_model = [](const std::string&) { return ModelSpec{}; };
  const Scenario scenario =
      scenario_from(parse_yaml(made.yaml, "draft.yaml"), "draft.yaml", options);
  CHECK(scenario.engine.max_running_requests == 512);
  CHECK(scenario.engine.disable_cuda_graph);
  CHECK(scenario.parallel.tp == 2);
  CHECK(scenario.workload.concurrency == 16);
  CHECK(scenario.workload.output.tokens == 64);
  CHECK(scenario.workload.requests == 64);
}

TEST_CASE("flags that the engine itself ignores are called out and still become keys") {
  const ScenarioDraft made = draft(kServer + " --num-continuous-decode-steps 8");
  CHECK(lists(made.ignored_by_engine, "--num-continuous-decode-steps"));
  CHECK(value_of(made, "engine.num_continuous_decode_steps") == "8");
  CHECK(made.warnings.empty());
  DraftOptions old;
  old.engine_version = "0.3.5";  // there it did something
  const auto script =
      imports::parse_launch_script(kServer + " --num-continuous-decode-steps 8", "");
  CHECK(draft_scenario(script, old).ignored_by_engine.empty());
  const ScenarioDraft policy = draft(kServer + " --schedule-policy lpm --disable-radix-cache");
  CHECK(lists(policy.ignored_by_engine, "--schedule-policy"));
}

TEST_CASE("what the command does not say is left open, what is assumed is told") {
  const ScenarioDraft made =
      draft("python -m sglang.launch_server --model-path my/model-x --tp 4", "");
  CHECK(value_of(made, "model") == "~");
  CHECK(value_of(made, "hardware.device") == "~");
  CHECK(holds(made.open, "model: no shipped spec is named `model-x`"));
  CHECK(holds(made.open, "hardware.device"));
  CHECK(holds(made.open, "hardware.interconnect"));
  CHECK(holds(made.open, "workload.concurrency"));
  CHECK(holds(made.notes, "engine.version: not in the command"));
  const ScenarioDraft staged = draft("export NCCL_P2P_DISABLE=1\n" + kServer);
  CHECK(value_of(staged, "hardware.interconnect") == "pcie_host_staged");
  const ScenarioDraft image = draft("docker run lmsysorg/sglang:v0.5.6 " + kServer);
  CHECK(value_of(image, "engine.version") == "0.5.6");
}

TEST_CASE("the two benchmarks mean different things by the same words") {
  const ScenarioDraft sglang = draft(
      "python -m sglang.bench_serving --dataset-name random --random-input-len 100 "
      "--random-output-len 50");
  CHECK(value_of(sglang, "workload.input_length") ==
        "{law: sglang_uniform, tokens: 100 tokens, ratio: 0}");
  CHECK(value_of(sglang, "workload.ignore_eos") == "true");
  CHECK(value_of(sglang, "workload.requests") == "1000");
  CHECK(value_of(sglang, "workload.concurrency") == "1000");
  const ScenarioDraft vllm =
      draft("vllm bench serve --random-input-len 100 --random-output-len 50");
  CHECK(value_of(vllm, "workload.input_length") == "100 tokens");
  CHECK(value_of(vllm, "workload.ignore_eos") == "false");
  const ScenarioDraft rate =
      draft("vllm bench serve --request-rate 2.5 --burstiness 0.5 --max-concurrency 9");
  CHECK(value_of(rate, "workload.client") == "gamma");
  CHECK(value_of(rate, "workload.request_rate") == "2.5 requests/s");
  CHECK(value_of(rate, "workload.burstiness") == "0.5");
  CHECK(holds(rate.warnings, "--max-concurrency: not modelled together with a request rate"));
  const ScenarioDraft data = draft("python -m sglang.bench_serving --dataset-name sharegpt");
  CHECK(value_of(data, "workload.input_length") == "~");
  CHECK(holds(data.open, "the lengths are those of the data set sharegpt"));
}

TEST_CASE("what is not modelled yet is written and named, not dropped") {
  const ScenarioDraft made = draft(kServer + " --ep 2 --enable-eplb --speculative-algorithm EAGLE");
  CHECK(value_of(made, "parallel.ep") == "2");
  CHECK(value_of(made, "engine.enable_eplb") == "true");
  CHECK(holds(made.notes, "--ep is not modelled yet"));
  CHECK(holds(made.notes, "--enable-eplb is not modelled yet"));
  CHECK(holds(made.notes, "--speculative-algorithm is not modelled yet"));
  const ScenarioDraft vllm = draft("vllm serve a/b --max-num-seqs 64");
  CHECK(value_of(vllm, "engine.kind") == "vllm");
  CHECK(value_of(vllm, "engine.max_num_seqs") == "64");
  CHECK(holds(vllm.notes, "a run refuses engine.kind vllm"));
}

TEST_CASE("of a flag given twice the last one counts, as for the engine") {
  const ScenarioDraft made =
      draft(kServer + " --max-running-requests 64 --page-size 1 --page-size 64");
  CHECK(value_of(made, "engine.max_running_requests") == "64");
  CHECK(value_of(made, "engine.page_size") == "64");
  CHECK(holds(made.notes, "--page-size is given twice"));
  CHECK(parse_yaml(made.yaml, "").find("engine") != nullptr);  // no key stands twice
}

TEST_CASE("values that could break the text are quoted, secrets stay out") {
  const ScenarioDraft made =
      draft("export HF_TOKEN=abc123\n" + kServer + " --api-key s3cret --kv-cache-dtype 'a: b # c'");
  CHECK(made.yaml.find("kv_cache_dtype: \"a: b # c\"") != std::string::npos);
  CHECK(made.yaml.find("abc123") == std::string::npos);
  CHECK(made.yaml.find("s3cret") == std::string::npos);
  CHECK(parse_yaml(made.yaml, "").find("engine") != nullptr);
  const ScenarioDraft odd = draft("X='a\nmodel: b'\n" + kServer + " --no-$X");
  CHECK(value_of(odd, "model") == "qwen3-30b-a3b");
  CHECK(parse_yaml(odd.yaml, "").find("model")->text == "qwen3-30b-a3b");
}

TEST_CASE("a value that is not understood leaves its key open, and no default in its place") {
  struct Flag {
    const char* flag;
    const char* value;
    const char* key;
  };
  const Flag flags[] = {{"--num-prompts", "64", "workload.requests"},
                        {"--max-concurrency", "16", "workload.concurrency"},
                        {"--random-input-len", "128", "workload.input_length"},
                        {"--random-output-len", "64", "workload.output_length"},
                        {"--random-range-ratio", "1", "workload.output_length"},
                        {"--tp", "2", "parallel.tp"}};
  for (const Flag& flag : flags) {
    for (const char* unread : {"$N", "$((n*10))", "many"}) {
      std::string text = kServer + kBench;
      const std::string given = std::string(flag.flag) + " " + flag.value;
      text.replace(text.find(given), given.size(), std::string(flag.flag) + " '" + unread + "'");
      const ScenarioDraft made = draft(text);
      CAPTURE(text);
      CHECK(value_of(made, flag.key) == "~");
      CHECK(holds(made.open, flag.key));
      CHECK(holds(made.warnings, std::string(flag.flag) + ": its value is not understood"));
    }
  }
  const ScenarioDraft rate = draft(kServer + kBench + " --request-rate '$RATE'");
  CHECK(value_of(rate, "workload.client") == "~");
  CHECK(value_of(rate, "workload.request_rate").empty());
  CHECK(holds(rate.open, "workload.client"));
  const ScenarioDraft all = draft(kServer + kBench + " --request-rate inf");
  CHECK(value_of(all, "workload.client") == "closed_loop");
}

TEST_CASE("a flag with a number of any size becomes YAML that parses") {
  const std::string command = kServer + kBench;
  int changed = 0;
  for (std::size_t at = 1; at < command.size(); ++at) {
    if (command[at - 1] != ' ' || command[at] < '0' || command[at] > '9') continue;
    const std::size_t end = command.find_first_not_of("0123456789", at);
    for (const char* odd : {"1e84", "-1e84", "9223372036854775808", "0.5"}) {
      const std::string text =
          command.substr(0, at) + odd + (end == std::string::npos ? "" : command.substr(end));
      CAPTURE(text);
      CHECK_NOTHROW(parse_yaml(draft(text).yaml, "draft.yaml"));
      ++changed;
    }
  }
  CHECK(changed == 4 * 8);
}
