#include "calibration/import/gpu_columns.h"

#include <algorithm>
#include <array>
#include <utility>

#include "calibration/import/token.h"

namespace plateau::imports {
namespace {

struct Name {
  const char* name;
  const char* quantity;
  const char* unit;  // fixed by the documentation
};

constexpr Name kNvidiaNames[] = {
    {"power.draw", "power", ""},
    {"power.draw.average", "power_average", ""},
    {"power.draw.instant", "power_instant", ""},
    {"enforced.power.limit", "power_limit", ""},
    {"power.limit", "power_limit", ""},
    {"clocks.sm", "sm_clock", ""},
    {"clocks.current.sm", "sm_clock", ""},
    {"clocks.gr", "graphics_clock", ""},
    {"clocks.current.graphics", "graphics_clock", ""},
    {"clocks.mem", "memory_clock", ""},
    {"clocks.current.memory", "memory_clock", ""},
    {"utilization.gpu", "utilization", "%"},
    {"utilization.memory", "memory_utilization", "%"},
    {"memory.used", "memory_used", ""},
    {"memory.free", "memory_free", ""},
    {"memory.total", "memory_total", ""},
    {"temperature.gpu", "temperature", "C"},
    {"temperature.memory", "memory_temperature", "C"},
    {"fan.speed", "fan", "%"},
};

// amd-smi documents W, MHz, C and % for these columns.
constexpr Name kAmdNames[] = {
    {"socket_power", "power", "W"},
    {"current_socket_power", "power", "W"},
    {"average_socket_power", "power_average", "W"},
    {"power_usage", "power", "W"},
    {"max_power", "power_limit", "W"},
    {"gfx_clk", "sm_clock", "MHz"},
    {"gfx_clock", "sm_clock", "MHz"},
    {"gfx_0_clk", "sm_clock", "MHz"},
    {"mem_clk", "memory_clock", "MHz"},
    {"mem_clock", "memory_clock", "MHz"},
    {"mem_0_clk", "memory_clock", "MHz"},
    {"gfx", "utilization", "%"},
    {"gfx_activity", "utilization", "%"},
    {"mem", "memory_utilization", "%"},
    {"umc_activity", "memory_utilization", "%"},
    {"hotspot", "temperature", "C"},
    {"hotspot_temperature", "temperature", "C"},
    {"memory_temperature", "memory_temperature", "C"},
    {"average graphics package power", "power", ""},
    {"current socket graphics package power", "power", ""},
};

constexpr Name kDmonNames[] = {
    {"pwr", "power", ""},
    {"gtemp", "temperature", ""},
    {"mtemp", "memory_temperature", ""},
    {"sm", "utilization", ""},
    {"mem", "memory_utilization", ""},
    {"pclk", "sm_clock", ""},
    {"mclk", "memory_clock", ""},
    {"fb", "memory_used", ""},
    {"rxpci", "pcie_rx", ""},
    {"txpci", "pcie_tx", ""},
};

struct Unit {
  const char* unit;
  const char* suffix;
  double factor;
};

constexpr Unit kUnits[] = {
    {"W", "_w", 1},       {"mW", "_w", 1e-3},    {"kW", "_w", 1e3},  {"MHz", "_mhz", 1},
    {"GHz", "_mhz", 1e3}, {"%", "_pct", 1},      {"pct", "_pct", 1}, {"C", "_c", 1},
    {"MiB", "_mib", 1},   {"GiB", "_mib", 1024}, {"MB", "_mb", 1},   {"MB/s", "_mb_per_s", 1},
    {"mJ", "_j", 1e-3},   {"J", "_j", 1},        {"us", "_us", 1},   {"ns", "_ns", 1},
    {"bool", "", 1},
};

const char* unit_of_suffix(std::string_view suffix) {
  constexpr std::array<std::pair<std::string_view, const char*>, 12> kSuffixes = {{{"w", "W"},
                                                                                   {"watts", "W"},
                                                                                   {"mw", "mW"},
                                                                                   {"mhz", "MHz"},
                                                                                   {"c", "C"},
                                                                                   {"celsius", "C"},
                                                                                   {"pct", "%"},
                                                                                   {"percent", "%"},
                                                                                   {"mib", "MiB"},
                                                                                   {"gib", "GiB"},
                                                                                   {"mb", "MB"},
                                                                                   {"j", "J"}}};
  for (const auto& [name, unit] : kSuffixes) {
    if (name == suffix) return unit;
  }
  return "";
}

// Own scripts: what the words of the name say, with the unit at its end ("clk_mem_mhz").
GpuColumn own_column(const HeaderCell& header) {
  const std::string name = column_name(header.name);
  const std::size_t bar = name.rfind('_');
  const std::string_view suffix =
      bar == std::string::npos ? std::string_view() : std::string_view(name).substr(bar + 1);
  std::string unit = header.unit.empty() ? unit_of_suffix(suffix) : header.unit;
  const std::string base = header.unit.empty() && !unit.empty() ? name.substr(0, bar) : name;
  const auto has = [&](std::string_view word) { return contains("_" + base + "_", word); };
  GpuColumn column{GpuColumn::Kind::number, header.name, base, unit};
  if (has("power") || has("_pwr_") || has("watt")) {
    column.quantity = has("limit") || has("cap")     ? "power_limit"
                      : has("instant")               ? "power_instant"
                      : has("average") || has("avg") ? "power_average"
                                                     : "power";
  } else if (has("clk") || has("clock") || has("_sm_") || (has("_mhz_") && unit.empty())) {
    column.quantity = has("mem")  ? "memory_clock"
                      : has("gr") ? "graphics_clock"
                      : has("sm") ? "sm_clock"
                                  : "clock";
  } else if (has("util")) {
    column.quantity = has("mem") ? "memory_utilization" : "utilization";
  } else if (has("temp")) {
    column.quantity = has("mem") ? "memory_temperature" : "temperature";
  } else if (unit.empty()) {
    column.kind = GpuColumn::Kind::skip;
  }
  return column;
}

}  // namespace

GpuColumn gpu_column(const HeaderCell& header, GpuTool tool) {
  const std::string name = lower(header.name);
  const auto is = [&](std::initializer_list<const char*> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  using Kind = GpuColumn::Kind;
  if (is({"timestamp", "time", "t", "t_s", "time_s", "elapsed_s", "epoch_s", "unix_time"})) {
    return {Kind::time, header.name, "", ""};
  }
  if (is({"index", "gpu_index", "gpu", "gpu_id", "device", "idx"}))
    return {Kind::gpu, header.name, "", ""};
  if (is({"name", "gpu_name"})) return {Kind::word, header.name, "gpu_name", ""};
  if (is({"pstate", "uuid", "gpu_uuid"})) return {Kind::word, header.name, column_name(name), ""};
  if (is({"clocks_event_reasons.active", "clocks_throttle_reasons.active"})) {
    return {Kind::word, header.name, "event_reasons", ""};
  }
  const auto known = [&](const Name* first, const Name* last) {
    const Name* found =
        std::find_if(first, last, [&](const Name& entry) { return name == entry.name; });
    return found == last ? nullptr : found;
  };
  const Name* entry = tool == GpuTool::amd_smi ? known(std::begin(kAmdNames), std::end(kAmdNames))
                      : tool == GpuTool::dmon
                          ? known(std::begin(kDmonNames), std::end(kDmonNames))
                          : known(std::begin(kNvidiaNames), std::end(kNvidiaNames));
  if (entry != nullptr) {
    return {Kind::number, header.name, entry->quantity,
            header.unit.empty() ? entry->unit : header.unit};
  }
  if (tool == GpuTool::dmon) {
    const bool named = !header.unit.empty();
    return {named ? Kind::number : Kind::skip, header.name, column_name(name), header.unit};
  }
  return own_column(header);
}

std::optional<UnitColumn> unit_column(std::string_view quantity, std::string_view unit) {
  for (const Unit& known : kUnits) {
    if (unit == known.unit) return UnitColumn{std::string(quantity) + known.suffix, known.factor};
  }
  return std::nullopt;
}

GpuTable::GpuTable(Recorder& recorder, std::vector<GpuColumn> columns)
    : recorder_(recorder),
      series_(recorder.series("gpu_samples")),
      columns_(std::move(columns)),
      gpu_(series_.column("gpu")) {
  for (const GpuColumn& column : columns_) {
    if (column.kind == GpuColumn::Kind::skip) {
      recorder_.ignore("column '" + column.source + "' (no unit or not a GPU figure)", 1);
    }
  }
}

void GpuTable::row(const std::vector<Cell>& cells, const Line& line) {
  if (cells.size() > columns_.size()) {
    return recorder_.ignore("rows with more cells than columns", line.number);
  }
  series_.begin_row(recorder_.file(), line.number);
  const std::int64_t missing_before = missing_;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const GpuColumn& column = columns_[i];
    const bool ended = cells[i].comma || (i + 1 == columns_.size() && line.terminated);
    if (column.kind == GpuColumn::Kind::number) {
      number_cell(column, cells[i].text, ended, line.number);
    } else if (column.kind == GpuColumn::Kind::word && ended && !is_missing(cells[i].text)) {
      series_.set_word(series_.column(column.quantity, true), cells[i].text);
    }
  }
  if (missing_ > missing_before && first_missing_ == 0) first_missing_ = line.number;
  if (!series_.row_has_cells()) return recorder_.ignore("rows without a value", line.number);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (!cells[i].comma && !(i + 1 == columns_.size() && line.terminated)) continue;
    if (columns_[i].kind == GpuColumn::Kind::time) time_cell(cells[i].text, line.number);
    if (columns_[i].kind == GpuColumn::Kind::gpu) gpu_cell(cells[i].text);
  }
  if (row_time) series_.set(series_.column("local_s"), *row_time);
  series_.end_row();
  recorder_.row();
}

