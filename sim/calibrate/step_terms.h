// A step's time as a function of the corrections: what the base profile says about each group of
// its operations, priced once, and the arithmetic of models/step_cost.h on top.
//
//   GPU     = clock * prefill * (kernel (K + attention A) + collective C + launch(...))
//   period  = GPU + host            a plain scheduler
//           = max(GPU, host)        an overlapping one
//   host    = host_step + host_request * running (+ the base's slow share)
//
// K, A, C: seconds of kernels, attention and collectives; clock: what a lower SM clock or a power
// cap adds at the base's prices (held while fitting).
#pragma once

#include "calibration/corrections.h"
#include "models/kernel_costs.h"
#include "sim/deployment/deployment.h"

namespace plateau {

struct StepTerms {
  double kernels_s = 0;
  double attention_s = 0;
  double collectives_s = 0;
  double calls = 0;
  double launches = 0;
  int layers = 0;
  bool graph = false;
  bool prefill = false;
  double clock = 1;
  double requests = 0;
};

StepTerms terms_of(Deployment& deployment, const StepShape& shape);

// A value for every correction: the base's, or another.
struct CorrectionValues {
  std::array<double, kCorrections> values{};
  double& operator[](Correction c) { return values[static_cast<std::size_t>(c)]; }
  double operator[](Correction c) const { return values[static_cast<std::size_t>(c)]; }
};
CorrectionValues base_values(const Profile& base);

class StepLaw {
 public:
  StepLaw(const LaunchLaw& launch, bool overlap) : launch_(launch), overlap_(overlap) {}

  double gpu_seconds(const StepTerms& terms, const CorrectionValues& values) const;
  double period_seconds(const StepTerms& terms, const CorrectionValues& values) const;

 private:
  LaunchLaw launch_;
  bool overlap_;
};

}  // namespace plateau
