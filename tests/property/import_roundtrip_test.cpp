// Random records printed in the grammar of every era read back equal, whatever stands between them.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>

#include "tests/support/import_support.h"

using namespace plateau::imports;

namespace {

// A number with a fixed count of decimals, as the engines print it.
double decimal(int low, int high, double scale) { return *rc::gen::inRange(low, high) / scale; }

struct Decode {
  int running, tokens, queue;
  double usage, throughput;
  double accept = 0;  // 0: not printed
  bool graph;
};

Decode random_decode() {
  Decode decode{};
  decode.running = *rc::gen::inRange(1, 4097);
  decode.tokens = *rc::gen::inRange(0, 3000000);
  decode.queue = *rc::gen::inRange(0, 5000);
  decode.usage = decimal(0, 101, 100);
  decode.throughput = decimal(0, 2000000, 100);
  decode.accept = *rc::gen::arbitrary<bool>() ? decimal(100, 400, 100) : 0;
  decode.graph = *rc::gen::arbitrary<bool>();
  return decode;
}

enum Era { era_046, era_2025_05, era_050, era_055, era_059, era_2026_05, era_swa, kEras };

std::string print(const Decode& d, int era, int second) {
  const char* sign = era <= era_050 ? "." : ",";
  std::string text =
      fmt::format("[2026-01-02 03:{:02}:{:02} TP0] Decode batch", second / 60, second % 60);
  if (era == era_2026_05) text += fmt::format(" [{}]", 40 * (second + 1));
  text += fmt::format("{} #running-req: {}, ", sign, d.running);
  if (era == era_swa) {
    text += fmt::format(
        "#full token: {}, full token usage: {:.2f}, #swa token: 77, swa token usage: 0.01, ",
        d.tokens, d.usage);
  } else {
    text += fmt::format("#token: {}, token usage: {:.2f}, ", d.tokens, d.usage);
  }
  if (d.accept > 0) text += fmt::format("accept len: {:.2f}, ", d.accept);
  if (era != era_046) text += fmt::format("cuda graph: {}, ", d.graph ? "True" : "False");
  text += fmt::format("gen throughput (token/s): {:.2f}, #queue-req: {}", d.throughput, d.queue);
  if (era == era_050 || era == era_055) text += ", ";
  if (era == era_2026_05) text += ", est. read BW (GB/s per GPU): 900.00, fwd occupancy: 93.10%";
  return text;
}

struct Prefill {
  int fresh, tokens, cached, running, queue, pending;
  double usage, throughput;
};

Prefill random_prefill() {
  return {*rc::gen::inRange(1, 300),  *rc::gen::inRange(1, 16385), *rc::gen::inRange(0, 9999),
          *rc::gen::inRange(0, 4096), *rc::gen::inRange(0, 9999),  *rc::gen::inRange(0, 1000000),
          decimal(0, 101, 100),       decimal(0, 9000000, 100)};
}

std::string print(const Prefill& p, int era, int second) {
  const char* sign = era <= era_050 ? "." : ",";
  std::string text = fmt::format(
      "[2026-01-02 03:{:02}:{:02} TP0] Prefill batch{} #new-seq: {}, #new-token: {}, "
      "#cached-token: {}, token "
      "usage: {:.2f}, #running-req: {}, #queue-req: {}",
      second / 60, second % 60, sign, p.fresh, p.tokens, p.cached, p.usage, p.running, p.queue);
  if (era == era_055) text += ", ";
  if (era == era_059)
    text += fmt::format(", input throughput (token/s): {:.2f}, cuda graph: False", p.throughput);
  if (era >= era_2026_05) {
    text +=
        fmt::format(", #pending-token: {}, cuda graph: False, input throughput (token/s): {:.2f}",
                    p.pending, p.throughput);
  }
  return text;
}

// Lines of other programs.
std::string noise() {
  return *rc::gen::element<std::string>(
      "INFO:     192.0.2.1:1234 - \"POST /generate HTTP/1.1\" 200 OK", "", "Capturing batches: 12",
      "[2026-01-02 03:00:00 TP0] The server is fired up and ready to roll!", "# 2048, 77: 5");
}

}  // namespace

