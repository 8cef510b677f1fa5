// Prices of steps that the estimates of many points share.
//
// What a step costs does not depend on caps, chunk sizes, memory or load but through its shape: a
// grid of thousands of points asks for a few hundred steps. Shared by threads; how many steps were
// priced does not depend on their number.
#pragma once

#include <array>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "sim/deployment/deployment.h"

namespace plateau {

struct StepPrice {
  double seconds = 0;
  double joules = 0;  // one GPU
};

class PricedSteps {
 public:
  // `sets` ("key=value") of points that differ in keys that change no price give the same text.
  static std::string pricing_of(const std::vector<std::string>& sets);

  // `fresh`: raised by one when nobody had asked for this step before.
  StepPrice price(const std::string& pricing, Deployment& deployment, const StepShape& shape,
                  int* fresh);

 private:
  using Shape = std::array<double, 8>;
  std::mutex mutex_;
  std::map<std::pair<std::string, Shape>, StepPrice> prices_;
};

}  // namespace plateau
