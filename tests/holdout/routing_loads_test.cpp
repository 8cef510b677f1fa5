// Do the laws reproduce recorded and measured expert loads?
//
// DeepSeek-V3/R1 counts: SGLang's recordings (sgl-project/sglang issue 6017), third-party, looked
// for beside the repository. H200 rows: this project's own kernel measurements, whose routing was
// drawn once for each row.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "calibration/csv.h"
#include "calibration/routing_counts.h"
#include "models/routing.h"

using namespace plateau;
using Kind = RoutingLaw::Kind;

namespace {

const std::string kCounts =
    std::string(PLATEAU_SOURCE_DIR) + "/../shared/data/routing/deepseek_v3_r1_expert_counts.csv";
const std::string kKernels = std::string(PLATEAU_SOURCE_DIR) +
                             "/calibration/data/h200-sxm/torch-2.11-bf16-2026-11-30/kernels.csv";

constexpr RoutingSize kDeepSeek{256, 8, 58};

bool skipped(const std::string& path) {
  if (std::ifstream(path)) {
    return false;
  }
  MESSAGE("skipped: no " << path);
  return true;
}

RoutingLaw replay_of(const std::string& trace) {
  RoutingLaw law;
  law.kind = Kind::replay;
  law.counts = read_routing_counts(kCounts, trace).counts;
  return law;
}

double variation(const std::vector<double>& loads) {
  const auto n = static_cast<double>(loads.size());
  const double mean = std::accumulate(loads.begin(), loads.end(), 0.0) / n;
  double square = 0;
  for (const double load : loads) {
    square += (load - mean) * (load - mean) / n;
  }
  return std::sqrt(square) / mean;
}

// Greedy packing: experts by falling load, each onto the least loaded rank that has a free slot;
// returns the counts in the order of the slots.
std::vector<double> packed(const std::vector<double>& counts, std::size_t ranks) {
  std::vector<double> falling = counts;
  std::sort(falling.rbegin(), falling.rend());
  std::vector<std::vector<double>> slots(ranks);
  std::vector<double> load(ranks, 0.0);
  for (const double count : falling) {
    std::size_t best = ranks;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const bool free = slots[rank].size() < counts.size() / ranks;
      if (free && (best == ranks || load[rank] < load[best])) {
        best = rank;
      }
    }
    slots[best].push_back(count);
    load[best] += count;
  }
  std::vector<double> order;
  for (const std::vector<double>& rank : slots) {
    order.insert(order.end(), rank.begin(), rank.end());
  }
  return order;
}

}  // namespace

TEST_CASE("replayed DeepSeek decode loads wake the experts of the recordings") {
  if (skipped(kCounts)) {
    return;
  }
  ExpertRouting routing(replay_of("decode_in1000out1000"), kDeepSeek, 1);
  const double batches[] = {8, 16, 32, 64, 128, 256};
  const double active[] = {54.2, 92.8, 144.4, 198.2, 236.5, 252.3};
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(std::abs(routing.load(batches[i]).active_experts - active[i]) < 0.06);
  }
  CHECK(routing.load(1e6).rows_max_over_mean == doctest::Approx(5.56).epsilon(0.003));
  CHECK(routing.rank_max_over_mean(1e6, 8) == doctest::Approx(2.01).epsilon(0.003));
  CHECK(routing.rank_max_over_mean(1e6, 32) == doctest::Approx(2.88).epsilon(0.003));
  // Finite batches: token-level draws of the recorded shares gave these.
  const double finite[] = {16, 64, 256, 1024, 4096};
  const double rank8[] = {2.07, 2.03, 2.01, 2.01, 2.01};
  const double rank32[] = {3.31, 2.98, 2.92, 2.90, 2.88};
  const double hottest[] = {9.2, 6.8, 5.8, 5.7, 5.6};
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(routing.rank_max_over_mean(finite[i], 8) == doctest::Approx(rank8[i]).epsilon(0.015));
    CHECK(routing.rank_max_over_mean(finite[i], 32) == doctest::Approx(rank32[i]).epsilon(0.02));
    CHECK(routing.load(finite[i]).rows_max_over_mean == doctest::Approx(hottest[i]).epsilon(0.02));
  }
}

TEST_CASE("replayed DeepSeek prefill loads wake the experts of the recordings") {
  if (skipped(kCounts)) {
    return;
  }
  ExpertRouting routing(replay_of("prefill_in4096"), kDeepSeek, 1);
  const double batches[] = {8, 16, 32, 64, 128, 256};
  const double active[] = {51.8, 86.8, 132.9, 182.1, 221.6, 244.3};
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(std::abs(routing.load(batches[i]).active_experts - active[i]) < 0.06);
  }
}

