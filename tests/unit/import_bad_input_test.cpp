// Input that cannot be taken, or only in part: each case says file, line and what to do.
#include <doctest/doctest.h>

#include <cstdlib>

#include "calibration/import/write_measurement.h"
#include "tests/support/import_support.h"

using namespace plateau::imports;

namespace {

std::string refusal(const std::string& text, const std::vector<std::string>& columns = {}) {
  return input_error_of([&] { import_text(text, "run.log", columns); });
}

bool says(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("said instead: " << text);
  return found;
}

const char* const kDecode =
    "[2026-01-02 03:00:00 TP0] Decode batch, #running-req: 6, #token: 1920, token usage: 0.94, "
    "cuda graph: "
    "True, gen throughput (token/s): 446.45, #queue-req: 5\n";
const char* const kVllm =
    "INFO 03-17 15:38:10 [loggers.py:1] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg "
    "generation "
    "throughput: 18.1 tokens/s, Running: 10 reqs, Waiting: 90 reqs, GPU KV cache usage: 19.3%\n";

}  // namespace

TEST_CASE("empty, blank, unknown and missing files are refused with a sentence") {
  CHECK(says(refusal(""), "run.log: is empty"));
  CHECK(says(refusal("\n \n"), "is empty"));
  CHECK(says(refusal("hello world\n"), "of no known format: text that begins with 'hello world'"));
  CHECK(says(refusal("{\"a\": 1, \"b\": 2}\n"), "JSON with the keys a, b"));
  CHECK(says(input_error_of([] { import_files({{"/no/such/file.log"}, {}}); }), "cannot be read"));
}

TEST_CASE("binary files and other encodings are named with the way out") {
  CHECK(says(refusal(std::string("ab\0cd", 5) + kDecode), "is binary"));
  CHECK(says(refusal("PAR1xxxx"), "Parquet"));
  CHECK(says(refusal(std::string("SQLite format 3\0rest", 20)), "nsys stats"));
  CHECK(says(refusal("PK\x03\x04rest"), "zip"));
  std::string wide = "\xff\xfe";
  for (const char* c = kDecode; *c != '\0'; ++c) wide += std::string(1, *c) + '\0';
  CHECK(says(refusal(wide), "UTF-16"));
  CHECK(says(refusal(wide.substr(2)), "iconv -f UTF-16 -t UTF-8"));  // without the mark
}

TEST_CASE("CR LF and a UTF-8 mark are read as they are meant") {
  std::string text = std::string("\xef\xbb\xbf") + kDecode;
  text.insert(text.size() - 1, "\r");
  const auto rows = rows_of(import_text(text), "decode");
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].at("queue_requests") == 5);
}

TEST_CASE("two engines in one file are refused at the line where the second begins") {
  CHECK(says(refusal(std::string(kDecode) + kVllm), "run.log:2: a vLLM line in an SGLang log"));
  CHECK(says(refusal(std::string(kVllm) + kVllm + kDecode),
             "run.log:3: an SGLang line in a vLLM log"));
}

TEST_CASE("two servers in one log are told apart by their pools") {
  const std::string first =
      "[2026-01-02 03:00:00 TP0] max_total_num_tokens=1000, chunked_prefill_size=8192\n";
  const std::string second =
      "[2026-01-02 04:00:00 TP0] max_total_num_tokens=2000, chunked_prefill_size=8192\n";
  const Measurement m = import_text(first + kDecode + second);
  CHECK(warned(
      m, "t.log:3: another pool size (2000 tokens; line 1 says 1000): two servers in one log"));
  CHECK(fact_of(m, "kv_capacity_tokens") == 1000);
}

TEST_CASE("a table of whole runs is neither requests nor samples of a GPU") {
  for (const char* column : {"concurrency", "max_num_seqs", "num_gpus", "tp_size"}) {
    const std::string head = std::string(column) + ",";
    CHECK(says(refusal(head + "isl,osl,ttft_ms\n8,1024,128,40\n"), "a table of whole runs"));
    CHECK(says(refusal(head + "gpu,avg_power_watts\n8,H100,2828.5\n"),
               "by its column '" + std::string(column) + "'"));
  }
}

