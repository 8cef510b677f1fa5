// The file that lets an interrupted sweep go on.
#include "sim/sweep/row_store.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "calibration/csv.h"
#include "calibration/input_error.h"
#include "tests/support/scenario_text.h"

using plateau::InputError;
using plateau::RowStore;
using plateau::test::TemporaryFolder;

TEST_CASE("rows outlive their store and come back by point") {
  const TemporaryFolder folder;
  const std::string path = folder.path("x.partial");
  {
    RowStore rows(path, "f", 4);
    rows.put(2, "two");
    rows.put(0, "zero");
    CHECK(rows.done() == 2);
  }
  RowStore rows(path, "f", 4);
  CHECK(rows.done() == 2);
  CHECK(rows.line(2) == "two");
  CHECK(rows.missing() == std::vector<std::int64_t>{1, 3});
  rows.remove_file();
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("a row that an interruption cut off is computed again") {
  const TemporaryFolder folder;
  const std::string path = folder.path("x.partial");
  { RowStore(path, "f", 3).put(1, "a whole row"); }
  const std::string whole = plateau::read_file(path);
  for (const std::string cut : {"0", "0\tha", "0\thalf a row"}) {
    plateau::write_file(path, whole + cut);
    RowStore rows(path, "f", 3);
    CHECK(rows.missing() == std::vector<std::int64_t>{0, 2});
    rows.put(0, "zero");
    CHECK(plateau::read_file(path) == whole + "0\tzero\n");
  }
  plateau::write_file(path, "plateau-sweep-par");  // not even its header
  CHECK(RowStore(path, "f", 3).done() == 0);
}

TEST_CASE("the rows of another sweep, a damaged file and two writers are refused") {
  const TemporaryFolder folder;
  const std::string path = folder.path("x.partial");
  {
    RowStore rows(path, "f", 3);
    rows.put(1, "one");
    CHECK_THROWS_AS(RowStore(path, "f", 3), InputError);
  }
  CHECK_THROWS_AS(RowStore(path, "g", 3), InputError);
  CHECK_THROWS_AS(RowStore(path, "f", 1), InputError);  // has no point 1
  plateau::write_file(path, plateau::read_file(path) + "words\n");
  CHECK_THROWS_AS(RowStore(path, "f", 3), InputError);
  CHECK_THROWS_AS(RowStore(folder.path("no/folder/x.partial"), "f", 3), InputError);
}