TEST_CASE("SGLang records of every era read back as printed") {
  CHECK(rc::check("decode and prefill records", [] {
    const int era = *rc::gen::inRange(0, static_cast<int>(kEras));
    const int count = *rc::gen::inRange(1, 12);
    const std::string end = *rc::gen::element<std::string>("\n", "\r\n");
    std::string text;
    std::vector<Decode> decodes;
    std::vector<Prefill> prefills;
    std::vector<int> lines;
    int line = 0;
    for (int i = 0; i < count; ++i) {
      if (*rc::gen::arbitrary<bool>()) {
        text += noise() + end;
        ++line;
      }
      if (*rc::gen::arbitrary<bool>()) {
        decodes.push_back(random_decode());
        text += print(decodes.back(), era, i) + end;
        lines.push_back(++line);
      } else {
        prefills.push_back(random_prefill());
        text += print(prefills.back(), era, i) + end;
        ++line;
      }
    }
    const Measurement m = import_text(text);
    const auto decode = rows_of(m, "decode");
    RC_ASSERT(decode.size() == decodes.size());
    for (std::size_t i = 0; i < decodes.size(); ++i) {
      RC_ASSERT(decode[i].line == lines[i]);
      RC_ASSERT(decode[i].at("running_requests") == decodes[i].running);
      RC_ASSERT(decode[i].at("kv_used_tokens") == decodes[i].tokens);
      RC_ASSERT(decode[i].at("kv_usage_share") == decodes[i].usage);
      RC_ASSERT(decode[i].at("gen_throughput_tok_per_s") == decodes[i].throughput);
      RC_ASSERT(decode[i].at("queue_requests") == decodes[i].queue);
      RC_ASSERT(decode[i].has("accept_len_tokens") == (decodes[i].accept > 0));
      if (era != era_046) RC_ASSERT(decode[i].at("cuda_graph") == (decodes[i].graph ? 1 : 0));
      RC_ASSERT(decode[i].has("cuda_graph") == (era != era_046));
    }
    const auto prefill = rows_of(m, "prefill");
    RC_ASSERT(prefill.size() == prefills.size());
    for (std::size_t i = 0; i < prefills.size(); ++i) {
      RC_ASSERT(prefill[i].at("new_requests") == prefills[i].fresh);
      RC_ASSERT(prefill[i].at("new_tokens") == prefills[i].tokens);
      RC_ASSERT(prefill[i].at("cached_tokens") == prefills[i].cached);
      RC_ASSERT(prefill[i].at("running_requests") == prefills[i].running);
      RC_ASSERT(prefill[i].at("queue_requests") == prefills[i].queue);
      RC_ASSERT(prefill[i].has("input_throughput_tok_per_s") == (era >= era_059));
      if (era >= era_059)
        RC_ASSERT(prefill[i].at("input_throughput_tok_per_s") == prefills[i].throughput);
      if (era >= era_2026_05) RC_ASSERT(prefill[i].at("pending_tokens") == prefills[i].pending);
    }
  }));
}

TEST_CASE("SGLang records wrapped by a terminal read back as printed") {
  CHECK(rc::check("records wrapped at one width", [] {
    const Decode decode = random_decode();
    const std::string text = print(decode, era_055, 0);
    // The phrase itself stays whole, and so does the number that ends the record.
    const int width = *rc::gen::inRange(60, static_cast<int>(text.size()) - 8);
    std::string wrapped = text.substr(0, static_cast<std::size_t>(width));
    RC_PRE(wrapped.back() != ' ');
    wrapped += "\n" + text.substr(static_cast<std::size_t>(width)) + "\n";
    const auto rows = rows_of(import_text(wrapped), "decode");
    RC_ASSERT(rows.size() == 1u);
    RC_ASSERT(rows[0].at("running_requests") == decode.running);
    RC_ASSERT(rows[0].at("kv_used_tokens") == decode.tokens);
    RC_ASSERT(rows[0].at("gen_throughput_tok_per_s") == decode.throughput);
    RC_ASSERT(rows[0].at("queue_requests") == decode.queue);
  }));
}

