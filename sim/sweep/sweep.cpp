#include "sim/sweep/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "models/random.h"
#include "sim/deployment/run.h"
#include "sim/interval/interval.h"
#include "sim/sweep/figures.h"

namespace plateau {

namespace {

constexpr std::size_t kValuesChecked = 64;

std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\t' || c == '\r'; }, ' ');
  return text;
}

// Unambiguous: lengths before texts.
void write_tree(const ConfigNode& node, std::string* text) {
  *text += fmt::format("{}:{}:{}{}", static_cast<int>(node.kind), node.text.size(), node.text,
                       node.quoted ? "q" : "");
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    if (i < node.keys.size()) *text += fmt::format("{}:{}", node.keys[i].size(), node.keys[i]);
    write_tree(node.children[i], text);
  }
  *text += ";";
}

bool complains_about(const InputError& error, const std::string& key) {
  return std::any_of(error.problems().begin(), error.problems().end(), [&](const Problem& problem) {
    return problem.key == key || problem.key.rfind(key + ".", 0) == 0;
  });
}

}  // namespace

std::string reason_of(const InputError& error) {
  std::string text;
  for (const Problem& problem : error.problems()) {
    text += text.empty() ? "" : "; ";
    if (!problem.key.empty()) text += problem.key + ": ";
    text += problem.message;
    if (!problem.hint.empty()) text += " (" + problem.hint + ")";
  }
  return one_line(std::move(text));
}

std::string line_of(const SweepRow& row) {
  std::string line = row.ok ? "ok" : "infeasible";
  line += "\t" + one_line(row.reason);
  for (const std::string& cell : row.cells) line += "\t" + one_line(cell);
  return line;
}

SweepRow row_of(const std::string& line) {
  SweepRow row;
  std::vector<std::string> parts;
  std::size_t start = 0;
  for (std::size_t tab = line.find('\t'); tab != std::string::npos; tab = line.find('\t', start)) {
    parts.push_back(line.substr(start, tab - start));
    start = tab + 1;
  }
  parts.push_back(line.substr(start));
  row.ok = parts.front() == "ok";
  if (parts.size() > 1) row.reason = parts[1];
  if (parts.size() > 2) row.cells.assign(parts.begin() + 2, parts.end());
  return row;
}

Sweep::Sweep(const SweepRequest& request)
    : base_(read_point_base(request.scenario, request.options)),
      space_(request.space),
      repetitions_(request.repetitions),
      calibration_(request.options.data_dir) {
  for (const Figure& figure : figures()) columns_.emplace_back(figure.name);
  if (repetitions_ > 0) {
    for (const std::string& name : repeated_figures()) {
      columns_.push_back(name + "_p5");
      columns_.push_back(name + "_p95");
    }
  }
  numbers_ = columns_.size();
  for (const WordFigure& word : word_figures()) columns_.emplace_back(word.name);
  check_keys();
}

void Sweep::check_keys() {
  const std::vector<std::string> known = scenario_keys();
  std::vector<Problem> problems;
  for (const Variation& key : space_.keys()) {
    if (std::find(known.begin(), known.end(), key.key) != known.end()) continue;
    const std::string near = closest(key.key, known);
    problems.push_back(Problem{kCommandLine, 0, 0, key.key, "is no key of a scenario",
                               near.empty() ? "" : "did you mean `" + near + "`?"});
  }
  if (!problems.empty()) throw InputError(std::move(problems));
  for (const Variation& key : space_.keys()) check_values(key);
}

// A key none of whose values can be read is a mistake of the sweep, not of its points.
void Sweep::check_values(const Variation& key) {
  PointRunner point = runner();
  std::vector<Problem> problems;
  for (std::size_t i = 0; i < std::min(key.values.size(), kValuesChecked); ++i) {
    try {
      std::vector<std::string> sets = {key.key + "=" + key.values[i]};
      add_device(&sets);
      point.scenario(sets);
      return;
    } catch (const InputError& error) {
      if (!complains_about(error, key.key)) return;
      if (!problems.empty()) continue;
      for (const Problem& problem : error.problems()) {
        if (problem.key.rfind(key.key, 0) == 0) problems.push_back(problem);
      }
    }
  }
  throw InputError(std::move(problems));
}

