// What `plateau import` writes as JSON reads back as the same measurement: files, facts, places,
// rows, clocks. Written again it gives the same bytes.
#include <doctest/doctest.h>

#include "calibration/import/decode_samples.h"
#include "calibration/import/write_measurement.h"
#include "tests/support/import_support.h"

using namespace plateau::imports;

namespace {

std::string json_of(const Measurement& measurement) {
  std::string text;
  write_json(measurement, [&](std::string_view part) { text += part; });
  return text;
}

std::string csv_of(const Measurement& measurement) {
  std::string text;
  write_csv(measurement, [&](std::string_view part) { text += part; });
  return text;
}

std::vector<std::string> samples() {
  std::vector<std::string> files;
  const std::string folder = std::string(PLATEAU_SOURCE_DIR) + "/tests/data/import";
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

void check_same(const Measurement& first, const Measurement& again) {
  CHECK(json_of(first) == json_of(again));
  CHECK(csv_of(first) == csv_of(again));
  CHECK(describe(first) == describe(again));
  const DecodeSamples a = decode_step_samples(first), b = decode_step_samples(again);
  CHECK(a.samples.size() == b.samples.size());
  CHECK(a.dropped.size() == b.dropped.size());
  for (const Fact& fact : first.facts) {
    const Fact* other = again.fact(fact.name);
    REQUIRE(other != nullptr);
    CHECK(other->line == first.fact(fact.name)->line);
  }
}

}  // namespace

TEST_CASE("every shipped sample survives the measurement file") {
  for (const std::string& file : samples()) {
    CAPTURE(file);
    const Measurement first = import_text(slurp(file), file);
    check_same(first, import_text(json_of(first), "m.json"));
  }
}

TEST_CASE("several files in one measurement keep their places, beside another measurement") {
  Measurement all, again;
  for (const std::string& file : samples()) {
    const std::string text = slurp(file);
    import_source([&] { return ByteSource::memory(text, file); }, {}, all);
  }
  const std::string json = json_of(all);
  check_same(all, import_text(json, "m.json"));

  const std::string text = slurp(samples().front());
  import_source([&] { return ByteSource::memory(text, "front"); }, {}, again);
  import_source([&] { return ByteSource::memory(json, "m.json"); }, {}, again);
  CHECK(again.files.size() == all.files.size() + 1);
  for (const Fact& fact : again.facts) CHECK(fact.file < static_cast<int>(again.files.size()));
}

TEST_CASE("a measurement file that is cut, foreign or wrong is refused, with what to do") {
  const std::string json = json_of(
      import_text("[2026-01-05 10:00:00 TP0] max_total_num_tokens=2048, chunked_prefill_size=512, "
                  "max_prefill_tokens=16384, max_running_requests=64, context_len=4096\n"));
  const auto replaced = [&](const std::string& from, const std::string& to) {
    const std::size_t at = json.find(from);
    REQUIRE(at != std::string::npos);
    return json.substr(0, at) + to + json.substr(at + from.size());
  };
  CHECK(*import_text(json, "m.json").fact("kv_capacity_tokens")->number == 2048);
  CHECK_THROWS_WITH_AS(import_text(json.substr(0, json.size() - 4), "m.json"),
                       doctest::Contains("m.json:"), plateau::InputError);
  CHECK_THROWS_WITH_AS(import_text(replaced("plateau-import/1", "plateau-import/7"), "m.json"),
                       doctest::Contains("this version reads plateau-import/1"),
                       plateau::InputError);
  CHECK_THROWS_WITH_AS(import_text(replaced("\"file\":0", "\"file\":3"), "m.json"),
                       doctest::Contains("names no file of the list"), plateau::InputError);
  CHECK_THROWS_WITH_AS(import_text(replaced("\"line\":1", "\"line\":1e30"), "m.json"),
                       doctest::Contains("no line number"), plateau::InputError);
  std::string csv = csv_of(import_text(json, "m.json"));
  CHECK_THROWS_WITH_AS(import_text(csv, "m.csv"), doctest::Contains("--out NAME.json"),
                       plateau::InputError);
}
