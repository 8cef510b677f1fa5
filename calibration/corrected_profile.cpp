#include "calibration/corrected_profile.h"

#include <algorithm>
#include <utility>

#include "calibration/config_reader.h"
#include "calibration/csv.h"
#include "calibration/profile_meta.h"

namespace plateau {

namespace {

constexpr double kP95 = 1.645;  // standard errors from the mean to p95 of a normal law

Estimate correction_of(ConfigReader& parent, const CorrectionKey& key) {
  ConfigReader reader = parent.section(key.key);
  const double most = key.dimension == Dimension::memory ? 1e15 : 1e6;
  const auto number = [&](const char* name) {
    const Limits<double> limits = {0, most};
    return key.dimension ? reader.required_quantity(name, *key.dimension, limits)
                         : reader.required<double>(name, limits);
  };
  const double value = number("value");
  const double error = number("error");
  (void)reader.optional<int>("samples");
  return {value, std::max(0.0, value - kP95 * error), value + kP95 * error, Source::measured};
}

Corrections corrections_of(ConfigReader reader) {
  Corrections corrections;
  for (std::size_t i = 0; i < kCorrections; ++i) {
    const auto correction = static_cast<Correction>(i);
    const CorrectionKey& key = key_of(correction);
    if (reader.has(key.key)) corrections[correction] = correction_of(reader, key);
  }
  return corrections;
}

Provenance provenance_of(ConfigReader reader) {
  Provenance provenance;
  provenance.source = reader.required<std::string>("source");
  provenance.licence = reader.required<std::string>("licence");
  provenance.date = reader.required<std::string>("date");
  provenance.engine = reader.required<std::string>("engine");
  provenance.tool = reader.required<std::string>("tool");
  return provenance;
}

LaunchLaw corrected(const LaunchLaw& law, const Corrections& corrections) {
  LaunchLaw result = law;
  for (Estimate* gap : {&result.graph_gap, &result.graph_layer, &result.graph_step,
                        &result.eager_gap, &result.eager_layer, &result.eager_kernel_launch,
                        &result.eager_layer_host, &result.eager_step}) {
    *gap = *gap * corrections.factor(Correction::launch_time);
  }
  result.host_step = corrections[Correction::host_step].value_or(law.host_step);
  result.host_request = corrections[Correction::host_request].value_or(law.host_request);
  return result;
}

PowerStates corrected(const PowerStates& states, const Corrections& corrections) {
  PowerStates result = states;
  result.idle = corrections[Correction::power_idle].value_or(states.idle);
  if (const auto& wait = corrections[Correction::power_wait]) {
    result.wait = *wait;
    result.host_gap = result.host_gap * (wait->value / states.wait.value);
  }
  return result;
}

}  // namespace

double corrected_watts(double watts, double floor, double new_floor, double gain) {
  return watts < floor ? watts * new_floor / floor : new_floor + gain * (watts - floor);
}

bool is_corrected_profile(const std::string& folder) {
  const ConfigNode root = read_yaml_file(folder + "/meta.yaml");
  const ConfigNode* kind = root.find("kind");
  return kind != nullptr && kind->text == "corrected";
}

CorrectedMeta read_corrected_meta(const std::string& folder, const std::string& profile_name) {
  ConfigReader reader(read_yaml_file(folder + "/meta.yaml"));
  CorrectedMeta meta;
  (void)reader.raw("kind");
  meta.base = reader.required<std::string>("base");
  if (meta.base.rfind('.', 0) == 0) meta.base = folder + "/" + meta.base;
  meta.base_digest = reader.required<std::string>("base_digest");
  meta.corrections = corrections_of(reader.section("corrections"));
  meta.provenance = provenance_of(reader.section("provenance"));
  meta.provenance.profile = profile_name;
  for (const char* note : {"note", "fit", "held", "measured"}) (void)reader.raw(note);
  reader.finish();
  return meta;
}

std::string digest_of_profile(const Profile& profile, const std::string& folder) {
  std::string text = read_file(folder + "/meta.yaml");
  for (const TableInfo& table : profile.provenance().tables) text += table.name + table.digest;
  return digest_of(text);
}

CorrectedProfile::CorrectedProfile(std::shared_ptr<const Profile> base,
                                   const Corrections& corrections, Provenance provenance,
                                   std::vector<std::string> warnings)
    : base_(std::move(base)),
      corrections_(corrections),
      launch_(corrected(base_->launch(), corrections)),
      power_(corrected(base_->power_states(), corrections)),
      prefill_time_(base_->prefill_time() * corrections.factor(Correction::prefill_time)),
      provenance_(std::move(provenance)),
      warnings_(std::move(warnings)) {
  const auto& inherited = base_->warnings();
  warnings_.insert(warnings_.end(), inherited.begin(), inherited.end());
  const auto& tables = base_->provenance().tables;
  provenance_.tables.insert(provenance_.tables.end(), tables.begin(), tables.end());
}

OpCost CorrectedProfile::cost(const OpCall& call) const {
  OpCost cost = base_->cost(call);
  const double factor =
      is_collective(call.op)
          ? corrections_.factor(Correction::collective_time)
          : corrections_.factor(Correction::kernel_time) *
                (reads_context(call.op) ? corrections_.factor(Correction::attention_time) : 1);
  if (factor != 1) cost.seconds = cost.seconds * factor;
  cost.watts = watts(cost.watts);
  return cost;
}

std::optional<Estimate> CorrectedProfile::unexplained_memory() const {
  const auto& found = corrections_[Correction::unexplained_memory];
  return found ? found : base_->unexplained_memory();
}

Estimate CorrectedProfile::watts(const Estimate& base) const {
  if (!corrections_[Correction::power_wait] && !corrections_[Correction::power_gain]) return base;
  const double floor = base_->power_states().wait.value;
  const double gain = corrections_.factor(Correction::power_gain);
  const auto moved = [&](double w) { return corrected_watts(w, floor, power_.wait.value, gain); };
  return {moved(base.value), moved(base.low), moved(base.high), base.source};
}

}  // namespace plateau
