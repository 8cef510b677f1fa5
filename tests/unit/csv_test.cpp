#include "calibration/csv.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>

using namespace plateau;

namespace {

Problem first_problem(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.problems().front();
  }
  FAIL("no InputError");
  return {};
}

std::size_t problem_count(const std::string& text) {
  try {
    CsvTable::parse(text, "t.csv");
  } catch (const InputError& error) {
    return error.problems().size();
  }
  return 0;
}

std::string temporary(const std::string& name) {
  return (std::filesystem::temp_directory_path() / ("plateau_csv_test_" + name)).string();
}

std::string gzipped(const std::string& text) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string in = text;
  std::string out(text.size() + 100, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

void put(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

}  // namespace

TEST_CASE("csv: columns, rows and lines of a plain table") {
  const CsvTable table =
      CsvTable::parse("# from somewhere\na,b\n1,x\n\n# between\n2.5,y\n", "t.csv");
  CHECK(table.rows() == 2);
  CHECK(table.columns() == std::vector<std::string>{"a", "b"});
  CHECK(table.has("b"));
  CHECK_FALSE(table.has("B"));
  CHECK(table.number(1, table.column("a")) == 2.5);
  CHECK(table.text(1, 1) == "y");
  CHECK(table.line(0) == 3);
  CHECK(table.line(1) == 6);
}

TEST_CASE("csv: CRLF, missing final newline and byte order mark") {
  const CsvTable table = CsvTable::parse(
      "\xEF\xBB\xBF"
      "a,b\r\n1,\r\n\r\n3,4",
      "t.csv");
  CHECK(table.columns().front() == "a");
  REQUIRE(table.rows() == 2);
  CHECK(table.text(0, 1) == "");
  CHECK(table.text(1, 1) == "4");
  CHECK(CsvTable::parse("a,b\n1,2\r", "t.csv").text(0, 1) == "2");
}

TEST_CASE("csv: quoted cells") {
  const CsvTable table = CsvTable::parse(
      "name,v\n\"a, \"\"b\"\"\",1\n\"two\nlines\",2\n\"\",3\r\n\"q\",\"4\"\r\n", "t.csv");
  REQUIRE(table.rows() == 4);
  CHECK(table.text(0, 0) == "a, \"b\"");
  CHECK(table.text(1, 0) == "two\nlines");
  CHECK(table.line(2) == 5);
  CHECK(table.text(2, 0) == "");
  CHECK(table.number(3, 1) == 4);
}

TEST_CASE("csv: a copy outlives the table it was copied from") {
  std::vector<CsvTable> tables;
  for (int i = 0; i < 10; ++i) {
    const CsvTable table = CsvTable::parse("a\n\"x\"\n", "t.csv");
    tables.push_back(table);
  }
  for (const CsvTable& table : tables) CHECK(table.text(0, 0) == "x");
}

TEST_CASE("csv: malformed quoting is refused with its place") {
  CHECK(first_problem([] { CsvTable::parse("a\n\"x", "t.csv"); }).message ==
        "quoted cell never ends");
  CHECK(first_problem([] { CsvTable::parse("a,b\nx\"y,1\n", "t.csv"); }).column == 2);
  CHECK(first_problem([] { CsvTable::parse("a,b\n\"x\"y,1\n", "t.csv"); }).message ==
        "text after the closing quote");
}

TEST_CASE("csv: short and long rows are all reported, never padded") {
  CHECK(problem_count("a,b\n1\n1,2,3\n1,2\n") == 2);
  const Problem problem = first_problem([] { CsvTable::parse("a,b\n1,2\n3\n", "t.csv"); });
  CHECK(to_string(problem) == "t.csv:3: 1 cells where the header has 2 (the row is short)");
  std::string garbage = "a,b\n";
  for (int i = 0; i < 1000; ++i) garbage += "x\n";
  CHECK(problem_count(garbage) == 20);
}

TEST_CASE("csv: an empty table, a nameless and a repeated column are refused") {
  CHECK(first_problem([] { CsvTable::parse("", "t.csv"); }).message == "no header row");
  CHECK(first_problem([] { CsvTable::parse("# only a comment\n\n", "t.csv"); }).message ==
        "no header row");
  CHECK(first_problem([] { CsvTable::parse("a,,b\n", "t.csv"); }).column == 3);
  CHECK(to_string(first_problem([] { CsvTable::parse("a,b,a\n", "t.csv"); })) ==
        "t.csv:1:5: a: column appears twice (every column has its own name)");
  CHECK(CsvTable::parse("a,b\n", "t.csv").rows() == 0);
}

TEST_CASE("csv: a missing column names its neighbour") {
  const CsvTable table = CsvTable::parse("latency_ms,m\n1,2\n", "t.csv");
  CHECK(to_string(first_problem([&] { table.column("latency"); })) ==
        "t.csv: latency: missing column (did you mean its column \"latency_ms\"?)");
  CHECK(first_problem([&] { table.column("zzz"); }).hint == "the file has: latency_ms m");
}

TEST_CASE("csv: a non-number names file, line, column and key") {
  const CsvTable table = CsvTable::parse("name,us\nx,1.5\n\"y\",fast\nz,\n", "t.csv");
  CHECK(table.number(0, 1) == 1.5);
  CHECK(to_string(first_problem([&] { table.number(1, 1); })) ==
        "t.csv:3:5: us: not a number: \"fast\"");
  CHECK(first_problem([&] { table.number(2, 1); }).message == "empty where a number is due");
  CHECK(table.optional_number(2, 1) == std::nullopt);
  CHECK(table.optional_number(0, 1) == 1.5);
  CHECK_THROWS_AS(table.optional_number(1, 1), InputError);
}

TEST_CASE("csv: strict numbers") {
  CHECK(parse_number("-1.5e3") == -1500);
  CHECK(parse_number(".5") == 0.5);
  for (const char* text :
       {"", " 1", "1 ", "nan", "inf", "-inf", "1e999", "0x10", "1,5", "N/A", "+1", "1e", "--1"}) {
    CAPTURE(text);
    CHECK(parse_number(text) == std::nullopt);
  }
}

TEST_CASE("csv: gzip is recognised by content, members are joined, damage is reported") {
  const std::string path = temporary("gzip.csv");
  put(path, gzipped("a,b\n1,2\n") + gzipped("3,4\n"));
  const CsvTable table = CsvTable::read(path);
  CHECK(table.rows() == 2);
  CHECK(table.number(1, 1) == 4);
  const std::string large(3'000'000, 'x');
  put(path, gzipped(large));
  CHECK(read_file(path) == large);
  const std::string whole = gzipped("a,b\n1,2\n");
  put(path, whole.substr(0, whole.size() - 3));
  CHECK(first_problem([&] { CsvTable::read(path); }).file == path);
  std::remove(path.c_str());
}

TEST_CASE("csv: files that cannot be read or written are named") {
  CHECK(first_problem([] { read_file("/nowhere/x.csv"); }).message ==
        "cannot be read: No such file or directory");
  CHECK(first_problem([] { read_file("/"); }).message.rfind("cannot be read", 0) == 0);
  CHECK(first_problem([] { write_file("/nowhere/x.csv", "x"); }).file == "/nowhere/x.csv");
}

TEST_CASE("csv: write_file replaces the whole content, keeps links and leaves nothing beside it") {
  const std::string folder = temporary("write");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  write_file(folder + "/x.csv", "first and long\n");
  write_file(folder + "/x.csv", "second\n");
  CHECK(read_file(folder + "/x.csv") == "second\n");
  std::filesystem::create_symlink("x.csv", folder + "/link.csv");
  write_file(folder + "/link.csv", "third\n");
  CHECK(read_file(folder + "/x.csv") == "third\n");
  CHECK(std::filesystem::is_symlink(folder + "/link.csv"));
  write_file("/dev/null", "gone");
  CHECK_FALSE(std::filesystem::is_regular_file("/dev/null"));
  CHECK(std::distance(std::filesystem::directory_iterator(folder), {}) == 2);
  std::filesystem::remove_all(folder);
}
