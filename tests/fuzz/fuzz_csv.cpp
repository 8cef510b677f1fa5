// Whatever the bytes, a table either parses or is refused with an InputError, and every cell can be
// looked at.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "calibration/csv.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using plateau::CsvTable;
  try {
    const CsvTable table = CsvTable::parse({reinterpret_cast<const char*>(data), size}, "fuzz.csv");
    for (std::size_t row = 0; row < table.rows(); ++row) {
      for (std::size_t column = 0; column < table.columns().size(); ++column) {
        try {
          (void)table.optional_number(row, column);
        } catch (const plateau::InputError&) {
        }
      }
    }
    (void)table.column("latency");
  } catch (const plateau::InputError&) {
  }
  return 0;
}
