// The table that plain `nvidia-smi` prints, once or in a loop.
//
//   |   0  NVIDIA H200                    On  |   00000000:18:00.0 Off |                    0 |
//   | N/A   32C    P0             119W / 700W |       4MiB / 143771MiB |      0%      Default |
#include <cctype>

#include "calibration/import/formats.h"
#include "calibration/import/line_source.h"
#include "calibration/import/token.h"
#include "calibration/whole.h"

namespace plateau::imports {
namespace {

// A number followed by `unit` (blanks between allowed), and what stands behind.
std::optional<double> with_unit(std::string_view& text, std::string_view unit) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (std::isdigit(static_cast<unsigned char>(text[at])) == 0) continue;
    const auto found = leading_number(text.substr(at));
    if (!found) continue;
    const std::string_view rest = text.substr(at + found->length);
    const std::string_view behind = rest.substr(std::min(rest.find_first_not_of(' '), rest.size()));
    if (behind.substr(0, unit.size()) == unit) {
      text = behind.substr(unit.size());
      return found->value;
    }
    at += found->length - 1;
  }
  return std::nullopt;
}

std::vector<std::string_view> fields_of(std::string_view text) {
  std::vector<std::string_view> fields;
  std::size_t at = 1;
  for (std::size_t bar = text.find('|', at); bar != kNowhere; bar = text.find('|', at)) {
    fields.push_back(text.substr(at, bar - at));
    at = bar + 1;
  }
  return fields;
}

struct Gpu {
  std::optional<double> index;
  std::string name;
};

// "   0  NVIDIA H200                    On  "
std::optional<Gpu> name_row(std::string_view field) {
  const std::string_view text = trimmed(field);
  const auto index = leading_number(text);
  if (!index || text.substr(index->length, 2) != "  ") return std::nullopt;
  const std::string_view rest = trimmed(text.substr(index->length));
  const std::size_t end = rest.find("  ");
  const std::string_view name = end == kNowhere ? rest : rest.substr(0, end);
  if (name.empty() || std::isalpha(static_cast<unsigned char>(name[0])) == 0) return std::nullopt;
  return Gpu{index->value, std::string(name)};
}

class Table {
 public:
  explicit Table(Recorder& recorder)
      : recorder_(recorder), series_(recorder.series("gpu_samples")), gpu_(series_.column("gpu")) {}

  void line(const Line& line) {
    if (line.text.empty() || line.text[0] != '|') return time_line(line);
    const std::vector<std::string_view> fields = fields_of(line.text);
    if (contains(line.text, "Driver Version:") && line.terminated) version(line);
    if (fields.size() < 3) return;
    if (const auto gpu = name_row(fields[0]); gpu && contains(fields[1], ":")) {
      gpu_row_ = *gpu;
      return;
    }
    if (gpu_row_ && contains(line.text, "MiB")) values(fields, line);
  }

  void finish() {
    recorder_.report().gpus = static_cast<int>(gpus_.size());
    clock_.finish(recorder_);
  }

 private:
  void version(const Line& line) {
    constexpr std::string_view kVersion = "Driver Version:";
    std::string_view rest = line.text.substr(find_text(line.text, kVersion) + kVersion.size());
    rest = trimmed(rest);
    const std::size_t end = rest.find(' ');
    if (end != kNowhere && end > 0) recorder_.fact_text("driver", rest.substr(0, end), line.number);
  }

  // "Sun Jan 15 12:34:56 2025"
  void time_line(const Line& line) {
    constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
    const std::string_view text = trimmed(line.text);
    if (text.size() != 24 || !line.terminated) return;
    const std::size_t month = kMonths.find(text.substr(4, 3));
    const auto day = number(trimmed(text.substr(8, 2)));
    const auto year = number(text.substr(20, 4));
    if (month == kNowhere || month % 3 != 0 || !day || !year) return;
    char iso[32];
    std::snprintf(iso, sizeof iso, "%04d-%02d-%02d ", whole<int>(*year),
                  static_cast<int>(month / 3) + 1, whole<int>(*day));
    const auto time = leading_date_time(iso + std::string(text.substr(11, 8)));
    if (!time) return;
    time_ = time->value;
    clock_.see(*time_, line.number);
  }

  void values(const std::vector<std::string_view>& fields, const Line& line) {
    series_.begin_row(recorder_.file(), line.number);
    const auto set = [&](const char* column, std::optional<double> value) {
      if (value) series_.set(series_.column(column), *value);
    };
    std::string_view left = fields[0];
    set("temperature_c", with_unit(left, "C"));
    std::string_view power = fields[0];
    set("power_w", with_unit(power, "W /"));
    set("power_limit_w", with_unit(power, "W"));
    std::string_view memory = fields[1];
    set("memory_used_mib", with_unit(memory, "MiB /"));
    set("memory_total_mib", with_unit(memory, "MiB"));
    std::string_view utilization = fields[2];
    set("utilization_pct", with_unit(utilization, "%"));
    if (series_.row_has_cells()) {
      set("gpu", gpu_row_->index);
      series_.set_word(series_.column("gpu_name", true), gpu_row_->name);
      if (gpu_row_->index) gpus_[*gpu_row_->index] = 1;
      set("local_s", time_);
      if (time_) recorder_.time(Clock::local, *time_);
      series_.end_row();
      recorder_.row();
    } else {
      recorder_.ignore("rows without a value", line.number);
    }
    gpu_row_.reset();
  }

  Recorder& recorder_;
  Series& series_;
  std::size_t gpu_;
  std::optional<Gpu> gpu_row_;
  std::optional<double> time_;
  std::map<double, int> gpus_;
  ClockWatch clock_;
};

}  // namespace

void import_nvidia_smi_table(ByteSource& bytes, Recorder& recorder) {
  recorder.report().era = "table of plain nvidia-smi";
  LineSource lines(bytes);
  Table table(recorder);
  Line line;
  while (lines.next(line)) table.line(line);
  table.finish();
}

}  // namespace plateau::imports
