#include "calibration/profile_meta.h"

#include <doctest/doctest.h>

#include <string>

#include "calibration/csv.h"
#include "tests/support/toy_profile.h"

using namespace plateau;

namespace {

const std::string kMeta = toy::replaced(toy::meta(), "  curves.csv: {noise: 0.02}\n", "");

std::string folder_with(const std::string& meta) {
  const std::string folder = toy::folder("profile_meta");
  write_file(folder + "/meta.yaml", meta);
  write_file(folder + "/laws.csv", "a\n1\n");
  return folder;
}

using toy::replaced;

std::string complaint(const std::string& meta) {
  try {
    read_profile_meta(folder_with(meta), "toy/p");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("profile meta: every value arrives in base units with its band and source") {
  const ProfileMeta meta = read_profile_meta(folder_with(kMeta), "toy/p");
  CHECK(meta.kind == "fitted");
  CHECK(meta.device.memory_bytes == 10.0 * 1024 * 1024 * 1024);
  CHECK(meta.device.bf16_flops == 1e14);
  CHECK(meta.device.fp4_flops == 0);
  CHECK(meta.device.sm_clock_mhz == doctest::Approx(2000));
  CHECK(meta.launch.graph_gap.value == doctest::Approx(1.2e-6));
  CHECK(meta.launch.graph_gap.low == doctest::Approx(0.84e-6));
  CHECK(meta.launch.graph_gap.source == Source::measured);
  CHECK(meta.launch.graph_step.low == 0);  // a band beyond 1 does not reach below nothing
  CHECK(meta.launch.graph_step.high == doctest::Approx(30e-6));
  CHECK(meta.power_states.wait.value == 60);
  CHECK(meta.power.memory_rate == doctest::Approx(9e11));
  CHECK(meta.power.limit_w == 300);
  CHECK(meta.interconnect == Interconnect::pcie);
  CHECK(meta.board == "A");
  CHECK(meta.boards.at("B") == 0.8);
  CHECK(meta.provenance.profile == "toy/p");
  REQUIRE(meta.provenance.tables.size() == 1);
  CHECK(meta.provenance.tables[0].noise == 0.02);
}

TEST_CASE("profile meta: a table's digest is FNV-1a of its bytes and changes with them") {
  // FNV-1a 64 of "a\n1\n", worked out independently.
  const std::string folder = folder_with(kMeta);
  const std::string first = read_profile_meta(folder, "toy/p").provenance.tables[0].digest;
  CHECK(first == read_profile_meta(folder, "toy/p").provenance.tables[0].digest);
  CHECK(first == "77e7a981f05832c9");
  write_file(folder + "/laws.csv", "a\n2\n");
  CHECK(read_profile_meta(folder, "toy/p").provenance.tables[0].digest != first);
}

TEST_CASE("profile meta: what is missing, misspelt or absurd is named, all at once") {
  const std::string bad =
      replaced(replaced(replaced(kMeta, "graph_gap:", "graph_gapp:"), "sms: 10", "sms: 0"),
               "memory_rate: 900 GB/s\n", "memory_rate: 900\n");
  const std::string text = complaint(bad);
  CHECK(text.find("launch.graph_gap: is missing") != std::string::npos);
  CHECK(text.find("graph_gapp") != std::string::npos);
  CHECK(text.find("device.sms") != std::string::npos);
  CHECK(text.find("power.memory_rate") != std::string::npos);
  CHECK(complaint(replaced(kMeta, "kind: fitted\n", "")).find("kind") != std::string::npos);
  CHECK(complaint(replaced(kMeta, "laws.csv:", "absent.csv:")).find("absent.csv") !=
        std::string::npos);
  CHECK(complaint(replaced(kMeta, "tables:\n  laws.csv: {noise: 0.02}\n", "")).find("tables") !=
        std::string::npos);
}

TEST_CASE("profile meta: a measured profile needs no power law of its own") {
  std::string meta = replaced(kMeta, "kind: fitted", "kind: measured");
  meta = replaced(meta, "  busy: {value: 70 W, band: 0.1, source: assumed}\n", "");
  meta = replaced(meta, "  memory_rate: 900 GB/s\n", "");
  CHECK(complaint(meta).empty());
  CHECK(complaint(replaced(kMeta, "  busy: {value: 70 W, band: 0.1, source: assumed}\n", ""))
            .find("power.busy: is missing") != std::string::npos);
}
