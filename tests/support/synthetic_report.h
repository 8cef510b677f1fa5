// A run that looks like a large mixture-of-experts model at its plateau on PCIe cards. Its numbers
// are made up: it exercises every section of a report.
#pragma once

#include "sim/report/report_builder.h"
#include "tests/support/fake_run.h"

namespace plateau::test {

inline Subject synthetic_subject() {
  Subject subject;
  subject.file = "scenarios/synthetic.yaml";
  subject.question = "Where does this box stop getting faster, and what would have to give?";
  subject.model = "made-up-moe-nvfp4";
  subject.device = "rtx-pro-6000-server";
  subject.gpus = 8;
  subject.engine = "sglang 2026-02, tp 8, no graphs";
  subject.workload = "2,048 clients, 5,919 requests of 128 tokens in and 128 out";
  subject.load = "2,048 clients";
  return subject;
}

inline ProvenanceReport synthetic_provenance() {
  ProvenanceReport provenance;
  provenance.profile = "rtx-pro-6000-server/made-up";
  provenance.profile_source = "nobody measured this";
  provenance.licence = "Apache-2.0";
  provenance.date = "2026-08-21";
  provenance.engine = "sglang 0.5.14";
  provenance.driver = "580.00";
  provenance.tables = {{"moe.csv", "0123456789abcdef", 0.01},
                       {"all_reduce.csv", "fedcba9876543210", 0.02}};
  provenance.seed = 7;
  provenance.version = "0.1.0";
  return provenance;
}

inline ReportContext synthetic_context() {
  ReportContext context;
  context.subject = synthetic_subject();
  context.power.idle = Estimate::within(40, 0.2, Source::measured);
  context.power.host_gap = Estimate::within(100, 0.1, Source::assumed);
  context.device.power_limit_w = 600;
  context.clients = 2048;
  context.max_running_requests = 2048;
  context.kv.capacity_tokens = 495488;
  context.kv.bytes_per_token_per_gpu = 55224;
  context.kv.page_tokens = 64;
  context.kv.source = "log";
  context.kv.wall_requests = 1935;
  context.kv.unexplained_bytes = 3.84 * 1024 * 1024 * 1024;
  context.decode_curve = {{1, 55},     {4, 180},     {16, 440},   {64, 950},
                          {256, 1800}, {1024, 3300}, {2048, 3900}};
  context.provenance = synthetic_provenance();
  context.warnings = {
      "num_continuous_decode_steps is parsed and ignored by SGLang since 0.3.6: it changes nothing "
      "here"};
  context.series_points = 64;
  context.experts = [](double tokens) {
    ExpertsReport experts;
    experts.experts = 256;
    experts.tokens_per_expert_mean = tokens * 8 / 256;
    experts.p50 = 44;
    experts.p99 = 190;
    experts.active_mean = 255.4;
    experts.max_over_mean = 5.3;
    experts.law = "two-level log-normal, sigma 0.55 and 0.50";
    return experts;
  };
  return context;
}

// Waves of 1935, 1935, 1935 and 114 requests.
inline Report synthetic_report() {
  ReportBuilder builder(synthetic_context());
  FakeRun run(builder);
  const std::int64_t sizes[] = {1935, 1935, 1935, 114};
  for (const std::int64_t n : sizes) {
    const auto share = static_cast<double>(n) / 1935;
    const SimTime sent = run.now();
    FakeStep step;
    step.running = n;
    step.queued = n == 1935 ? 113 : 0;
    step.host_gap = 4ms;
    step.source = Source::interpolated;
    step.watts = 250;
    step.parts = {{Part::all_reduce, 0.68},
                  {Part::moe, 0.16},
                  {Part::dense_gemm, 0.12},
                  {Part::norm_etc, 0.04}};
    step.length = to_sim_time(1.6 * share);
    for (int batch = 0; batch < 31; ++batch) {
      step.prefill = 8192 * share;
      step.new_requests = step.output_tokens = n / 31 + (batch < n % 31 ? 1 : 0);
      step.kv_used = (batch + 1) * n / 31 * 128;
      run.step(step);
    }
    const SimTime first = run.now();
    step.prefill = 0;
    step.new_requests = 0;
    step.decode = static_cast<double>(n);
    step.output_tokens = n;
    step.watts = 215;
    step.parts = {{Part::all_reduce, 0.55}, {Part::moe, 0.16},     {Part::attention, 0.1},
                  {Part::dense_gemm, 0.1},  {Part::lm_head, 0.05}, {Part::norm_etc, 0.02},
                  {Part::launch, 0.02}};
    for (int i = 1; i < 128; ++i) {
      step.source = i < 100 ? Source::interpolated : Source::extrapolated;
      step.length = to_sim_time(0.06 + 0.44 * share + 0.0001 * i);
      step.kv_used = n * 64 * ((128 + i + 63) / 64);
      step.gaps = {{step.length + step.host_gap, n}};
      run.step(step);
    }
    run.finish(sent, first, 128, 128, n);
  }
  builder.on_retraction({60s, 3, 600, 768, 0.3, 0.5});
  run.end();
  return builder.finish();
}

}  // namespace plateau::test
