#include "sim/explain/run_summary.h"

#include <algorithm>
#include <numeric>

#include "sim/deployment/run.h"

namespace plateau {

namespace {

double sum_of(const TermValues& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

Term term_of(Part part) {
  switch (part) {
    case Part::attention:
      return Term::attention;
    case Part::dense_gemm:
      return Term::dense_gemm;
    case Part::moe:
      return Term::expert_kernels;
    case Part::all_reduce:
    case Part::all_to_all:
    case Part::wait:
      return Term::collectives;
    case Part::norm_etc:
      return Term::norm_etc;
    case Part::lm_head:
      return Term::lm_head;
    case Part::host:
    case Part::idle:
      return Term::host;
    case Part::launch:
      break;
  }
  return Term::launch;
}

struct StepTerms {
  TermValues seconds{};
  TermValues joules{};
  ExpertLoad load;

  void add(Term term, double s, double j) {
    seconds[static_cast<std::size_t>(term)] += s;
    joules[static_cast<std::size_t>(term)] += j;
  }
  // The cause's share, and what is left of the step without it.
  void take(Term term, StepCost* from, const StepCost& without) {
    add(term, from->seconds - without.seconds, from->joules - without.joules);
    *from = without;
  }
};

StepTerms take_apart(Deployment& deployment, StepShape shape, const StepCost& cost) {
  StepTerms terms;
  StepCost left = cost;
  if (shape.decode_sequences > 0 && shape.prefill_tokens > 0) {
    const bool graph = shape.graph;
    shape = {shape.decode_sequences, shape.decode_padded, shape.decode_context_tokens};
    shape.graph = graph;
    terms.take(Term::prefill_in_decode, &left, StepCost(deployment.cost(shape)));
  }
  terms.take(Term::clock, &left, deployment.cost_if(shape, deployment.expert_load(shape.tokens())));
  if (shape.decode_padded > shape.decode_sequences) {
    shape.decode_padded = shape.decode_sequences;
    terms.take(Term::padding, &left,
               deployment.cost_if(shape, deployment.expert_load(shape.tokens())));
  }
  ExpertLoad load = terms.load = deployment.expert_load(shape.tokens());
  if (load.active_experts > 0) {
    load.rows_max_over_mean = 1;
    terms.take(Term::imbalance, &left, deployment.cost_if(shape, load));
    const auto top_k = static_cast<double>(deployment.scenario().model.top_k);
    load.active_experts = std::min(load.active_experts, top_k);
    terms.take(Term::experts_touched, &left, deployment.cost_if(shape, load));
  }
  for (std::size_t p = 0; p < kParts; ++p)
    terms.add(term_of(static_cast<Part>(p)), left.parts[p].seconds, left.parts[p].joules);
  return terms;
}

class TermCollector : public Observer {
 public:
  explicit TermCollector(Deployment& deployment)
      : deployment_(deployment), gap_watts_(deployment.profile().power_states().host_gap.value) {}

  // As the report does: what runs after the last token is outside the run.
  void on_step(const StepRecord& step) override {
    if (step.output_tokens == 0) {
      held_.push_back({step, *step.shape, *step.cost});
      return;
    }
    for (const Held& held : held_) count(held.record, held.shape, held.cost);
    held_.clear();
    count(step, *step.shape, *step.cost);
  }

  void fill(RunSummary* summary) const {
    summary->decode = decode_;
    summary->prefill = prefill_;
    summary->prefill_tokens = prefill_tokens_;
    summary->sequences = weight_;
    if (weight_ <= 0) return;
    summary->running = running_ / weight_;
    summary->active_experts = active_ / weight_;
    summary->rows_max_over_mean = hottest_ / weight_;
    for (std::size_t i = 0; i < kTerms; ++i) summary->step_seconds[i] = weighted_[i] / weight_;
  }

 private:
  struct Held {
    StepRecord record;
    StepShape shape;
    StepCost cost;
  };

  void count(const StepRecord& step, const StepShape& shape, const StepCost& cost) {
    StepTerms terms = take_apart(deployment_, shape, cost);
    const double timed = to_seconds(step.end - step.start);
    const double rounding = cost.seconds > 0 ? timed / cost.seconds : 1;
    for (double& seconds : terms.seconds) seconds *= rounding;
    const double gap = to_seconds(step.host_gap);
    terms.add(Term::host, gap, gap * gap_watts_);
    const double weight = shape.decode_sequences;
    PhaseTerms& phase = weight > 0 ? decode_ : prefill_;
    for (std::size_t i = 0; i < kTerms; ++i) {
      phase.seconds[i] += terms.seconds[i];
      phase.joules[i] += terms.joules[i];
      weighted_[i] += weight * terms.seconds[i];
    }
    if (weight <= 0) prefill_tokens_ += shape.prefill_tokens;
    weight_ += weight;
    running_ += weight * weight;
    active_ += weight * terms.load.active_experts;
    hottest_ += weight * terms.load.rows_max_over_mean;
  }

  Deployment& deployment_;
  double gap_watts_;
  std::vector<Held> held_;
  PhaseTerms decode_;
  PhaseTerms prefill_;
  TermValues weighted_{};
  double prefill_tokens_ = 0;
  double weight_ = 0;
  double running_ = 0;
  double active_ = 0;
  double hottest_ = 0;
};

}  // namespace

double PhaseTerms::total_seconds() const { return sum_of(seconds); }
double PhaseTerms::total_joules() const { return sum_of(joules); }
double RunSummary::decode_step_seconds() const { return sum_of(step_seconds); }

RunSummary summarise(Deployment& deployment) {
  // Its own deployment: taking a step apart asks for costs while the simulation holds one.
  Deployment pricing = deployment;
  TermCollector collector(pricing);
  RunOptions options;
  options.observers = {&collector};
  const Report report = run(deployment, options);
  RunSummary summary;
  summary.file = report.subject.file;
  summary.load = report.subject.load;
  summary.warnings = report.warnings;
  summary.tok_per_s = report.throughput.output_tok_per_s;
  summary.gpu_w = report.power.gpu_w_mean;
  summary.tpot_ms = report.latency_ms.tpot.mean;
  summary.output_tokens = static_cast<double>(report.throughput.output_tokens);
  summary.seconds = report.throughput.seconds;
  summary.idle_watts = deployment.profile().power_states().idle.value;
  collector.fill(&summary);
  return summary;
}

}  // namespace plateau
