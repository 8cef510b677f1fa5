#include "sim/explain/explain.h"

#include <algorithm>
#include <cmath>

namespace plateau {

namespace {

constexpr const char* kTermNames[kTerms] = {
    "collectives", "experts_touched", "expert_kernels", "imbalance", "attention",
    "dense_gemm",  "norm_etc",        "lm_head",        "launch",    "host",
    "clock",       "padding",         "prefill_share"};

double middle(double a, double b) { return (a + b) / 2; }

// d ln(factor); both positive.
double log_change(double a, double b) { return std::log(b) - std::log(a); }

// One run's seconds per output token by phase, and the factors of each.
struct Factors {
  double running = 0;
  double step = 0;
  double tail = 1;
  double emitted = 1;  // output tokens per decoded one: prefill gives the first
  double decode = 0;   // seconds per output token
  double prefill = 0;
  double idle = 0;
  double prompt = 0;       // prompt tokens per output token
  TermValues prompt_s{};   // seconds per prompt token by term
  double prompt_step = 0;  // their sum

  explicit Factors(const RunSummary& run) : running(run.running), step(run.decode_step_seconds()) {
    const double decode_s = run.decode.total_seconds();
    const double prefill_s = run.prefill.total_seconds();
    decode = decode_s / run.output_tokens;
    prefill = prefill_s / run.output_tokens;
    idle = (run.seconds - decode_s - prefill_s) / run.output_tokens;
    if (decodes()) {
      tail = run.sequences / decode_s / (running / step);
      emitted = run.output_tokens / run.sequences;
    }
    if (run.prefill_tokens <= 0) return;
    prompt = run.prefill_tokens / run.output_tokens;
    for (std::size_t i = 0; i < kTerms; ++i)
      prompt_step += prompt_s[i] = run.prefill.seconds[i] / run.prefill_tokens;
  }
  bool decodes() const { return running > 0 && step > 0; }
  bool prefills() const { return prompt_step > 0; }
};

class Shares {
 public:
  Shares(const RunSummary& a, const RunSummary& b) : a_(a), b_(b), fa_(a), fb_(b) {
    for (const char* name : {"batch", "tail", "prefill_share", "load"}) add(name);
    for (std::size_t i = 0; i + 1 < kTerms; ++i) add(kTermNames[i]);
    split_throughput();
    if (a.tpot_ms && b.tpot_ms) split_tpot();
    split_watts();
    describe();
  }

  std::vector<CauseShare> take() { return std::move(causes_); }

 private:
  void add(const char* name) {
    CauseShare cause;
    cause.cause = name;
    if (a_.tpot_ms && b_.tpot_ms) cause.tpot_ms = 0;
    causes_.push_back(std::move(cause));
  }

  CauseShare& of(const std::string& name) {
    return *std::find_if(causes_.begin(), causes_.end(),
                         [&](const CauseShare& cause) { return cause.cause == name; });
  }

  // A change of seconds per step or per prompt token, term by term.
  template <class Share>
  void over_terms(const TermValues& a, const TermValues& b, double per_second, Share share) {
    for (std::size_t i = 0; i < kTerms; ++i) share(of(kTermNames[i])) += per_second * (b[i] - a[i]);
  }

  void split_throughput() {
    const auto share = [](CauseShare& cause) -> double& { return cause.output_tok_per_s; };
    // tok/s that one second per output token takes
    const double rate = -logarithmic_mean(a_.tok_per_s, b_.tok_per_s) /
                        logarithmic_mean(1 / a_.tok_per_s, 1 / b_.tok_per_s);
    of("load").output_tok_per_s += rate * (fb_.idle - fa_.idle);
    double& prefill = of("prefill_share").output_tok_per_s;
    if (fa_.decodes() && fb_.decodes()) {
      const double mean = rate * logarithmic_mean(fa_.decode, fb_.decode);
      of("batch").output_tok_per_s -= mean * log_change(fa_.running, fb_.running);
      of("tail").output_tok_per_s -= mean * log_change(fa_.tail, fb_.tail);
      prefill -= mean * log_change(fa_.emitted, fb_.emitted);
      over_terms(a_.step_seconds, b_.step_seconds, mean / logarithmic_mean(fa_.step, fb_.step),
                 share);
    } else {  // one of them never decodes: no step to compare
      prefill += rate * (fb_.decode - fa_.decode);
    }
    split_prefill(rate, fa_.prefill, fb_.prefill, share);
  }

  // `rate` times the change of `a` into `b`, seconds spent prefilling for something.
  template <class Share>
  void split_prefill(double rate, double a, double b, Share share) {
    double& prefill = share(of("prefill_share"));
    if (a <= 0 || b <= 0 || !fa_.prefills() || !fb_.prefills()) {
      prefill += rate * (b - a);
      return;
    }
    const double mean = rate * logarithmic_mean(a, b);
    prefill += mean * log_change(a / fa_.prompt_step, b / fb_.prompt_step);
    over_terms(fa_.prompt_s, fb_.prompt_s,
               mean / logarithmic_mean(fa_.prompt_step, fb_.prompt_step), share);
  }

