// Calibration from logs against logs whose truth is known: written by the same arithmetic from
// chosen corrections, with and without noise.
#include <doctest/doctest.h>

#include <cmath>

#include "calibration/csv.h"
#include "calibration/import/import.h"
#include "models/random.h"
#include "sim/calibrate/calibration.h"
#include "sim/calibrate/decode_stage.h"
#include "sim/scenario/read_scenario.h"
#include "tests/support/import_support.h"
#include "tests/support/scenario_text.h"
#include "tests/support/sglang_lines.h"
#include "tests/support/vllm_lines.h"

using namespace plateau;
using namespace plateau::test;

namespace {

const std::string kRoot = PLATEAU_SOURCE_DIR;

Scenario scenario_with(std::vector<std::string> sets) {
  ScenarioOptions options;
  options.data_dir = kRoot;
  options.sets = {"calibration.profile=h200-sxm/sglang-0.5.14", "calibration.board=~",
                  "engine.page_size=1"};
  options.sets.insert(options.sets.end(), sets.begin(), sets.end());
  return read_scenario(kRoot + "/scenarios/h200-torch-bf16.yaml", options);
}

const std::vector<std::string> kOverlapping = {"engine.kind=sglang", "engine.version=2026-02"};

struct Batch {
  int running = 0;
  double context = 0;  // tokens each at the first line
};

constexpr int kInterval = 40;

// A log of `lines` decode lines of each batch, a prefill before each, as the law says.
class TrueLog {
 public:
  TrueLog(const Scenario& scenario, double noise)
      : deployment_(scenario, kRoot),
        law_(deployment_.profile().launch(), overlaps(deployment_)),
        values(base_values(deployment_.profile())),
        noise_(noise) {}

  std::string write(const std::vector<Batch>& batches, int lines) {
    std::string log;
    Random random = RandomStream(5, "log").at(0, 0);
    for (const Batch& batch : batches) {
      log += prefill_line(clock_s, batch.running, batch.running * batch.context, 0);
      double held = batch.running * batch.context;
      for (int i = 0; i < lines; ++i) {
        const double after = held + kInterval * batch.running;
        const double mean = 0.5 * (held + after) / batch.running;
        const double step = seconds(batch.running, mean) * std::exp(noise_ * normal(random));
        clock_s += kInterval * step;
        log += decode_line(clock_s, batch.running, after, 1e6, batch.running / step);
        held = after;
      }
    }
    return log;
  }

  double seconds(int running, double context) {
    return law_.period_seconds(terms_of(deployment_, deployment_.decode_shape(running, context)),
                               values);
  }

 private:
  Deployment deployment_;
  StepLaw law_;

 public:
  CorrectionValues values;
  double clock_s = 0;

 private:
  double noise_;
};

CalibrationResult fit(const Scenario& scenario, const std::string& log) {
  return calibrate(scenario, imports::import_text(log), {kRoot, {}, {}});
}

void check_found(const CalibrationResult& result, Correction correction, double truth) {
  const Parameter* p = result.find(correction);
  REQUIRE(p != nullptr);
  INFO(key_of(correction).key, " ", p->value, " +- ", p->error, ", truth ", truth, " ",
       p->held_why);
  CHECK(p->held_why.empty());
  CHECK(std::abs(p->value - truth) <= 3 * p->error);
  CHECK(p->samples > 0);
}

const std::vector<Batch> kManyBatches = {{1, 200},   {4, 400},   {16, 3000}, {48, 300},
                                         {96, 2500}, {160, 400}, {256, 900}, {320, 150}};

}  // namespace

TEST_CASE("corrections that made a log are found again within their standard errors") {
  const Scenario scenario = scenario_with(kOverlapping);
  TrueLog log(scenario, 0.005);
  log.values[Correction::kernel_time] = 1.4;
  log.values[Correction::attention_time] = 0.8;
  log.values[Correction::launch_time] = 2.5;
  const CalibrationResult result = fit(scenario, log.write(kManyBatches, 6));
  check_found(result, Correction::kernel_time, 1.4);
  check_found(result, Correction::attention_time, 0.8);
  check_found(result, Correction::launch_time, 2.5);
  CHECK(result.quantities.front().fitted_mape_pct < 1);
  CHECK(*result.quantities.front().cross_mape_pct < 2);
  CHECK(result.find(Correction::host_step)->held_why ==
        "the overlap schedule hides the host's work behind the GPU");
}

