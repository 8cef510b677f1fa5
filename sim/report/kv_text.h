// The KV pool in one line: how large, from where, and what the memory rule says of it.
#pragma once

#include <string>

#include "sim/report/report.h"

namespace plateau {

std::string kv_text(const KvReport& kv);

}  // namespace plateau
