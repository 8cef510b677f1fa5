// Bounded non-linear least squares with a robust loss.
//
//   minimise  sum rho(r_i(x) / s)      rho: Huber, quadratic up to 1.345 and linear beyond
//
// by iteratively reweighted Levenberg-Marquardt steps (Eigen); s is 1.4826 times the median
// absolute residual, at least `noise`. A variable at a bound stays there while the step points
// outward. Standard errors are Huber's:
//   cov = K^2 [sum psi^2 s^2 / (n - p)] / [mean psi']^2 (J'J)^-1
// A direction the data do not know has an infinite error; what it would be worth is left to
// fit_identifiable(). Wrong when residuals are correlated (errors too small) and when a model is so
// curved that one derivative does not describe it.
#pragma once

#include <functional>
#include <vector>

namespace plateau {

struct FitVariable {
  double start = 0;
  double low = 0;
  double high = 0;
  double unit = 1;  // a change of this size matters: sets differences and damping
};

// Residuals at x; the same number of them at every x.
using Residuals = std::function<std::vector<double>(const std::vector<double>&)>;

struct RobustFit {
  std::vector<double> values;
  std::vector<double> errors;               // one standard error; infinite: not known
  std::vector<double> residuals;            // at values
  std::vector<std::vector<double>> slopes;  // slopes[variable][residual]: d residual / d variable
  double scale = 0;                         // s
};

RobustFit robust_fit(const std::vector<FitVariable>& variables, const Residuals& residuals,
                     double noise);

}  // namespace plateau
