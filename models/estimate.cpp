#include "models/estimate.h"

namespace plateau {

const char* name_of(Source source) {
  switch (source) {
    case Source::measured:
      return "measured";
    case Source::interpolated:
      return "interpolated";
    case Source::extrapolated:
      return "extrapolated";
    case Source::roofline:
      return "roofline";
    case Source::assumed:
      return "assumed";
  }
  return "?";
}

}  // namespace plateau
