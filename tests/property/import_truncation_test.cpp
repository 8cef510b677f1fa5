// A file cut anywhere never crashes an importer, and every (line, field, value) read from it stands
// in the import of the whole file: a number cut in half is no number.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <set>
#include <tuple>

#include "tests/support/import_support.h"

using namespace plateau::imports;

namespace {

using Triple = std::tuple<std::int64_t, std::string, std::string>;

std::set<Triple> triples_of(const Measurement& measurement) {
  std::set<Triple> triples;
  for (const Fact& fact : measurement.facts) {
    triples.insert(
        {fact.line, fact.name, fact.number ? fmt::format("{}", *fact.number) : fact.text});
  }
  for (const auto& [name, series] : measurement.series) {
    for (const RowValues& row : rows_of(measurement, name)) {
      for (const auto& [column, value] : row.numbers) {
        triples.insert({row.line, column, fmt::format("{}", value)});
      }
      for (const auto& [column, word] : row.words) triples.insert({row.line, column, word});
    }
  }
  return triples;
}

std::set<Triple> triples_of_text(const std::string& text) {
  try {
    return triples_of(import_text(text));
  } catch (const plateau::InputError&) {
    return {};  // refused with a sentence
  }
}

// The first triple of the cut text that the whole does not have.
std::string alien_triple(const std::string& text, std::size_t cut, const std::set<Triple>& whole) {
  for (const Triple& triple : triples_of_text(text.substr(0, cut))) {
    if (whole.count(triple) > 0) continue;
    return fmt::format("cut at {}: line {} {} = {}", cut, std::get<0>(triple), std::get<1>(triple),
                       std::get<2>(triple));
  }
  return "";
}

void check_cuts(const std::string& path) {
  CAPTURE(path);
  const std::string text = slurp(path);
  const std::set<Triple> whole = triples_of_text(text);
  CHECK_FALSE(whole.empty());
  std::string alien;
  for (std::size_t cut = 0; cut < text.size() && alien.empty(); ++cut) {
    alien = alien_triple(text, cut, whole);
  }
  CHECK(alien == "");
}

std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename() != "README.md") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

TEST_CASE("a shipped sample cut at any byte yields only values of the whole") {
  for (const std::string& file : files_of(std::string(PLATEAU_SOURCE_DIR) + "/tests/data/import")) {
    check_cuts(file);
  }
}

TEST_CASE("a public sample cut at any byte yields only values of the whole") {
  const std::string folder = shared_folder();
  if (folder.empty() || !std::filesystem::is_directory(folder + "/cases/logs")) {
    MESSAGE("skipped: the public samples are not at hand");
    return;
  }
  for (const std::string& file : files_of(folder + "/cases/logs")) check_cuts(file);
}
