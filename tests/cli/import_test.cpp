// `plateau import`: transcripts.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "calibration/csv.h"
#include "tests/support/run_plateau.h"

using plateau::CsvTable;
using plateau::write_file;
using plateau::test::run_plateau;
using plateau::test::TemporaryFolder;
using plateau::test::Transcript;

namespace {

const std::string kSamples = std::string(PLATEAU_SOURCE_DIR) + "/tests/data/import/";

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Lines that go on further in, joined again.
std::string unfolded(const std::string& text) {
  std::string result;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n';
    if (!blank || (!result.empty() && result.back() != ' ')) result += blank ? ' ' : c;
  }
  return result;
}

}  // namespace

TEST_CASE("plateau import tells what it recognised and writes one file") {
  const TemporaryFolder folder;
  const std::string out = folder.path("run.csv");
  const Transcript transcript = run_plateau("import " + kSamples + "sglang-0.4.6.log " + kSamples +
                                            "nvidia-smi-header.csv --out " + out);
  CHECK(transcript.code == 0);
  const std::string told = unfolded(transcript.out);
  CHECK(contains(told, kSamples + "sglang-0.4.6.log: sglang_log, engine sglang, 0.4.6 or older"));
  CHECK(contains(told, "12 records, 2 GPUs or ranks, 2025-04-02 10:00:00 to 2025-04-02 10:01:04"));
  CHECK(contains(transcript.out, "ignored: 1 lines of other messages, first at line 10"));
  CHECK(contains(transcript.out, "model: example/moe-small"));
  CHECK(contains(transcript.out, "KV pool, tokens: 120000"));
  CHECK(contains(transcript.out, "nvidia_smi_csv"));
  CHECK(transcript.err.empty());
  const CsvTable table = CsvTable::read(out);  // the strict reader takes it
  const std::size_t power = table.column("power_w");
  const std::size_t throughput = table.column("gen_throughput_tok_per_s");
  int powers = 0;
  int throughputs = 0;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    powers += table.optional_number(row, power).has_value() ? 1 : 0;
    throughputs += table.optional_number(row, throughput).has_value() ? 1 : 0;
  }
  CHECK(powers == 2);  // the third sample is [N/A]
  CHECK(throughputs == 2);
}

TEST_CASE("plateau import --json - keeps the standard output for the JSON") {
  const Transcript transcript = run_plateau("import " + kSamples + "sglang-2026-05.log --json -");
  CHECK(transcript.code == 0);
  const nlohmann::json json = nlohmann::json::parse(transcript.out);
  CHECK(json["schema"] == "plateau-import/1");
  CHECK(json["files"][0]["kind"] == "sglang_log");
  CHECK(json["files"][0]["engine"] == "sglang");
  CHECK(json["facts"]["kv_capacity_tokens"] == 495488);
  CHECK(json["facts"]["max_running_requests"] == 2048);
  CHECK(json["facts"]["weights_gib"] == 57.25);
  CHECK(json["series"]["decode"]["rows"].size() == 3);
  CHECK(contains(transcript.err, "11 records"));
  const Transcript quiet =
      run_plateau("import " + kSamples + "sglang-2026-05.log --json - --quiet");
  CHECK(quiet.out == transcript.out);
  CHECK(quiet.err.empty());
}

TEST_CASE("plateau import refuses what it cannot read, and its own input as output") {
  const TemporaryFolder folder;
  const std::string power = folder.path("power.csv");
  write_file(power, "timestamp, index, power.draw\n2026/01/02 03:00:00.000, 0, 241.07\n");
  const Transcript unitless = run_plateau("import " + power + " --json -");
  CHECK(unitless.code == 2);
  CHECK(unitless.out.empty());
  CHECK(contains(unitless.err, power + ":2: column 'power.draw' has no unit"));
  const Transcript named = run_plateau(
      "import " + power + " --json - --quiet --columns 'timestamp,index,power.draw [W]'");
  CHECK(named.code == 0);
  CHECK(contains(named.out, "241.07"));
  const Transcript itself = run_plateau("import " + power + " --out " + power);
  CHECK(itself.code == 2);
  CHECK(contains(itself.err, "is one of the files to import"));
  const Transcript ending =
      run_plateau("import " + kSamples + "dmon.txt --out " + folder.path("x.txt"));
  CHECK(ending.code == 2);
  CHECK(contains(ending.err, "ends neither in .csv nor in .json"));
  CHECK_FALSE(std::filesystem::exists(folder.path("x.txt")));
}

