#include "models/rank_load.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "models/load_statistics.h"

namespace plateau {

namespace {

struct RankLaw {
  std::vector<double> mean;      // P_g
  std::vector<double> variance;  // V_g
  double sum = 0;                // of mean: top_k
  double spread = 0;             // of variance: d
};

RankLaw rank_law(const std::vector<double>& inclusion, int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  RankLaw law{std::vector<double>(n, 0.0), std::vector<double>(n, 0.0)};
  for (std::size_t i = 0; i < inclusion.size(); ++i) {
    const std::size_t rank = rank_of(i, inclusion.size(), n);
    law.mean[rank] += inclusion[i];
    law.variance[rank] += inclusion[i] * (1 - inclusion[i]);
  }
  for (std::size_t g = 0; g < n; ++g) {
    law.sum += law.mean[g];
    law.spread += law.variance[g];
  }
  return law;
}

// Largest rank load of one draw, per token.
double draw_max(const RankLaw& law, double tokens, Random& random, std::vector<double>& noise) {
  double sum = 0;
  for (std::size_t g = 0; g < noise.size(); ++g) {
    noise[g] = std::sqrt(law.variance[g] / tokens) * normal(random);
    sum += noise[g];
  }
  double most = 0;
  for (std::size_t g = 0; g < noise.size(); ++g) {
    const double share = law.spread > 0 ? law.variance[g] / law.spread : 0;
    most = std::max(most, law.mean[g] + noise[g] - share * sum);
  }
  return most;
}

}  // namespace

double normal_rank_max_over_mean(const std::vector<std::vector<double>>& inclusion, double tokens,
                                 int ranks, int draws, const RandomStream& stream) {
  const int layers = static_cast<int>(inclusion.size());
  const int each = (draws + layers - 1) / layers;
  std::vector<double> noise(static_cast<std::size_t>(ranks));
  double sum = 0;
  for (int layer = 0; layer < layers; ++layer) {
    const RankLaw law = rank_law(inclusion[static_cast<std::size_t>(layer)], ranks);
    Random random = stream.at(static_cast<std::uint64_t>(layer));
    for (int draw = 0; draw < each; ++draw) {
      sum += draw_max(law, tokens, random, noise) * ranks / law.sum;
    }
  }
  return sum / (static_cast<double>(layers) * each);
}

}  // namespace plateau