TEST_CASE("the digits of a product's name are no GPU's number") {
  const auto gpu_of = [](const std::string& cell) {
    const auto rows = rows_of(
        import_text("timestamp,gpu,power_draw_w\n1777241046.5," + cell + ",300\n"), "gpu_samples");
    REQUIRE(rows.size() == 1);
    return rows[0].has("gpu") ? rows[0].at("gpu") : -1;
  };
  for (const char* cell : {"3", "GPU 3", "gpu3", "card3", "cuda:3", "nvidia3"})
    CHECK_MESSAGE(gpu_of(cell) == 3, cell);
  for (const char* cell : {"H100", "B200", "NVIDIA H100", "RTX 6000", "MI300X"})
    CHECK_MESSAGE(gpu_of(cell) == -1, cell);
}

TEST_CASE("what another tool printed into a server's log is pointed at") {
  const std::string table = "============ Serving Benchmark Result ============\n";
  const std::string smi = "| NVIDIA-SMI 580.1   Driver Version: 580.1   CUDA Version: 13.0 |\n";
  for (const std::string& log : {std::string(kDecode), std::string(kVllm)}) {
    for (const std::string& other : {table, smi}) {
      const auto warnings = import_text(log + other).files[0].warnings;
      REQUIRE(warnings.size() == 1);
      CHECK(says(warnings[0], ":2: "));
      CHECK(says(warnings[0], "stands in this log: save it as a file of its own"));
    }
  }
}

TEST_CASE("a clock that goes back is named with its line") {
  std::string earlier = kDecode;
  earlier.replace(earlier.find("03:00:00"), 8, "02:00:00");
  CHECK(warned(import_text(kDecode + earlier), "t.log:2: the clock goes back by 3600 s here"));
  const std::string power =
      "timestamp, index, power.draw [W]\n2026/01/02 03:00:10.000, 0, 100.00 W\n2026/01/02 "
      "03:00:00.000, 0, 100.00 W\n";
  CHECK(warned(import_text(power), "t.log:3: the clock goes back by 10 s here"));
}

TEST_CASE("a record that stands twice for one rank counts once") {
  const Measurement m = import_text(std::string(kDecode) + kDecode);
  CHECK(rows_of(m, "decode").size() == 1);
  REQUIRE(m.files[0].ignored.size() == 1);
  CHECK(m.files[0].ignored[0].first_line == 2);
  CHECK(m.files[0].rows == 1);
}

TEST_CASE("power without a unit is refused, whatever the layout") {
  const std::string header = "timestamp, index, power.draw\n2026/01/02 03:00:00.000, 0, 241.07\n";
  CHECK(says(refusal(header), "run.log:2: column 'power.draw' has no unit"));
  CHECK(says(refusal(header), "--columns"));
  CHECK(
      says(refusal("0, 241.07, 100, 2362\n1, 233.94, 100, 2407\n"), "neither a header nor units"));
  CHECK(refusal("0, 241.07, 100, 2362\n",
                {"index", "power.draw [W]", "utilization.gpu [%]", "clocks.sm [MHz]"}) == "");
  CHECK(says(refusal("request=1 prompt_tokens=128 output_tokens=64 latency=2.5\n"),
             "a time without a unit"));
  CHECK(
      says(refusal("input_tokens,output_tokens,ttft\n1,2,3\n"), "'ttft' is a time without a unit"));
}

TEST_CASE("a value cut at the end of a line is missing, not shorter") {
  const std::string record(kDecode);
  const std::string cut = record.substr(0, record.find("446.45") + 2) + "\n" + record;
  const auto rows = rows_of(import_text(cut), "decode");
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].at("running_requests") == 6);
  CHECK_FALSE(rows[0].has("gen_throughput_tok_per_s"));
  CHECK(rows[1].at("gen_throughput_tok_per_s") == 446.45);
  // Two writers on one line: the first record lost its end.
  std::string later = record;
  later.replace(later.find("03:00:00"), 8, "03:00:04");
  const auto joined = rows_of(import_text(record.substr(0, record.size() - 1) + later), "decode");
  REQUIRE(joined.size() == 2);
  CHECK_FALSE(joined[0].has("queue_requests"));
  CHECK(joined[1].at("queue_requests") == 5);
}

