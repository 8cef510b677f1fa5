// A device without kernel tables, seen through those of another one.
//
// Every law of the other profile keeps its share of the roofline, with this device's peaks; weights
// stream at the same share of the peak; collectives and launch constants are taken as they are.
// Times carry 15 % beside the tables' own band and count as extrapolated: it is what one generation
// of one maker differs by, and nothing for another architecture. Without a power block its
// watts are those of calibration/unmetered_profile.h.
#pragma once

#include "calibration/profile_meta.h"

namespace plateau {

// `own` completed by `base`, the meta of own.scaled_from. Throws InputError when that is not
// fitted.
ProfileMeta scaled_meta(ProfileMeta own, const ProfileMeta& base);

}  // namespace plateau
