#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "sim/report/page.h"
#include "tests/support/synthetic_report.h"

using namespace plateau;
using Json = nlohmann::json;

namespace {

Json data_of(const std::string& page) {
  const std::string open = "<script type=\"application/json\" id=\"data\">";
  const std::size_t start = page.find(open);
  REQUIRE(start != std::string::npos);
  const std::size_t from = start + open.size();
  return Json::parse(page.substr(from, page.find("</script>", from) - from));
}

std::size_t times(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++count;
  return count;
}

PageData two_curves() {
  PageData data;
  data.context_tokens = 192;
  data.most_running = 1935;
  data.most_running_why = "KV pool";
  data.experts = 4;
  data.top_k = 2;
  data.curves = {{"this scenario", "Zipf, alpha 1", {}}, {"even", "uniform", {}}};
  for (RoutedCurve& curve : data.curves) {
    for (const double running : {1.0, 64.0, 1935.0}) {
      BatchPoint point;
      point.running = running;
      point.seconds = 0.02 + running * 1e-4;
      point.joules = point.seconds * 300;
      point.part_seconds[static_cast<std::size_t>(Part::moe)] = point.seconds;
      point.part_joules[static_cast<std::size_t>(Part::moe)] = point.joules;
      curve.points.push_back(point);
    }
  }
  data.heat_tokens = 3;
  data.heat = {{3, 2, 1, 0}, {0, 0, 3, 3}};
  return data;
}

}  // namespace

TEST_CASE("report page: one JSON block holds the whole report and what charts need") {
  const Report report = test::synthetic_report();
  const PageData given = two_curves();
  const std::string page = report_html(report, given);
  const Json data = data_of(page);
  CHECK(data["schema"] == "plateau-page/1");
  CHECK(data["headline"] == headline(report));
  CHECK(data["report"] == Json::parse(report_json(report)));  // every key, unrounded
  CHECK(data["report"].contains("series"));
  const Json& curve = data["batch"]["curves"][1];
  CHECK(curve["name"] == "even");
  CHECK(curve["tok_per_s"].size() == 3);
  CHECK(curve["tok_per_s"][2].get<double>() ==
        doctest::Approx(1935 / given.curves[1].points[2].seconds).epsilon(1e-5));
  CHECK(curve["gpu_w"][0] == doctest::Approx(300));
  CHECK(curve["part_ms"].size() == 1);  // parts that take no time are left out
  CHECK(curve["part_j"]["moe"][0] ==
        doctest::Approx(given.curves[1].points[0].joules * report.subject.gpus).epsilon(1e-5));
  CHECK(data["experts_of_a_step"]["layers"][1][2] == 3);
  CHECK(page == report_html(report, given));
}

TEST_CASE("report page: nothing is loaded from anywhere, no field of the shell is left") {
  const std::string page = report_html(test::synthetic_report(), two_curves());
  for (const char* word : {"http://", "https://", "src=", "@import", "url(", "@TITLE@", "@STYLE@",
                           "@DATA@", "@SCRIPT@"})
    CHECK_MESSAGE(page.find(word) == std::string::npos, word);
  CHECK(times(page, "<script") == 2);
  CHECK(times(page, "</script>") == 2);
  CHECK(page.find("prefers-color-scheme: dark") != std::string::npos);
  CHECK(page.find("@media print") != std::string::npos);
}

TEST_CASE("report page: text of the user cannot leave its place") {
  Report report = test::synthetic_report();
  report.subject.file = "</title><script>alert(1)</script>";
  report.subject.question = "</script><b> & @SCRIPT@ \"quoted\"?";
  report.warnings = {"</SCRIPT>"};
  const std::string page = report_html(report, PageData{});
  CHECK(times(page, "<script") == 2);
  CHECK(page.find("alert(1)</script>") == std::string::npos);
  const Json data = data_of(page);
  CHECK(data["report"]["scenario"]["question"] == report.subject.question);
  CHECK(data["report"]["warnings"][0] == "</SCRIPT>");
}

TEST_CASE("latency histograms: every sample lies between its bucket's edges") {
  LatencyHistograms latencies;
  CHECK(latencies.histogram(LatencyHistograms::ttft).counts.empty());
  test::FakeRun run(latencies);
  test::play(run, {{4, 2}, {0, 0}});
  const Histogram itl = latencies.histogram(LatencyHistograms::itl);  // 10 ms, 4 x 4 + 4 x 2 tokens
  REQUIRE(itl.counts.size() == 1);
  CHECK(itl.counts[0] == 24);
  CHECK(itl.edges_ms[0] <= 10);
  CHECK(itl.edges_ms[1] > 10);
  CHECK(itl.edges_ms[1] / itl.edges_ms[0] <= 1.125 + 1e-12);
  const Histogram ttft = latencies.histogram(LatencyHistograms::ttft);  // 4 ms and 2 ms
  CHECK(ttft.counts.front() == 2);
  CHECK(ttft.counts.back() == 4);
  CHECK(ttft.edges_ms.size() == ttft.counts.size() + 1);
  CHECK(ttft.edges_ms.front() <= 2);
  CHECK(ttft.edges_ms[ttft.counts.size() - 1] <= 4);
  CHECK(ttft.edges_ms.back() > 4);
}

TEST_CASE("sweep page: numbers are numbers, missing cells null, words words") {
  SweepPage sweep;
  sweep.title = "s.yaml";
  sweep.question = "How many?";
  sweep.columns = {{"workload.concurrency", SweepColumn::Kind::varied},
                   {"output_tok_per_s", SweepColumn::Kind::figure},
                   {"binding", SweepColumn::Kind::word}};
  sweep.rows = {{"64", "123.5", "moe"}, {"128", "", "7"}, {"auto", "5"}};
  sweep.infeasible = 2;
  const std::string page = sweep_html(sweep);
  const Json data = data_of(page);
  CHECK(data["kind"] == "sweep");
  CHECK(data["columns"][0] == Json({{"name", "workload.concurrency"}, {"kind", "varied"}}));
  CHECK(data["rows"] ==
        Json::parse(R"([[64, 123.5, "moe"], [128, null, "7"], ["auto", 5, null]])"));
  CHECK(data["infeasible"] == 2);
  CHECK(page.find("http") == std::string::npos);
}
