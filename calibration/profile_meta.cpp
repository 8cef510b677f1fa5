#include "calibration/profile_meta.h"

#include <algorithm>
#include <cstdint>

#include "calibration/config_reader.h"
#include "calibration/csv.h"
#include "models/random.h"

namespace plateau {
namespace {

const ConfigReader::Choices<Source> kSourceNames = {{"measured", Source::measured},
                                                    {"interpolated", Source::interpolated},
                                                    {"extrapolated", Source::extrapolated},
                                                    {"assumed", Source::assumed}};

class MetaReader {
 public:
  MetaReader(const std::string& folder, const std::string& profile_name)
      : folder_(folder), reader_(read_yaml_file(folder + "/meta.yaml")) {
    meta_.provenance.profile = profile_name;
  }

  ProfileMeta read() {
    const std::vector<std::string> kinds = {"fitted", "measured", "scaled"};
    const auto kind = reader_.choose("kind", kinds);
    if (!reader_.has("kind")) reader_.complain("kind", "is missing", "fitted, measured or scaled");
    meta_.kind = kinds[kind.value_or(0)];
    fitted_ = meta_.kind == "fitted";
    scaled_ = meta_.kind == "scaled";
    if (scaled_) {
      meta_.scaled_from = reader_.required<std::string>("scaled_from");
      meta_.idle_w = reader_.quantity("idle", Dimension::power, {1, 1e5});
    }
    (void)reader_.optional<std::string>("note");
    (void)reader_.raw("rows");  // what became of the rows of the source's tables: for people
    device();
    if (!scaled_ || reader_.has("launch")) launch();
    meta_.power_known = !scaled_ || reader_.has("power");
    if (meta_.power_known) power();
    stream();
    clock();
    interconnect();
    boards();
    fill();
    provenance();
    tables();
    reader_.finish();
    return std::move(meta_);
  }

 private:
  // {value, band, source, note}
  Estimate term(ConfigReader& parent, const char* key, Dimension dimension, bool needed) {
    if (!parent.has(key)) {
      if (needed) parent.complain(key, "is missing");
      return {};
    }
    ConfigReader reader = parent.section(key);
    const double value = reader.required_quantity("value", dimension, {0, 1e18});
    const double band = reader.required<double>("band", {0, 100});
    const auto source = reader.one_of("source", kSourceNames);
    if (!reader.has("source")) reader.complain("source", "is missing", "measured or assumed");
    (void)reader.optional<std::string>("note");
    Estimate estimate = Estimate::within(value, band, source.value_or(Source::assumed));
    estimate.low = std::max(0.0, estimate.low);
    return estimate;
  }

  void device() {
    ConfigReader reader = reader_.section("device");
    DeviceSpec& device = meta_.device;
    device.name = reader.required<std::string>("name");
    device.memory_bytes = reader.required_quantity("memory", Dimension::memory, {1, 1e15});
    device.memory_bandwidth =
        reader.required_quantity("memory_bandwidth", Dimension::bandwidth, {1, 1e16});
    device.bf16_flops = reader.required_quantity("bf16", Dimension::compute, {1, 1e18});
    device.fp8_flops = reader.quantity("fp8", Dimension::compute, {1, 1e18}).value_or(0);
    device.fp4_flops = reader.quantity("fp4", Dimension::compute, {1, 1e18}).value_or(0);
    device.power_limit_w = reader.required_quantity("power_limit", Dimension::power, {1, 1e5});
    device.sm_clock_mhz =
        reader.required_quantity("sm_clock", Dimension::frequency, {1e6, 1e11}) / 1e6;
    device.sm_count = reader.required<int>("sms", {1, 100000});
    device.compute_capability_major = reader.required<int>("compute_capability", {1, 1000});
  }

  void launch() {
    ConfigReader reader = reader_.section("launch");
    LaunchLaw& law = meta_.launch;
    const std::pair<const char*, Estimate*> terms[] = {
        {"graph_gap", &law.graph_gap},
        {"graph_layer", &law.graph_layer},
        {"graph_step", &law.graph_step},
        {"eager_gap", &law.eager_gap},
        {"eager_layer", &law.eager_layer},
        {"eager_kernel_launch", &law.eager_kernel_launch},
        {"eager_layer_host", &law.eager_layer_host},
        {"eager_step", &law.eager_step},
        {"host_step", &law.host_step},
        {"host_request", &law.host_request}};
    for (const auto& [key, target] : terms) *target = term(reader, key, Dimension::time, true);
    law.host_slow = term(reader, "host_slow", Dimension::time, false);
    law.host_slow_from = reader.optional<double>("host_slow_from", {0, 1e9}).value_or(0);
    law.host_slow_share = reader.optional<double>("host_slow_share", {0, 1}).value_or(0);
  }