TEST_CASE(
    "greedy placement of the recorded loads beats the contiguous one and wakes the same experts") {
  if (skipped(kCounts)) {
    return;
  }
  const RoutingLaw recorded = replay_of("decode_in1000out1000");
  ExpertRouting contiguous(recorded, kDeepSeek, 1);
  for (const int ranks : {8, 32}) {
    RoutingLaw placed = recorded;
    for (std::vector<double>& layer : placed.counts) {
      layer = packed(layer, static_cast<std::size_t>(ranks));
    }
    ExpertRouting greedy(placed, kDeepSeek, 1);
    CHECK(greedy.rank_max_over_mean(1e6, ranks) <= contiguous.rank_max_over_mean(1e6, ranks));
    CHECK(greedy.rank_max_over_mean(1e6, ranks) ==
          doctest::Approx(ranks == 8 ? 1.003 : 1.10).epsilon(0.02));
    CHECK(greedy.load(128).active_experts ==
          doctest::Approx(contiguous.load(128).active_experts).epsilon(1e-9));
  }
}

TEST_CASE("two-level log-normal popularities look like DeepSeek's") {
  // 580 layers, ten models' worth: standard errors 0.3 % (CV, E[A]), 0.8 % (hottest), 0.7 %
  // (ranks).
  const RoutingSize size{256, 8, 580};
  const RoutingLaw law{Kind::two_level_lognormal, 0, 0.55, 0.50, 8, {}};
  double cv = 0;
  for (int layer = 0; layer < size.layers; ++layer) {
    cv += variation(expert_weights(law, size.experts, layer, 1)) / size.layers;
  }
  ExpertRouting routing(law, size, 1);
  CHECK(cv == doctest::Approx(0.77).epsilon(0.03));
  CHECK(routing.load(1e6).rows_max_over_mean == doctest::Approx(5.3).epsilon(0.03));
  CHECK(routing.rank_max_over_mean(1e6, 8) == doctest::Approx(1.93).epsilon(0.03));
  CHECK(routing.rank_max_over_mean(1e6, 32) == doctest::Approx(2.35).epsilon(0.03));
  CHECK(routing.load(32).active_experts == doctest::Approx(142.7).epsilon(0.01));
  CHECK(routing.load(128).active_experts == doctest::Approx(230.8).epsilon(0.01));
}

TEST_CASE("AIConfigurator's power law has the loads of its own tables") {
  const RoutingSize size{256, 8, 58};
  ExpertRouting mild({Kind::power_law, 1.01, 0, 0, 1, {}}, size, 1);
  CHECK(mild.load(64).active_experts == doctest::Approx(181).epsilon(0.01));
  CHECK(mild.load(256).active_experts == doctest::Approx(214).epsilon(0.01));
  CHECK(mild.load(4096).rows_max_over_mean == doctest::Approx(8.2).epsilon(0.05));
  ExpertRouting strong({Kind::power_law, 1.2, 0, 0, 1, {}}, size, 1);
  CHECK(strong.load(4096).rows_max_over_mean == doctest::Approx(15.3).epsilon(0.05));
}

TEST_CASE("Gumbel top-k of a Zipf popularity wakes the experts that the H200 kernels saw") {
  // Each row is the mean over 16 layers drawn once: 4.5 standard errors, and one expert in one
  // layer for the rows where nearly all are awake; the hottest expert within 4 % plus its own
  // sampling noise.
  const CsvTable table = CsvTable::read(kKernels);
  const auto op = table.column("op"), tokens = table.column("m_tokens");
  const auto alpha = table.column("zipf_alpha"), experts = table.column("experts");
  const auto top_k = table.column("topk"), active = table.column("active_experts");
  const auto most = table.column("expert_load_max_over_mean");
  constexpr int kLayers = 16;
  int rows = 0;
  double squares = 0, noisy = 0;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.text(row, op) != "moe_experts") {
      continue;
    }
    const RoutingSize size{static_cast<int>(table.number(row, experts)),
                           static_cast<int>(table.number(row, top_k)), kLayers};
    const double batch = table.number(row, tokens);
    ExpertRouting routing({Kind::zipf_gumbel, table.number(row, alpha), 0, 0, 1, {}}, size, 1);
    const double miss = table.number(row, active) - routing.load(batch).active_experts;
    const double error = routing.active_deviation(batch);
    CAPTURE(table.line(row));
    CHECK(std::abs(miss) <= 4.5 * error + 1.0 / kLayers);
    if (error > 0.1) {
      squares += miss * miss / (error * error);
      ++noisy;
    }
    const double hottest = table.number(row, most);
    const double mean = batch * size.top_k / size.experts;
    const double noise = 4 * std::sqrt(hottest / mean / kLayers);
    CHECK(std::abs(hottest - routing.load(batch).rows_max_over_mean) <= 0.04 * hottest + noise);
    ++rows;
  }
  CHECK(rows == 154);
  // Not only within the noise but as large as it: the squared misses, in errors, average 1
  // (chi-square, 4 deviations).
  CHECK(std::abs(squares / noisy - 1) < 4 * std::sqrt(2 / noisy));
}