std::string Sweep::fingerprint() const {
  std::string text = fmt::format("{} {} {} {} ", PLATEAU_VERSION, base_.file, repetitions_,
                                 base_.seed ? std::to_string(*base_.seed) : "-");
  write_tree(base_.tree, &text);
  for (const Variation& key : space_.keys()) {
    text += "\n" + key.key;
    for (const std::string& value : key.values) text += "\t" + value;
  }
  text += fmt::format("\n{} {}", name_of(space_.way()), space_.size());
  if (space_.way() != SpaceRequest::Way::grid) {
    for (std::int64_t i = 0; i < space_.size(); ++i) {
      for (const std::int32_t index : space_.indices(i)) text += fmt::format(" {}", index);
    }
  }
  for (const std::string& column : columns_) text += "\n" + column;
  return fmt::format("{:016x}", fnv1a(text));
}

// A profile belongs to a device, and boards of the SXM form are joined by NVLink: what a varied
// profile says about both, unless they vary too.
void Sweep::add_device(std::vector<std::string>* sets) const {
  constexpr std::string_view kProfile = "calibration.profile=";
  const auto has = [&](const std::string& key) {
    return std::any_of(sets->begin(), sets->end(),
                       [&](const std::string& set) { return set.rfind(key + "=", 0) == 0; });
  };
  const auto profile = std::find_if(sets->begin(), sets->end(), [&](const std::string& set) {
    return set.rfind(kProfile, 0) == 0 && set.find('/') != std::string::npos;
  });
  if (profile == sets->end() || has("hardware.device")) return;
  const std::string device = profile->substr(kProfile.size(), profile->find('/') - kProfile.size());
  const ConfigNode* hardware = base_.tree.find("hardware");
  const ConfigNode* base_device = hardware == nullptr ? nullptr : hardware->find("device");
  if (base_device != nullptr && base_device->text == device) return;
  sets->push_back("hardware.device=" + device);
  const bool sxm = device.size() > 4 && device.compare(device.size() - 4, 4, "-sxm") == 0;
  if (!has("hardware.interconnect"))
    sets->push_back(std::string("hardware.interconnect=") + (sxm ? "nvlink" : "pcie"));
}

std::vector<std::string> Sweep::sets_of(std::int64_t point) const {
  std::vector<std::string> sets = space_.values(point);
  for (std::size_t k = 0; k < sets.size(); ++k) sets[k] = space_.keys()[k].key + "=" + sets[k];
  add_device(&sets);
  return sets;
}

std::vector<std::string> Sweep::cells_of(const Scenario& scenario, PointRunner& runner) const {
  Deployment deployment = runner.deployment(scenario);
  const Report report = run(deployment);
  std::vector<std::string> cells;
  cells.reserve(columns_.size());
  for (const Figure& figure : figures()) cells.push_back(digits_of(figure.value(report)));
  add_intervals(scenario, runner, &cells);
  for (const WordFigure& word : word_figures()) cells.push_back(word.value(report));
  return cells;
}

void Sweep::add_intervals(const Scenario& scenario, PointRunner& runner,
                          std::vector<std::string>* cells) const {
  if (repetitions_ == 0) return;
  const std::vector<std::string>& names = repeated_figures();
  std::vector<std::vector<double>> samples(names.size());
  for (int r = 1; r <= repetitions_; ++r) {
    Deployment deployment = runner.deployment(scenario, r);
    const Report report = run(deployment);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (const auto value = find_figure(names[i])->value(report)) samples[i].push_back(*value);
    }
  }
  for (std::vector<double>& sample : samples) {
    const auto interval = interval_of(std::move(sample));
    cells->push_back(interval ? digits_of(interval->low) : "");
    cells->push_back(interval ? digits_of(interval->high) : "");
  }
}

SweepRow Sweep::row(std::int64_t point, PointRunner& runner) const {
  SweepRow row;
  try {
    row.cells = cells_of(runner.scenario(sets_of(point)), runner);
    row.ok = true;
    return row;
  } catch (const InputError& error) {
    row.reason = reason_of(error);
  } catch (const std::invalid_argument& error) {  // a step that the profile cannot price
    row.reason = one_line(error.what());
  }
  row.cells.assign(columns_.size(), "");
  return row;
}

}  // namespace plateau
