// Any bytes through the importers. The first byte chooses: 0 recognises by content, as the command
// does; another one goes straight into one importer, which content alone would seldom reach. The
// variable PLATEAU_IMPORTER stands for that byte where it is set, so that each importer gets its
// minutes. What is taken must also be written, and refusals must be InputError.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "calibration/import/decode_samples.h"
#include "calibration/import/formats.h"
#include "calibration/import/import.h"
#include "calibration/import/prefill_samples.h"
#include "calibration/import/write_measurement.h"
#include "calibration/input_error.h"
#include "calibration/join/windows.h"

using namespace plateau::imports;

namespace {

using Importer = void (*)(ByteSource&, Recorder&);

void import_gpu_rows(ByteSource& bytes, Recorder& recorder) { import_gpu_csv(bytes, recorder, {}); }

constexpr Importer kImporters[] = {
    import_sglang_log,       import_vllm_log,     import_bench_console, import_gpu_rows,
    import_nvidia_smi_table, import_dmon,         import_prometheus,    import_bench_json,
    import_server_info,      import_decode_grid,  import_kineto,        import_request_jsonl,
    import_nsys_csv,         import_kernel_table, import_request_csv,   import_request_log,
    import_step_trace,       import_measurement,
};

void import_directly(std::size_t which, std::string_view text, Measurement& measurement) {
  ByteSource bytes = ByteSource::memory(text, "fuzz");
  bytes.head();
  measurement.files.push_back({});
  measurement.files.back().file = "fuzz";
  Recorder recorder(measurement, 0);
  kImporters[which % std::size(kImporters)](bytes, recorder);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static const char* const only = std::getenv("PLATEAU_IMPORTER");
  const unsigned chosen = only != nullptr ? static_cast<unsigned>(std::atoi(only)) : data[0];
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    Measurement measurement;
    if (chosen == 0) {
      import_source([&] { return ByteSource::memory(text, "fuzz"); }, {}, measurement);
    } else {
      import_directly(chosen - 1, text, measurement);
    }
    std::size_t written = 0;
    const Sink count = [&](std::string_view part) { written += part.size(); };
    write_json(measurement, count);
    write_csv(measurement, count);
    describe(measurement);
    const auto samples = decode_step_samples(measurement);
    prefill_samples(measurement);
    plateau::join::steady_windows(samples);
    plateau::join::idle_windows(measurement, samples);
  } catch (const plateau::InputError&) {
  }
  return 0;
}
