#include "calibration/import/series_reader.h"

#include <doctest/doctest.h>

using namespace plateau::imports;

TEST_CASE("a number is no word and a word is no number, whatever the file called them") {
  Series series("steps");
  const std::size_t phase = series.column("phase");
  const std::size_t batch = series.column("batch", true);
  series.begin_row(0, 2);
  series.set(phase, 6);
  series.set_word(batch, "decode");
  REQUIRE(series.end_row());
  const SeriesReader read(series);
  series.for_each([&](const Series::Row& row) {
    CHECK(read(row, "phase") == 6);
    CHECK(read.word(row, "phase").empty());
    CHECK_FALSE(read(row, "batch"));
    CHECK(read.word(row, "batch") == "decode");
    CHECK(read.word(row, "absent").empty());
  });
}
