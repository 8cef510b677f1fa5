// JSON of any shape: each value of each sample replaced in turn by a number, a text, lists and
// objects, straight into every importer of JSON. It is read, left out or refused; what reads past
// the end of a path shows under ASan (tools/sanitize).
#include <doctest/doctest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "calibration/import/formats.h"
#include "calibration/import/json_stream.h"
#include "calibration/import/write_measurement.h"
#include "tests/support/import_support.h"

using namespace plateau::imports;
using Json = nlohmann::ordered_json;

namespace {

constexpr void (*kImporters[])(ByteSource&, Recorder&) = {import_bench_json,    import_server_info,
                                                          import_decode_grid,   import_kineto,
                                                          import_request_jsonl, import_measurement};

void import_everywhere(const std::string& text) {
  CAPTURE(text);
  for (const auto importer : kImporters) {
    Measurement measurement;
    ByteSource bytes = ByteSource::memory(text, "t.json");
    bytes.head();
    measurement.files.push_back({});
    Recorder recorder(measurement, 0);
    try {
      importer(bytes, recorder);
      std::string json;
      write_json(measurement, [&](std::string_view part) { json += part; });
      CHECK(Json::parse(json).contains("series"));
    } catch (const plateau::InputError&) {
    }
  }
}

const std::vector<Json>& shapes() {
  static const std::vector<Json> kShapes = {
      0.75,
      "text",
      nullptr,
      Json::array(),
      Json::object(),
      Json::parse("[1, [2, \"x\"], {\"a\": [3]}]"),
      Json::parse(R"({"0": {"a": 1}, "args": {"b": [1, 2]}})")};
  return kShapes;
}

// `visit` sees the document with each of its values replaced by each shape in turn.
void replace_each(Json& value, const std::function<void()>& visit) {
  const Json original = value;
  for (const Json& shape : shapes()) {
    value = shape;
    visit();
  }
  value = original;
  if (!value.is_structured()) return;
  for (Json& part : value) replace_each(part, visit);
}

}  // namespace

TEST_CASE("JSON of any shape goes through every importer of JSON") {
  for (const Json& shape : shapes()) {
    import_everywhere(shape.dump());
    import_everywhere(Json::array({shape}).dump());
    import_everywhere(shape.dump() + "\n" + shape.dump());
  }
  int documents = 0;
  const std::string folder = std::string(PLATEAU_SOURCE_DIR) + "/tests/data/import/";
  for (const char* sample : {"kineto.json", "server-info.json", "decode-grid.json",
                             "vllm-bench.json", "measurement.json"}) {
    Json document = Json::parse(slurp(folder + sample));
    replace_each(document, [&] {
      import_everywhere(document.dump());
      ++documents;
    });
  }
  CHECK(documents > 1000);
}

TEST_CASE("a step deeper than a JSON path has no name") {
  struct Visitor : JsonVisitor {
    void value(const JsonPath& path, const JsonValue&, std::int64_t) override {
      CHECK(path.depth() == 1);
      CHECK(path[1].key.empty());
      CHECK(path[1].index == -1);
      ++seen;
    }
    void open(const JsonPath& path) override {
      if (path.depth() == 0) CHECK(path.last().key.empty());
    }
    int seen = 0;
  } visitor;
  ByteSource bytes = ByteSource::memory(R"([{"deep": {"er": []}}, 0.75])", "t.json");
  JsonStream stream(bytes, false);
  CHECK(stream.next(visitor) == JsonEnd::complete);
  CHECK(visitor.seen == 1);
}