  void split_tpot() {
    constexpr double kMs = 1e3;
    const auto share = [](CauseShare& cause) -> double& { return *cause.tpot_ms; };
    over_terms(a_.step_seconds, b_.step_seconds, kMs, share);
    split_prefill(kMs, *a_.tpot_ms / kMs - fa_.step, *b_.tpot_ms / kMs - fb_.step, share);
  }

  // Share of wall time and watts of one phase; no watts without time.
  struct Phase {
    double share = 0;
    std::optional<double> watts;
  };
  static Phase phase_of(const PhaseTerms& terms, double wall) {
    const double seconds = terms.total_seconds();
    if (seconds <= 0) return {};
    return {seconds / wall, terms.total_joules() / seconds};
  }

  void shift(const char* cause, Phase a, Phase b) {
    if (!a.watts && !b.watts) return;
    const double watts =
        middle(a.watts.value_or(b.watts.value_or(0)), b.watts.value_or(a.watts.value_or(0)));
    of(cause).gpu_w_mean += (watts - middle(a_.gpu_w, b_.gpu_w)) * (b.share - a.share);
  }

  void change_within(const PhaseTerms& in_a, const PhaseTerms& in_b, Phase a, Phase b) {
    if (!a.watts || !b.watts) return;
    const double watts = middle(*a.watts, *b.watts);
    const double share = middle(a.share, b.share);
    const double seconds_a = in_a.total_seconds();
    const double seconds_b = in_b.total_seconds();
    for (std::size_t i = 0; i < kTerms; ++i) {
      const double joules = in_b.joules[i] / seconds_b - in_a.joules[i] / seconds_a;
      const double time = in_b.seconds[i] / seconds_b - in_a.seconds[i] / seconds_a;
      of(kTermNames[i]).gpu_w_mean += share * (joules - watts * time);
    }
  }

  void split_watts() {
    const Phase decode_a = phase_of(a_.decode, a_.seconds);
    const Phase decode_b = phase_of(b_.decode, b_.seconds);
    const Phase prefill_a = phase_of(a_.prefill, a_.seconds);
    const Phase prefill_b = phase_of(b_.prefill, b_.seconds);
    const Phase idle_a{1 - decode_a.share - prefill_a.share, a_.idle_watts};
    const Phase idle_b{1 - decode_b.share - prefill_b.share, b_.idle_watts};
    shift("prefill_share", decode_a, decode_b);
    shift("prefill_share", prefill_a, prefill_b);
    shift("load", idle_a, idle_b);
    of("load").gpu_w_mean += middle(idle_a.share, idle_b.share) * (b_.idle_watts - a_.idle_watts);
    change_within(a_.decode, b_.decode, decode_a, decode_b);
    change_within(a_.prefill, b_.prefill, prefill_a, prefill_b);
  }

  void figure(const char* name, const char* what, const char* unit, double a, double b) {
    CauseShare& cause = of(name);
    cause.what = what;
    cause.unit = unit;
    cause.a = a;
    cause.b = b;
  }

  static double prefill_share_of(const RunSummary& run) {
    const double prefill = run.prefill.total_seconds();
    return prefill / (prefill + run.decode.total_seconds());
  }

  static double load_of(const RunSummary& run) {
    return (run.prefill.total_seconds() + run.decode.total_seconds()) / run.seconds;
  }

  void describe() {
    figure("prefill_share", "share of busy time in prefill steps", "share", prefill_share_of(a_),
           prefill_share_of(b_));
    figure("load", "share of time with something to do", "share", load_of(a_), load_of(b_));
    for (std::size_t i = 0; i + 1 < kTerms; ++i) {
      figure(kTermNames[i], "time in a decode step", "ms", a_.step_seconds[i] * 1e3,
             b_.step_seconds[i] * 1e3);
    }
    if (a_.active_experts > 0 || b_.active_experts > 0) {
      figure("experts_touched", "distinct experts a decode step touches", "experts",
             a_.active_experts, b_.active_experts);
      figure("imbalance", "hottest expert over the mean", "x", a_.rows_max_over_mean,
             b_.rows_max_over_mean);
    }
    if (!fa_.decodes() || !fb_.decodes()) return;
    figure("batch", "requests in a decode step", "running", fa_.running, fb_.running);
    figure("tail", "decode rate over that of its mean step", "share", fa_.tail, fb_.tail);
  }

  const RunSummary& a_;
  const RunSummary& b_;
  Factors fa_;
  Factors fb_;
  std::vector<CauseShare> causes_;
};

}  // namespace

double logarithmic_mean(double a, double b) {
  const double low = std::min(a, b);
  const double high = std::max(a, b);
  const double x = (high - low) / low;
  return x > 0 ? low * (x / std::log1p(x)) : low;
}

Explanation explain(const RunSummary& a, const RunSummary& b) {
  Explanation explanation{a, b, Shares(a, b).take(), {}};
  for (const std::string& warning : a.warnings) explanation.warnings.push_back("A: " + warning);
  for (const std::string& warning : b.warnings) explanation.warnings.push_back("B: " + warning);
  std::stable_sort(explanation.causes.begin(), explanation.causes.end(),
                   [](const CauseShare& x, const CauseShare& y) {
                     return std::abs(x.output_tok_per_s) > std::abs(y.output_tok_per_s);
                   });
  return explanation;
}

}  // namespace plateau