void GpuTable::number_cell(const GpuColumn& column, std::string_view text, bool ended,
                           std::int64_t line) {
  if (is_missing(text)) {
    missing_ += ended ? 1 : 0;
    return;
  }
  const std::optional<Leading> found = leading_number(text);
  if (!found) return;
  const std::string_view unit = trimmed(text.substr(found->length));
  if (unit.empty() && !ended) return;
  std::optional<UnitColumn> target;
  if (!unit.empty()) {
    target = unit_column(column.quantity, unit);
    if (!target && !ended) return;  // "26 M"
  } else if (!column.unit.empty()) {
    target = unit_column(column.quantity, column.unit);
  } else {
    recorder_.fail(line,
                   "column '" + column.source +
                       "' has no unit, neither in the header nor in "
                       "its cells",
                   "log it with units (nvidia-smi --format=csv), or name the columns with units: "
                   "--columns 'index,power.draw [W],...'");
  }
  if (!target) return recorder_.ignore("cells with an unknown unit", line);
  series_.set(series_.column(target->column), found->value * target->factor);
}

void GpuTable::time_cell(std::string_view text, std::int64_t line) {
  Clock clock = Clock::local;
  double seconds = 0;
  if (const auto date = leading_date_time(text)) {
    seconds = date->value;
  } else if (const auto plain = number(text)) {
    constexpr double kEpochSeconds = 1e9;  // 2001
    constexpr double kEpochMilliseconds = 1e12;
    clock = *plain < kEpochSeconds ? Clock::run : Clock::epoch;
    seconds = *plain < kEpochMilliseconds ? *plain : *plain / 1000;
  } else {
    return recorder_.ignore("time stamps of an unknown form", line);
  }
  series_.set(series_.column(column_of(clock)), seconds);
  clock_.see(seconds, line);
  recorder_.time(clock, seconds);
}

// "3", "card0", "GPU 3", "cuda:1"; the digits of a product's name ("H100") are no index.
void GpuTable::gpu_cell(std::string_view text) {
  const std::size_t digit = text.find_first_of("0123456789");
  if (digit == kNowhere) return;
  const auto index = number(text.substr(digit));
  std::string word = lower(trimmed(text.substr(0, digit)));
  while (!word.empty() && (word.back() == ':' || word.back() == '_' || word.back() == '#' ||
                           word.back() == ' ' || word.back() == '-')) {
    word.pop_back();
  }
  constexpr std::array<std::string_view, 6> kWords = {"",     "gpu",    "card",
                                                      "cuda", "device", "nvidia"};
  if (!index || std::find(kWords.begin(), kWords.end(), word) == kWords.end()) return;
  series_.set(gpu_, *index);
  ++gpus_[*index];
}

void GpuTable::finish() {
  clock_.finish(recorder_);
  recorder_.report().gpus = static_cast<int>(gpus_.size());
  if (missing_ > 0) {
    recorder_.ignore("cells without a value ([N/A], -, empty): missing, not 0", first_missing_,
                     missing_);
  }
}

}  // namespace plateau::imports