TEST_CASE("plateau import --strict refuses a file that needed a warning") {
  const Transcript transcript =
      run_plateau("import " + kSamples + "vllm-v0.log --json - --quiet --strict");
  CHECK(transcript.code == 3);
  CHECK(transcript.out.empty());
  CHECK(contains(transcript.err, "refused by --strict: "));
  CHECK(contains(transcript.err, "V0 engine"));
}

TEST_CASE("plateau scenario --from-command writes a scenario and says what became of each flag") {
  const std::string command =
      "'python -m sglang.launch_server --model-path Qwen/Qwen3-30B-A3B --port 30000 "
      "--num-continuous-decode-steps 4 --max-running-requests 256'";
  const Transcript transcript = run_plateau("scenario --device h200-sxm --from-command " + command);
  CHECK(transcript.code == 0);
  CHECK(contains(transcript.out, "model: qwen3-30b-a3b  # --model-path"));
  CHECK(contains(transcript.out, "  max_running_requests: 256  # --max-running-requests"));
  CHECK(contains(transcript.out, "  num_continuous_decode_steps: 4"));
  CHECK(contains(transcript.err, "no effect: --port"));
  CHECK(contains(transcript.err, "ignored by the engine: --num-continuous-decode-steps"));
  const std::string unknown =
      "'python -m sglang.launch_server --model-path Qwen/Qwen3-30B-A3B --frobnicate'";
  CHECK(run_plateau("scenario --from-command " + unknown).code == 0);
  const Transcript strict = run_plateau("scenario --strict --from-command " + unknown);
  CHECK(strict.code == 3);
  CHECK(strict.out.empty());
  CHECK(contains(strict.err, "refused by --strict: --frobnicate: unknown flag"));
  const Transcript json = run_plateau("scenario --json - --quiet --from-command " + unknown);
  CHECK(nlohmann::json::parse(json.out)["unknown"][0] == "--frobnicate");
  CHECK(run_plateau("scenario --from-command 'ls -la'").code == 2);
}

TEST_CASE("plateau scenario takes the benchmark's command apart from the server's, and --gpu") {
  const TemporaryFolder folder;
  const std::string server =
      "python -m sglang.launch_server --model-path Qwen/Qwen3-30B-A3B --tp 1";
  const std::string bench =
      "python -m sglang.bench_serving --dataset-name random --random-input-len 100 "
      "--random-output-len 50 --random-range-ratio 1 --num-prompts 64 --max-concurrency 8";
  const std::string words = "scenario --quiet --gpu h200-sxm --from-command ";
  const std::string apart = run_plateau(words + "'" + server + "' --bench '" + bench + "'").out;
  const std::string file = folder.write("bench.sh", "#!/bin/sh\n" + bench + "\n");
  CHECK(apart == run_plateau(words + "'" + server + " ; " + bench + "'").out);
  CHECK(apart == run_plateau(words + "'" + server + "' --bench " + file).out);
  CHECK(apart.find("concurrency: 8") != std::string::npos);
  CHECK(run_plateau("run " + folder.write("s.yaml", apart)).code == 0);
}

TEST_CASE("a scenario from a vLLM command can have its pool compared") {
  const TemporaryFolder folder;
  const std::string written =
      run_plateau(
          "scenario --quiet --gpu h200-sxm --from-command 'vllm serve "
          "MiniMaxAI/MiniMax-M2.5 --tensor-parallel-size 4 --max-num-seqs 128 "
          "--enable-prefix-caching --kv-cache-dtype fp8 --block-size 32'")
          .out;
  const std::string path = folder.write(
      "s.yaml", written + "measured: {source: a log, kv_bytes_per_token: 31744, kv_pool_gib: 9}\n");
  const auto done = run_plateau("validate " + path + " --set 'engine.kv_pool_memory=9 GiB'");
  CAPTURE(done.err);
  CHECK(done.code == 0);
  CHECK(done.out.find("31744      31744     +0.0 %") != std::string::npos);
}