TEST_CASE("vLLM statistics and iterations read back as printed") {
  CHECK(rc::check("statistics lines, joined or not", [] {
    const int count = *rc::gen::inRange(1, 8);
    std::string text;
    struct Stats {
      double prompt, generation, usage;
      int running, waiting;
      std::optional<int> preempted;
    };
    std::vector<Stats> printed;
    for (int i = 0; i < count; ++i) {
      Stats s{decimal(0, 999999, 10),     decimal(0, 999999, 10),     decimal(0, 1001, 10),
              *rc::gen::inRange(0, 2000), *rc::gen::inRange(0, 2000), std::nullopt};
      if (*rc::gen::arbitrary<bool>()) s.preempted = *rc::gen::inRange(1, 50);
      text += fmt::format(
          "{}INFO 03-17 15:38:{:02} [loggers.py:1] Engine 000: Avg prompt throughput: {:.1f} "
          "tokens/s, Avg "
          "generation throughput: {:.1f} tokens/s, Running: {} reqs, Waiting: {} reqs{}, GPU KV "
          "cache usage: "
          "{:.1f}%, Prefix cache hit rate: 0.0%{}",
          *rc::gen::element<std::string>("", "(APIServer pid=7) ",
                                         "\x1b[36m(Worker pid=8)\x1b[0;0m "),
          i, s.prompt, s.generation, s.running, s.waiting,
          s.preempted ? fmt::format(", Preemptions: {}", *s.preempted) : "", s.usage,
          *rc::gen::element<std::string>("\n", ""));
      printed.push_back(s);
    }
    const auto rows = rows_of(import_text(text), "engine_stats");
    RC_ASSERT(rows.size() == printed.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      RC_ASSERT(rows[i].at("prompt_throughput_tok_per_s") == printed[i].prompt);
      RC_ASSERT(rows[i].at("gen_throughput_tok_per_s") == printed[i].generation);
      RC_ASSERT(rows[i].at("running_requests") == printed[i].running);
      RC_ASSERT(rows[i].at("waiting_requests") == printed[i].waiting);
      RC_ASSERT(rows[i].at("kv_usage_pct") == printed[i].usage);
      RC_ASSERT(rows[i].has("preempted_requests") == printed[i].preempted.has_value());
    }
  }));
}

TEST_CASE("nvidia-smi samples read back as printed, missing ones stay missing") {
  CHECK(rc::check("rows with and without header and units", [] {
    const bool header = *rc::gen::arbitrary<bool>();
    const bool units = !header || *rc::gen::arbitrary<bool>();
    const int count = *rc::gen::inRange(1, 20);
    std::string text =
        header ? "timestamp, index, power.draw [W], utilization.gpu [%], clocks.sm [MHz]\n" : "";
    std::vector<std::optional<double>> power;
    for (int i = 0; i < count; ++i) {
      // Without a header the first row tells the columns, so its cells are there.
      const bool missing = (header || i > 0) && *rc::gen::arbitrary<bool>();
      power.push_back(missing ? std::nullopt : std::optional<double>(decimal(0, 120000, 100)));
      const std::string cell =
          missing ? *rc::gen::element<std::string>("[N/A]", "", "[Not Supported]", "N/A")
                  : fmt::format("{:.2f}{}", *power.back(), units ? " W" : "");
      text += fmt::format("2026/01/02 03:04:{:02}.250, {}, {}, {}{}, {}{}\n", i, i % 8, cell,
                          50 + i, units ? " %" : "", 1000 + i, units ? " MHz" : "");
    }
    const auto rows = rows_of(import_text(text), "gpu_samples");
    RC_ASSERT(rows.size() == power.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      RC_ASSERT(rows[i].has("power_w") == power[i].has_value());
      if (power[i]) RC_ASSERT(rows[i].at("power_w") == *power[i]);
      RC_ASSERT(rows[i].at("utilization_pct") == 50 + static_cast<double>(i));
      RC_ASSERT(rows[i].at(header ? "sm_clock_mhz" : "clock_mhz") == 1000 + static_cast<double>(i));
    }
  }));
}

TEST_CASE("gzip and plain files import alike") {
  const std::string text = slurp(own_sample("sglang-2026-05.log"));
  CHECK(rc::check("any split into gzip members", [&] {
    const auto split =
        static_cast<std::size_t>(*rc::gen::inRange(0, static_cast<int>(text.size())));
    const std::string packed = gzipped(text.substr(0, split)) + gzipped(text.substr(split));
    RC_ASSERT(rows_of(import_text(packed), "decode").size() == 3u);
    RC_ASSERT(import_text(packed).facts.size() == import_text(text).facts.size());
  }));
}