TEST_CASE("the host's share of a plain schedule is found from many batches") {
  const Scenario scenario = scenario_with({});
  TrueLog log(scenario, 0.003);
  log.values[Correction::kernel_time] = 1.2;
  log.values[Correction::host_request] = 40e-6;
  const CalibrationResult result = fit(scenario, log.write(kManyBatches, 6));
  check_found(result, Correction::kernel_time, 1.2);
  check_found(result, Correction::host_request, 40e-6);
}

TEST_CASE("one batch tells one parameter: the others are held, with the reason") {
  const Scenario scenario = scenario_with({});
  TrueLog log(scenario, 0.003);
  log.values[Correction::kernel_time] = 1.3;
  const CalibrationResult result = fit(scenario, log.write({{256, 200}}, 12));
  check_found(result, Correction::kernel_time, 1.3);
  CHECK(result.find(Correction::host_step)->held_why.find("kernel_time") != std::string::npos);
  CHECK(result.find(Correction::host_step)->value == result.find(Correction::host_step)->base);
  CHECK(result.find(Correction::collective_time)->held_why == "one GPU: there are no collectives");
  CHECK(result.find(Correction::power_gain)->held_why == "no power sample in steady decode");
}

TEST_CASE("a corrected profile predicts what the fit says, read back from its file") {
  const Scenario scenario = scenario_with(kOverlapping);
  TrueLog log(scenario, 0.005);
  log.values[Correction::kernel_time] = 1.4;
  log.values[Correction::launch_time] = 2.5;
  const CalibrationResult result = fit(scenario, log.write(kManyBatches, 6));
  const TemporaryFolder folder;
  folder.write("p/meta.yaml", corrected_meta_yaml(result, result.base));
  std::vector<std::string> sets = kOverlapping;
  sets.push_back("calibration.profile=" + folder.path("p"));
  Deployment corrected(scenario_with(sets), kRoot);
  CHECK(corrected.profile().warnings().empty());
  for (const SamplePoint& point : result.points) {
    const StepCost& step = corrected.cost(corrected.decode_shape(point.running, point.context));
    CHECK(1e3 * step.seconds == doctest::Approx(point.fitted).epsilon(1e-9));
  }
}

TEST_CASE("contradictions are told with their size") {
  const Scenario scenario = scenario_with(kOverlapping);
  TrueLog log(scenario, 0.002);
  std::string text =
      "[2026-11-30 10:00:00 TP0] max_total_num_tokens=60000, chunked_prefill_size=8192, "
      "max_prefill_tokens=16384, max_running_requests=300, context_len=40960, "
      "available_gpu_mem=10.00 GB\n";
  text += log.write({{64, 200}, {128, 200}}, 6);
  const auto told = [](const CalibrationResult& result, const std::string& part) {
    for (const std::string& line : result.contradictions) {
      if (line.find(part) != std::string::npos) return true;
    }
    return false;
  };
  const CalibrationResult result = fit(scenario, text);
  CHECK(told(result, "t.log:1: a KV pool of 60000 tokens, the scenario has 65536 (given, +9.2 %)"));
  CHECK(told(result, "t.log:1: a KV pool of 60000 tokens; free memory, weights and fraction give"));
  CHECK(told(result, "GiB per GPU are unexplained"));
  CHECK(told(result, "t.log:1: 300 running requests, the scenario has 4096"));
  CHECK(result.engine_keys.front().second == "60000 tokens");
  // A line whose throughput is twice what its clock allows.
  const std::string line = decode_line(log.clock_s + 40 * log.seconds(128, 700), 128, 128 * 700,
                                       1e6, 2 * 128 / log.seconds(128, 700));
  CHECK(told(fit(scenario, text + line), "steps of the time since the line before"));
}