  void clock() {
    if (!reader_.has("clock")) return;
    ConfigReader reader = reader_.section("clock");
    const auto mhz = [&](const char* key) {
      return reader.required_quantity(key, Dimension::frequency, {1e6, 1e11}) / 1e6;
    };
    ClockLaw& law = meta_.clock;
    law.max_mhz = mhz("max");
    law.min_mhz = mhz("min");
    law.knee_mhz = mhz("knee");
    law.voltage_rise = reader.required<double>("voltage_rise", {0, 10});
    law.static_w = reader.required_quantity("static", Dimension::power, {0, 1e5});
    law.base_share = reader.required<double>("base_share", {0, 1});
    law.source = reader.one_of("source", kSourceNames).value_or(Source::assumed);
    (void)reader.optional<std::string>("note");
  }

  void power() {
    ConfigReader reader = reader_.section("power");
    meta_.power_states.idle = term(reader, "idle", Dimension::power, true);
    meta_.power_states.wait = term(reader, "wait", Dimension::power, true);
    meta_.power_states.host_gap = term(reader, "host_gap", Dimension::power, true);
    PowerLaw& law = meta_.power;
    const bool needed = fitted_ || scaled_;
    law.busy_w = term(reader, "busy", Dimension::power, needed);
    law.memory_w = term(reader, "memory", Dimension::power, needed);
    law.tensor_w = term(reader, "tensor", Dimension::power, needed);
    law.memory_rate = rate(reader, "memory_rate", Dimension::bandwidth);
    law.bf16_rate = rate(reader, "bf16_rate", Dimension::compute);
    law.limit_w = meta_.device.power_limit_w;
  }

  void stream() {
    meta_.weight_stream = term(reader_, "weight_stream", Dimension::bandwidth, fitted_);
    meta_.small_kernel = term(reader_, "small_kernel", Dimension::time, fitted_);
  }

  void interconnect() {
    const ConfigReader::Choices<Interconnect> choices = {
        {"nvlink", Interconnect::nvlink},
        {"pcie", Interconnect::pcie},
        {"pcie_host_staged", Interconnect::pcie_host_staged}};
    const auto chosen = reader_.one_of("interconnect", choices);
    if (fitted_ && !reader_.has("interconnect")) reader_.complain("interconnect", "is missing");
    meta_.interconnect = chosen.value_or(Interconnect::nvlink);
  }

  double rate(ConfigReader& reader, const char* key, Dimension dimension) {
    if (fitted_ || scaled_) return reader.required_quantity(key, dimension, {1, 1e18});
    return reader.quantity(key, dimension, {1, 1e18}).value_or(0);
  }

  void boards() {
    meta_.board = reader_.optional<std::string>("board").value_or("");
    const ConfigNode* node = reader_.raw("boards");
    if (node == nullptr) return;
    ConfigReader boards = reader_.section("boards");
    for (const std::string& name : node->keys) {
      ConfigReader board = boards.section(name);
      meta_.boards[name] = board.required<double>("gain", {0.01, 100});
      (void)board.optional<std::string>("note");
    }
  }

  void fill() {
    if (!reader_.has("fill_from")) return;
    ConfigReader reader = reader_.section("fill_from");
    meta_.fill_from = reader.required<std::string>("profile");
    meta_.fill_operations =
        reader.list<std::string>("operations").value_or(std::vector<std::string>{});
    (void)reader.optional<std::string>("note");
  }

  void provenance() {
    ConfigReader reader = reader_.section("provenance");
    Provenance& provenance = meta_.provenance;
    provenance.source = reader.required<std::string>("source");
    provenance.licence = reader.required<std::string>("licence");
    provenance.date = reader.required<std::string>("date");
    provenance.engine = reader.required<std::string>("engine");
    provenance.driver = reader.optional<std::string>("driver").value_or("");
    provenance.tool = reader.required<std::string>("tool");
    (void)reader.optional<std::string>("changes");
  }

  void tables() {
    const ConfigNode* node = reader_.raw("tables");
    if (node == nullptr && scaled_) return;  // those of the profile it is scaled from
    if (node == nullptr) return reader_.complain("tables", "is missing", "name the CSV files");
    ConfigReader tables = reader_.section("tables");
    for (const std::string& name : node->keys) {
      ConfigReader table = tables.section(name);
      TableInfo info;
      info.name = name;
      info.noise = table.required<double>("noise", {0, 10});
      (void)table.optional<std::string>("note");
      try {
        info.digest = digest_of(read_file(folder_ + "/" + name));
      } catch (const InputError& error) {
        for (const Problem& problem : error.problems()) reader_.add(problem);
      }
      meta_.provenance.tables.push_back(std::move(info));
    }
  }

  std::string folder_;
  ConfigReader reader_;
  ProfileMeta meta_;
  bool fitted_ = false;
  bool scaled_ = false;
};

}  // namespace

std::string digest_of(std::string_view content) {
  static constexpr const char* kDigits = "0123456789abcdef";
  const std::uint64_t hash = fnv1a(content);
  std::string text(16, '0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = kDigits[(hash >> (60 - 4 * i)) & 15u];
  return text;
}

ProfileMeta read_profile_meta(const std::string& folder, const std::string& profile_name) {
  return MetaReader(folder, profile_name).read();
}

}  // namespace plateau
