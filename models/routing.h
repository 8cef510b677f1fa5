// How full the experts are at each engine step: routing law -> models/step_ops.h ExpertLoad.
//
// A step of B tokens draws each MoE layer's experts anew; what costs time is the mean over layers
// of the active (distinct) experts. `load` returns its expectation, in closed form where the law
// allows it, and remembers it by batch: the same batch always costs the same. `active_deviation`
// says how far one step's mean strays from it. With `exact` every token of every layer is drawn,
// once a batch.
//   ExpertRouting routing(law, {256, 8, 58}, seed);
//   const ExpertLoad& load = routing.load(128);
// CPU time (E = 256, k = 8, 58 layers): construction 0.1-2.5 ms; a batch seen before 5 ns; a new
// one 2 us, plus 0.4 ms at each new interpolation node of max/mean (every batch below 8, then two
// per octave; layers that are permutations of each other, as under zipf: 10 us). All batches
// of 1..128: 13 us each. power_law: 6-8 ms a node, and every batch up to E/k is one. exact: about
// 0.6 us a token and layer. Copies share the popularities: a sweep builds one and copies it per
// thread. Not modelled: tokens that resemble each other, a popularity that drifts, replicated
// experts, the active experts of the slowest rank.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/routing_law.h"
#include "models/routing_model.h"
#include "models/step_ops.h"

namespace plateau {

// The report's view of a batch, or of many batches weighted by steps. Means over layers.
struct ExpertLoadSummary {
  double tokens = 0;
  double tokens_per_expert_mean = 0;  // B k / E, over all experts
  double tokens_per_expert_p50 = 0;
  double tokens_per_expert_p99 = 0;
  double active_mean = 0;
  double active_deviation = 0;    // of the mean over layers of one step, over draws
  double max_over_mean = 1;       // hottest expert over the mean expert
  double rank_max_over_mean = 1;  // fullest rank over the mean rank, contiguous placement
  int layers = 0;                 // layers it was taken from
  std::string method;             // e.g. "closed form over 58 layers"
};

struct BatchSteps {
  double tokens = 0;
  double steps = 0;  // weight
};

class ExpertRouting {
 public:
  // size.layers: MoE layers of the model (0: a dense model, every load is empty). sample_layers:
  // how many of them are considered, evenly taken from the law's layers; 0 = all. Throws
  // std::invalid_argument with problems_of's words.
  ExpertRouting(const RoutingLaw& law, const RoutingSize& size, std::uint64_t seed,
                int sample_layers = 0, bool exact = false);
  ExpertRouting(const ExpertRouting& other);
  ExpertRouting& operator=(const ExpertRouting& other);
  ExpertRouting(ExpertRouting&&) = default;
  ExpertRouting& operator=(ExpertRouting&&) = default;

  const ExpertLoad& load(double tokens);
  // Standard deviation over draws of the mean over layers of the active experts of one step.
  double active_deviation(double tokens);
  double rank_max_over_mean(double tokens, int ranks);
  // P(an expert gets m tokens), m = 0..tokens (rounded to an integer).
  std::vector<double> tokens_per_expert(double tokens);
  // Expected rows of one layer when each expert's rows are padded to a multiple of `tile`.
  double padded_rows(double tokens, int tile);

  ExpertLoadSummary summary(double tokens, int ranks = 1);
  // Averages over steps; the percentiles are those of all experts of all steps together.
  ExpertLoadSummary summary(const std::vector<BatchSteps>& batches, int ranks = 1);

  // Token-level draw of every considered layer for step number `step`.
  std::vector<ExpertCounts> draw(std::int64_t tokens, std::uint64_t step);

  const RoutingSize& size() const { return size_; }
  int layers_considered() const { return layers_; }

 private:
  const std::vector<ExpertCounts>& drawn(std::int64_t tokens);  // exact: the batch's one draw

  RoutingSize size_;
  int layers_ = 0;
  bool exact_ = false;
  RandomStream token_stream_;
  std::unique_ptr<RoutingModel> model_;  // empty for a dense model
  std::map<double, ExpertLoad> loads_;
  std::map<std::int64_t, std::vector<ExpertCounts>> drawn_;
};

}  // namespace plateau
