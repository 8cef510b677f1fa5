// Arrival traces: what is read, what is refused, and the share of prompts that repeats.
#include <doctest/doctest.h>

#include "sim/deployment/arrival_trace.h"
#include "tests/support/scenario_text.h"

using namespace plateau;
using namespace plateau::test;
using namespace std::chrono_literals;

namespace {

ArrivalTrace read(const std::string& text, std::int64_t rows = 0) {
  const TemporaryFolder folder;
  return read_arrival_trace(folder.write("t.csv", text), rows);
}

std::string problem_of(const std::string& text) {
  try {
    read(text);
  } catch (const InputError& error) {
    const Problem& problem = error.problems().front();
    return std::to_string(problem.line) + ": " + problem.message;
  }
  return "";
}

const std::string kHeader = "arrival_ms,input_tokens,output_tokens\n";

}  // namespace

TEST_CASE("a trace begins at its first row, whatever its clock said") {
  const ArrivalTrace trace = read(kHeader + "5000,374,44\n9315,396,109\n9315.5,879,55\n");
  REQUIRE(trace.rows.size() == 3);
  CHECK(trace.rows[0].arrival == 0ns);
  CHECK(trace.rows[1].arrival == 4315ms);
  CHECK(trace.rows[2].arrival == 4315500us);
  CHECK(trace.rows[2].input_tokens == 879);
  CHECK(trace.rows[2].output_tokens == 55);
  CHECK_FALSE(trace.repeated_prefix_share);
  CHECK(read(kHeader + "0,1,1\n1,1,1\n", 1).rows.size() == 1);
}

TEST_CASE("a trace that is not one is refused with its line") {
  CHECK(problem_of(kHeader) == "0: holds no request");
  CHECK(problem_of(kHeader + "10,5,5\n9,5,5\n") == "3: is earlier than the row above it");
  CHECK(problem_of(kHeader + "10,0,5\n") == "2: `0` is not a whole number of tokens from 1 on");
  CHECK(problem_of(kHeader + "10,5,2.5\n") == "2: `2.5` is not a whole number of tokens from 1 on");
  CHECK(problem_of(kHeader + "10,5,\n").substr(0, 3) == "2: ");
  CHECK(problem_of("arrival_ms,input_tokens,output_tokens,prefix_blocks\n0,600,5,3-1\n") ==
        "2: `3-1` is no list of blocks");
}

TEST_CASE("repeated prefixes: leading blocks that were sent before, cut at the prompt") {
  const ArrivalTrace trace = read(
      "arrival_ms,input_tokens,output_tokens,prefix_blocks\n"
      "0,1024,5,0-1\n"
      "0,1500,5,0-1 7\n"  // two of its blocks are known: 1,024 tokens
      "1,600,5,0 9\n"     // one: 512
      "2,500,5,9 0\n");   // both known, 1,024 cut to the prompt's 500
  CHECK(*trace.repeated_prefix_share == doctest::Approx((1024.0 + 512 + 500) / 3624));
}

TEST_CASE("a trace at twice the rate sends the same requests in half the time") {
  const auto trace = std::make_shared<ArrivalTrace>(read(kHeader + "0,10,2\n1000,20,3\n"));
  TraceArrivals twice(trace, 2);
  CHECK(twice.next()->sent == 0ns);
  const Request second = *twice.next();
  CHECK(second.id == 1);
  CHECK(second.sent == 500ms);
  CHECK(second.input_tokens == 20);
  CHECK(second.output_tokens == 3);
  CHECK(second.max_new_tokens == 3);
  CHECK_FALSE(twice.next());
}

TEST_CASE("third-party traces read whole when they are present") {
  const std::string folder = PLATEAU_SOURCE_DIR "/../shared/data/traces/";
  struct Known {
    const char* file;
    std::size_t rows;
    double span_s;
    double mean_input;
  };
  for (const Known& known : {Known{"azure_llm_2023_conv.csv.gz", 19366, 3501.722, 1155},
                             Known{"azure_llm_2023_code.csv.gz", 8819, 3435.948, 2048},
                             Known{"mooncake_fast25_conversation.csv.gz", 12031, 3536.999, 12035},
                             Known{"mooncake_fast25_synthetic.csv.gz", 3993, 1022.025, 15325}}) {
    if (!std::filesystem::exists(folder + known.file)) {
      MESSAGE("skipped: no " << std::string(known.file));
      continue;
    }
    const ArrivalTrace trace = read_arrival_trace(folder + known.file);
    CHECK(trace.rows.size() == known.rows);
    CHECK(to_seconds(trace.rows.back().arrival) == doctest::Approx(known.span_s));
    double input = 0;
    for (const ArrivalRow& row : trace.rows) input += row.input_tokens;
    CHECK(input / static_cast<double>(known.rows) ==
          doctest::Approx(known.mean_input).epsilon(1e-3));
  }
}