TEST_CASE("each file is predicted from the others, or each block of one file") {
  const Scenario scenario = scenario_with(kOverlapping);
  TrueLog log(scenario, 0.003);
  log.values[Correction::kernel_time] = 1.3;
  const TemporaryFolder folder;
  const std::string a = folder.write("a.log", log.write({{256, 200}, {64, 300}}, 5));
  const std::string b = folder.write("b.log", log.write({{128, 200}, {32, 300}}, 5));
  const CalibrationResult two =
      calibrate(scenario, imports::import_files({{a, b}, {}}), {kRoot, {}, {}});
  REQUIRE(two.quantities.front().folds.size() == 2);
  CHECK(two.quantities.front().folds[0].left_out == a);
  CHECK(two.quantities.front().folds[1].samples == 8);  // a prefill spoils the first of each batch
  const CalibrationResult one =
      calibrate(scenario, imports::import_files({{a}, {}}), {kRoot, {}, {}});
  CHECK(one.quantities.front().folds.size() == 4);
  CHECK(one.quantities.front().folds[0].left_out.find("samples 1 to ") == 0);
}

TEST_CASE("logs that tell nothing are refused with file, line and a way out") {
  const Scenario scenario = scenario_with(kOverlapping);
  const auto error = [&](const std::string& text) {
    return imports::input_error_of([&] { fit(scenario, text); });
  };
  const std::string single = decode_line(1, 64, 6400, 1e6, 3000);
  CHECK(error(single).find("t.log:1: no decode line tells the time of a step (1 lines: first line "
                           "of a rank") == 0);
  CHECK(error(single).find("--decode-log-interval") != std::string::npos);
  CHECK(error(prefill_line(1, 4, 512, 0)).find("t.log: is a sglang_log without a decode step") ==
        0);
}

TEST_CASE("logs of two engines are refused together") {
  const Scenario scenario = scenario_with(kOverlapping);
  TrueLog log(scenario, 0);
  const TemporaryFolder folder;
  const std::string sglang = folder.write("a.log", log.write({{64, 200}}, 5));
  const std::string vllm = imports::own_sample("vllm-v1.log");
  const std::string error = imports::input_error_of([&] {
    calibrate(scenario, imports::import_files({{sglang, vllm}, {}}), {kRoot, {}, {}});
  });
  CHECK(error.find(vllm + ": is of vllm, but " + sglang + " is of sglang") == 0);
}

TEST_CASE("power in steady decode tells the gain, power in silence idle; the floor is held") {
  const TemporaryFolder folder;
  const Scenario scenario = scenario_with(kOverlapping);
  CalibrationResult truth = fit(scenario, TrueLog(scenario, 0).write(kManyBatches, 6));
  truth.parameters = {{Correction::power_idle, 100, 0, 123, 1, ""},
                      {Correction::power_gain, 0.8, 0, 1, 1, ""}};
  folder.write("truth/meta.yaml", corrected_meta_yaml(truth, truth.base));
  std::vector<std::string> sets = kOverlapping;
  sets.push_back("calibration.profile=" + folder.path("truth"));
  Deployment hot(scenario_with(sets), kRoot);

  TrueLog log(scenario, 0);
  std::string server;
  std::string power = "timestamp, index, power.draw [W]\n";
  double t = 0;
  const auto draw = [&](double until, double watts) {
    for (; t < until; t += 0.2) {
      std::string stamp = log_time(t);
      stamp[4] = stamp[7] = '/';
      power += stamp + ", 0, " + std::to_string(watts) + " W\n";
    }
  };
  for (const Batch& batch : std::vector<Batch>{{1, 200}, {16, 400}, {64, 300}, {256, 300}}) {
    constexpr int kLines = 30;
    server += log.write({batch}, kLines);
    const double context = batch.context + 0.5 * kInterval * (kLines + 1);
    const StepCost& step = hot.cost(hot.decode_shape(batch.running, context));
    draw(log.clock_s, step.joules / step.seconds);
    log.clock_s += 60;
    draw(log.clock_s, 100);
  }
  const std::string a = folder.write("server.log", server);
  const std::string b = folder.write("power.csv", power);
  const CalibrationResult result =
      calibrate(scenario, imports::import_files({{a, b}, {}}), {kRoot, {}, {}});
  check_found(result, Correction::power_idle, 100);
  check_found(result, Correction::power_gain, 0.8);
  CHECK(result.find(Correction::power_gain)->value == doctest::Approx(0.8).epsilon(0.03));
  // All these loads draw far more than the floor, so they hardly know it.
  CHECK(result.find(Correction::power_wait)->held_why ==
        "the samples cannot tell it from power_gain");
  CHECK(result.power_text.find("power samples: ") == 0);
}

