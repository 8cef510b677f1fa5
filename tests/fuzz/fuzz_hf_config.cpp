// Whatever the bytes, a config.json either becomes a spec whose memory can be computed or is
// refused with an InputError. A zero byte separates config.json from an hf_quant_config.json.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "calibration/hf_config.h"
#include "calibration/input_error.h"
#include "models/memory.h"

namespace {

void use(const plateau::ModelSpec& spec) {
  plateau::Parallelism parallel;
  for (parallel.tp = 1; parallel.tp <= 64; parallel.tp *= 2) {
    const double bytes = plateau::weight_bytes(spec, parallel).total();
    if (!std::isfinite(bytes) || bytes <= 0) std::abort();
    if (plateau::kv_bytes_per_token(spec, parallel, plateau::DType::nvfp4) <= 0) std::abort();
  }
  if (plateau::active_parameters(spec) > plateau::parameters(spec).total()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t zero = text.find('\0');
  try {
    const plateau::ConfigNode config = plateau::parse_json(text.substr(0, zero), "config.json");
    std::optional<plateau::ConfigNode> quantization;
    if (zero != std::string_view::npos) {
      quantization = plateau::parse_json(text.substr(zero + 1), "hf_quant_config.json");
    }
    use(plateau::model_of_hf_config(config, quantization ? &*quantization : nullptr, "fuzz"));
  } catch (const plateau::InputError&) {
  }
  return 0;
}
