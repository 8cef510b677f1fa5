// The pages as a browser meets them. Drawing needs /usr/bin/chromium; without it those cases say so
// and pass.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "sim/report/page.h"
#include "tests/support/run_plateau.h"
#include "tests/support/synthetic_report.h"

using namespace plateau;
using Json = nlohmann::json;

namespace {

constexpr const char* kBrowser = "/usr/bin/chromium";
constexpr std::uintmax_t kLargestPage = 300'000;  // bytes

std::string read_all(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

Json data_of(const std::string& page) {
  const std::string open = "id=\"data\">";
  const std::size_t from = page.find(open) + open.size();
  return Json::parse(page.substr(from, page.find("</script>", from) - from));
}

// The page's DOM once it is loaded; "" without a browser. The page draws before it counts as
// loaded, so there is nothing to wait for; a browser that does not start on a busy machine is asked
// again.
std::string drawn(const test::TemporaryFolder& folder, const std::string& page) {
  if (!std::filesystem::exists(kBrowser)) return "";
  const std::string path = folder.write("page.html", page);
  std::string dom;
  for (int attempt = 1; attempt <= 3; ++attempt) {
    const std::string command =
        "HOME=" + folder.path("") + " timeout 120 " + kBrowser +
        " --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking" +
        " --disable-component-update --disable-sync --disable-quic --user-data-dir=" +
        folder.path("profile" + std::to_string(attempt)) + " --dump-dom file://" + path + " >" +
        folder.path("dom") + " 2>" + folder.path("err");
    if (std::system(command.c_str()) != 0) continue;
    dom = read_all(folder.path("dom"));
    if (dom.find("data-drawn=") != std::string::npos) break;
  }
  return dom;
}

// `charts`: how many plots the page must hold, all of them drawn.
void check_drawn(const std::string& page, int charts) {
  const test::TemporaryFolder folder;
  const std::string dom = drawn(folder, page);
  if (dom.empty()) {
    MESSAGE("skipped: no ", kBrowser);
    return;
  }
  const std::string tag = dom.substr(0, dom.find("<head>"));
  CAPTURE(tag);
  CHECK(tag.find("data-error") == std::string::npos);
  CHECK(tag.find("data-drawn=\"yes\"") != std::string::npos);
  const std::string count = std::to_string(charts);
  CHECK(tag.find("data-plots=\"" + count + "/" + count + "\"") != std::string::npos);
  for (const char* word : {"NaN", "undefined", "[object"}) {
    CAPTURE(word);
    const std::string body = dom.substr(0, dom.find("<script type=\"application/json\""));
    CHECK(body.find(word) == std::string::npos);
  }
}

}  // namespace

TEST_CASE("run --html --trace: a page with the run's own JSON, a trace that parses") {
  const test::TemporaryFolder folder;
  const std::string scenario = PLATEAU_SOURCE_DIR "/scenarios/glm5-nvfp4-8x-rtx-pro-6000.yaml";
  const auto run =
      test::run_plateau("run " + scenario + " --html " + folder.path("p.html") + " --trace " +
                        folder.path("t.json") + " --json " + folder.path("r.json"));
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const std::string page = read_all(folder.path("p.html"));
  CHECK(page.size() < kLargestPage);
  CHECK(page.find("http") == std::string::npos);
  Json data = data_of(page);
  CHECK(data["report"]["series"]["start_s"].size() > 100);
  data["report"].erase("series");
  CHECK(data["report"] == Json::parse(read_all(folder.path("r.json"))));
  CHECK(data["experts_of_a_step"]["layers"].size() == 75);
  CHECK(data["batch"]["curves"].size() >= 4);
  const Json trace = Json::parse(read_all(folder.path("t.json")));
  CHECK(trace["otherData"]["requests_drawn"] == 2000);
  CHECK(trace["otherData"]["requests_without_prefill_slice"] == 0);
  // The report leaves out the step that an overlapping engine runs after the last token.
  const Json& step = data["report"]["step"];
  const int counted = step["decode_count"].get<int>() + step["prefill_count"].get<int>();
  CHECK(trace["otherData"]["steps"].get<int>() - counted >= 0);
  CHECK(trace["otherData"]["steps"].get<int>() - counted <= 1);
  check_drawn(page, 15);
}

TEST_CASE("run --html: a file that cannot be written is the user's to know") {
  const auto run = test::run_plateau("run " PLATEAU_SOURCE_DIR
                                     "/scenarios/teach-kv-wall.yaml --html /nowhere/p.html");
  CHECK(run.code == 2);
  CHECK(run.err.find("/nowhere/p.html") != std::string::npos);
}

TEST_CASE("report page: draws a dense run and one that knows nothing") {
  PageData dense;
  dense.most_running = 64;
  dense.most_running_why = "running cap";
  dense.curves = {{"this scenario", "uniform", {}}};
  for (const double running : {1.0, 8.0, 64.0}) {
    BatchPoint point;
    point.running = running;
    point.seconds = 0.01;
    point.joules = 2;
    point.part_seconds[0] = 0.01;
    point.part_joules[0] = 2;
    dense.curves[0].points.push_back(point);
  }
  check_drawn(report_html(test::synthetic_report(), dense), 10);
  check_drawn(report_html(Report{}, PageData{}), 0);
}

TEST_CASE("sweep --html: a page with the rows that ran") {
  const test::TemporaryFolder folder;
  const auto run = test::run_plateau("sweep " PLATEAU_SOURCE_DIR
                                     "/scenarios/teach-kv-wall.yaml --vary "
                                     "workload.concurrency=1,8,16 --html " +
                                     folder.path("p.html"));
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const std::string page = read_all(folder.path("p.html"));
  const Json data = data_of(page);
  CHECK(data["kind"] == "sweep");
  REQUIRE(data["rows"].size() == 3);
  CHECK(data["columns"][0]["name"] == "workload.concurrency");
  CHECK(data["rows"][2][0] == 16);
  for (const Json& row : data["rows"]) CHECK(row.size() == data["columns"].size());
  check_drawn(page, 1);
}

TEST_CASE("sweep page: draws its front") {
  SweepPage sweep;
  sweep.title = "s.yaml";
  sweep.question = "Which batch <is> best?";
  sweep.columns = {{"workload.concurrency", SweepColumn::Kind::varied},
                   {"output_tok_per_s", SweepColumn::Kind::figure},
                   {"j_per_output_token", SweepColumn::Kind::figure},
                   {"binding", SweepColumn::Kind::word}};
  for (int i = 1; i <= 12; ++i) {
    sweep.rows.push_back({std::to_string(64 * i), std::to_string(900 - 3000 / i),
                          i == 5 ? "" : std::to_string(2.0 / i + 0.02 * i * i), "moe"});
  }
  check_drawn(sweep_html(sweep), 1);
  sweep.rows.clear();
  check_drawn(sweep_html(sweep), 0);
}
