#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "sim/report/format.h"
#include "sim/report/report.h"

using namespace plateau;

namespace {

StepReport one_step() {
  StepReport report;
  report.subject.model = "a-model";
  report.subject.device = "a-gpu";
  report.subject.gpus = 8;
  report.shape.decode_sequences = 60;
  report.shape.decode_padded = 64;
  report.shape.decode_context_tokens = 60 * 1000;
  report.shape.graph = true;
  OpLine gemm;
  gemm.call.op = Op::gemm;
  gemm.call.label = "a_projection_with_a_long_name";
  gemm.call.count = 78;
  gemm.call.m = 64;
  gemm.call.n = 2624;
  gemm.call.k = 6144;
  gemm.each.seconds = {25e-6, 24e-6, 26e-6, Source::interpolated};
  gemm.each.watts = Estimate::within(390, 0.1, Source::measured);
  OpLine reduce;
  reduce.call.op = Op::all_reduce;
  reduce.call.part = Part::all_reduce;
  reduce.call.label = "all_reduce";
  reduce.call.count = 157;
  reduce.call.bytes = 64 * 6144 * 2;
  reduce.call.ranks = 8;
  reduce.each.seconds = Estimate::within(150e-6, 0, Source::measured);
  reduce.each.watts = Estimate::within(140, 0, Source::assumed);
  report.lines = {gemm, reduce};
  StepCost& cost = report.cost;
  cost[Part::dense_gemm] = {78 * 25e-6, 78 * 25e-6 * 390};
  cost[Part::all_reduce] = {157 * 150e-6, 157 * 150e-6 * 140};
  cost[Part::launch] = {0.5e-3, 0.5e-3 * 120};
  for (const PartCost& part : cost.parts) {
    cost.seconds += part.seconds;
    cost.joules += part.joules;
  }
  cost.busy_seconds = cost.seconds;
  cost.source_seconds = {cost.seconds - 78 * 25e-6, 78 * 25e-6, 0, 0, 0};
  return report;
}

}  // namespace

TEST_CASE("step text: one row per operation, the launch gaps and the sum, within 80 columns") {
  const std::string text = step_text(one_step());
  CHECK(text.find("a_projection_with...  78 64 x 2,624 x 6,144") != std::string::npos);
  CHECK(text.find("interp.") != std::string::npos);
  CHECK(text.find("768.00 KiB, 8 ranks") != std::string::npos);
  CHECK(text.find("between kernels") != std::string::npos);
  CHECK(text.find("26 ms") != std::string::npos);
  CHECK(
      text.find("decode of 60 requests at 1,000 tokens of context, padded to 64, captured graph") !=
      std::string::npos);
  CHECK(text.find("time is 92 % measured, 7.5 % interpolated") != std::string::npos);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) CHECK_MESSAGE(width_of(line) <= 80, line);
}

TEST_CASE("step json: rows add up to the step") {
  const auto json = nlohmann::json::parse(step_json(one_step()));
  CHECK(json.at("schema") == "plateau-step/1");
  double ms = 0.5;  // launch
  for (const auto& row : json.at("operations")) {
    ms += row.at("ms_total").get<double>();
    CHECK(row.at("ms_total").get<double>() ==
          doctest::Approx(row.at("us_each").get<double>() * row.at("count").get<double>() / 1e3));
  }
  CHECK(ms == doctest::Approx(json.at("step_ms").get<double>()));
  double share = 0;
  for (const auto& [part, value] : json.at("time_split").items()) share += value.get<double>();
  CHECK(share == doctest::Approx(1));
  CHECK(json["output_tok_per_s"].get<double>() == doctest::Approx(60 / 0.026));
  CHECK(json["operations"][0]["source"] == "interpolated");
  CHECK(json["operations"][1]["watts_source"] == "assumed");
  CHECK(json["provenance"]["share_interpolated"].get<double>() == doctest::Approx(1.95 / 26));
}
