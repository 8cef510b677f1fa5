// A fit of what the data can identify; the rest is held at what is known already.
//
// Every unknown has a base value and a band: how far it may plausibly be from it (one standard
// deviation). An unknown is identified when its standard error is at most half of that band, so
// that the data know it better than the base does. While one is not, the unknown that matters least
// among those that fail is held at its base and the rest is fitted again; "matters" is how far its
// band moves the residuals. So of two that the data cannot tell apart the one that the base leaves
// more open is fitted, and the report says which other one it stands for. An unknown that the fit
// drives to a bound is held as well: it takes up what something else does.
#pragma once

#include <string>
#include <vector>

#include "calibration/fit/robust_fit.h"

namespace plateau {

struct Unknown {
  std::string name;
  double base = 0;
  double band = 0;
  double low = 0;
  double high = 0;
};

struct Found {
  double value = 0;
  double error = 0;      // one standard error; 0 when held
  int samples = 0;       // whose residual the unknown's band moves by more than the noise
  std::string held_why;  // "": fitted
  bool held() const { return !held_why.empty(); }
};

struct Identified {
  std::vector<Found> found;  // as the unknowns stand
  std::vector<double> values;
  std::vector<double> residuals;
  double scale = 0;  // robust standard deviation of the residuals
};

Identified fit_identifiable(const std::vector<Unknown>& unknowns, const Residuals& residuals,
                            double noise);

}  // namespace plateau