TEST_CASE("a number split over two lines is either joined or missing") {
  const std::string record(kDecode);
  const std::string split =
      record.substr(0, record.find("446.45") + 2) + "\n" + record.substr(record.find("446.45") + 2);
  const auto rows = rows_of(import_text(split), "decode");
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].at("gen_throughput_tok_per_s") == 446.45);
  const auto ambiguous = rows_of(import_text(record + "12\n"), "decode");
  REQUIRE(ambiguous.size() == 1);
  CHECK_FALSE(ambiguous[0].has("queue_requests"));
}

TEST_CASE("gzip cut off or damaged gives what stood before, with a warning") {
  std::string text;
  for (int i = 0; i < 3000; ++i) {
    std::string record(kDecode);
    text +=
        record.replace(record.find("446.45"), 6, std::to_string(1000 + i * 7919 % 9000) + ".25");
  }
  const std::string packed = gzipped(text);
  const Measurement cut = import_text(packed.substr(0, packed.size() / 2));
  CHECK(cut.find("decode")->rows() > 100);
  CHECK(cut.find("decode")->rows() < 3000);
  CHECK(warned(cut, "the gzip data is cut off"));
  std::string damaged = packed;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 0x55);
  damaged[damaged.size() / 2 + 1] = static_cast<char>(damaged[damaged.size() / 2 + 1] ^ 0x55);
  const Measurement broken = import_text(damaged);
  CHECK(warned(broken, "the gzip data is damaged"));
}

TEST_CASE("broken JSON names its line; a broken line of JSON Lines spoils only itself") {
  CHECK(says(refusal("{\"traceEvents\": [\n{\"ph\": \"X\",, }\n]}\n"), "run.log:2: is not JSON"));
  const std::string lines =
      "{\"backend\": \"sglang\", \"duration\": 1.5, \"completed\": 10}\n{\"backend\": \"sglang\", "
      "\"duration\": 2.\n"
      "{\"backend\": \"sglang\", \"duration\": 3.5, \"completed\": 30}\n";
  const auto runs = rows_of(import_text(lines), "bench_runs");
  REQUIRE(runs.size() >= 2);
  CHECK(runs.front().at("duration_s") == 1.5);
  CHECK(runs.back().at("completed_requests") == 30);
  CHECK(says(refusal(std::string(300, '[')), "JSON"));
}

TEST_CASE("a name with bytes that are no UTF-8 can still be written") {
  const Measurement m = import_text(
      "index, name, power.draw [W]\n0, G\xe9"
      "ant, 100.00 W\n",
      "caf\xe9"
      ".csv");
  std::string text;
  write_json(m, [&](std::string_view part) { text += part; });
  CHECK(says(text, "ant\""));
}

TEST_CASE("of a folder only the kernel tables are taken") {
  ImportOptions options;
  options.files = {std::string(PLATEAU_SOURCE_DIR) + "/tests/data/import"};
  const Measurement m = import_files(options);
  REQUIRE(m.files.size() == 1);
  CHECK(m.files[0].kind == "kernel_table");
  options.files = {std::string(PLATEAU_SOURCE_DIR) + "/docs"};
  CHECK(says(input_error_of([&] { import_files(options); }), "is a folder without a kernel table"));
}

TEST_CASE("every file that cannot be imported is named, all together") {
  const std::string message = input_error_of([] {
    import_files({{"/no/such/a.log", own_sample("sglang-0.4.6.log"), "/no/such/b.log"}, {}});
  });
  CHECK(says(message, "/no/such/a.log"));
  CHECK(says(message, "/no/such/b.log"));
}
