// Watts per operation, fitted to the power column of a measured profile.
//
//   P = floor + gain(board) * (fixed_op + per_byte_op * bytes/s + per_flop_op * FLOP/s)
//
// The floor is what the board draws while anything at all runs. Coefficients are fitted per
// operation, because caches make one byte of a copy cheaper than one byte of a weight stream. They
// interpolate in utilisation, not in shape: single looped readings carry 5-15 % noise, which a fit
// over some twenty of them averages out. Rows whose clock fell while looping are left out: the same
// kernel inside a mixed step does not throttle (the limit acts on the step's mean).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "calibration/measured_rows.h"

namespace plateau {

struct OpPower {
  double fixed_w = 0;
  double per_byte = 0;  // J/byte
  double per_flop = 0;  // J/FLOP
  double residual = 0;  // root mean square of relative residuals
  double misfit = 0;    // root mean square, over models, of the mean residual of one model's rows
                        // under the fit to the others': what the form itself gets wrong
  int rows = 0;
};

class MeasuredPower {
 public:
  MeasuredPower() = default;
  // `own_board`: rows of other boards do not enter the fit.
  MeasuredPower(const std::vector<MeasuredRow>& rows, double floor_w, const std::string& own_board);

  // Watts above the floor on the profile's own board (gain 1).
  double dynamic_watts(const OpCall& call, double seconds) const;
  const OpPower& of(Op op) const;
  bool known() const { return overall_.rows > 0; }  // a row had watts

 private:
  std::map<Op, OpPower> ops_;
  OpPower overall_;
};

}  // namespace plateau