TEST_CASE("a power log of more GPUs than serve is told and not used") {
  const Scenario scenario = scenario_with(kOverlapping);
  TrueLog log(scenario, 0.002);
  const TemporaryFolder folder;
  const std::string a = folder.write("server.log", log.write({{64, 200}, {128, 200}}, 40));
  const std::string b = folder.write("power.txt", "0, 300.00 W, 90 %\n1, 80.00 W, 0 %\n");
  const CalibrationResult result =
      calibrate(scenario, imports::import_files({{a, b}, {}}), {kRoot, {{b, 8.0}}, {}});
  REQUIRE(result.contradictions.size() == 1);
  CHECK(result.contradictions[0].find("the power log has 2 GPUs, the scenario 1") == 0);
  CHECK_FALSE(result.find(Correction::power_gain)->held_why.empty());
}

TEST_CASE("a vLLM log calibrates the times of a step, and the other scheduler is told") {
  const Scenario scenario = scenario_with(kOverlapping);
  std::string log = vllm_iteration_lines();
  log +=
      "INFO 03-17 15:38:30 [loggers.py:259] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg "
      "generation throughput: 616.1 tokens/s, Running: 32 reqs, Waiting: 0 reqs, GPU KV cache "
      "usage: 17.6%, Prefix cache hit rate: 0.0%\n";
  const CalibrationResult result = fit(scenario, log);
  CHECK(result.find(Correction::kernel_time)->samples > 0);
  REQUIRE(!result.contradictions.empty());
  CHECK(result.contradictions[0].find("the log is of vLLM") == 0);
}

TEST_CASE("lines of more requests than any engine runs are left out") {
  const Scenario scenario = scenario_with(kOverlapping);
  TrueLog log(scenario, 0.002);
  std::string text = log.write({{64, 200}}, 8);
  for (int i = 0; i < 3; ++i)
    text += decode_line(log.clock_s + 1 + i, 2000000000, 2e12 + 1e12 * i, 1e13, 1e12);
  const CalibrationResult result = fit(scenario, text);
  CHECK(result.quantities.front().samples == 7);
  CHECK(result.notes.front().find("2 decode samples of more than 100000 running requests") == 0);
}

TEST_CASE("a fit that predicts left-out samples no better than the base is not kept") {
  // Prefills whose times scatter by more than the profile is off.
  const Scenario scenario = scenario_with({});
  std::string csv = "phase,start_s,requests,tokens,ms\n";
  double t = 0;
  const auto step = [&](const char* phase, int requests, int tokens, double ms) {
    char row[80];
    std::snprintf(row, sizeof row, "%s,%.4f,%d,%d,%.4f\n", phase, t, requests, tokens, ms);
    csv += row;
    t += ms / 1e3;
  };
  TrueLog truth(scenario, 0);
  truth.values[Correction::kernel_time] = 1.3;
  Deployment deployment(scenario, kRoot);
  for (int i = 0; i < 12; ++i) {
    StepShape shape;
    shape.prefill_sequences = 8;
    shape.prefill_tokens = shape.prefill_context_tokens = 4096;
    shape.prefill_attended = 8 * 512 * 256.5;
    const double ms = 1.3 * 1e3 * deployment.cost(shape).seconds;
    step("prefill", 8, 4096, (i % 4 < 2) == (i / 4 % 2 == 0) ? 2 * ms : 0.5 * ms);
    step("decode", 64, 64 * 300, 1e3 * truth.seconds(64, 300));
  }
  const CalibrationResult result = fit(scenario, csv);
  CHECK(result.find(Correction::kernel_time)->held_why.empty());
  INFO(calibration_text(result));
  const Parameter* prefill = result.find(Correction::prefill_time);
  CHECK_FALSE(prefill->held_why.empty());
  CHECK(prefill->value == 1);
}
