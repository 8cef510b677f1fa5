// laws.csv of calibration/fitted_law.h, written and read.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string_view>

#include "calibration/csv.h"
#include "calibration/fitted_law.h"
#include "calibration/whole.h"

namespace plateau {
namespace {

constexpr const char* kHeader =
    "op,dtype,geometry,features,knots,utilisation_pct,floor_us,band,rows,kernel\n";

std::string joined(const std::vector<double>& values, double factor, const char* format) {
  std::string text;
  for (const double value : values) {
    if (!text.empty()) text += ' ';
    text += fmt::format(fmt::runtime(format), value * factor);
  }
  return text;
}

std::vector<double> exponentials(const std::vector<double>& logs) {
  std::vector<double> values;
  for (const double value : logs) values.push_back(std::exp(value));
  return values;
}

std::string line_of(const FittedLaw& law) {
  std::string geometry;
  for (const int value : law.key.geometry) {
    geometry += (geometry.empty() ? "" : "/") + std::to_string(value);
  }
  std::string features;
  std::string knots;
  for (std::size_t axis = 0; axis < law.features.size(); ++axis) {
    features += (axis == 0 ? "" : " ") + std::string(name_of(law.features[axis]));
    knots +=
        (axis == 0 ? "" : "|") + joined(exponentials(law.ln_utilisation.knots(axis)), 1, "{:.6g}");
  }
  return fmt::format("{},{},{},{},{},{},{:.4g},{:.3g},{},{}\n", name_of(law.key.op),
                     name_of(law.key.dtype), geometry, features, knots,
                     joined(exponentials(law.ln_utilisation.values()), 100, "{:.3g}"),
                     law.floor_s * 1e6, law.band, law.rows, law.kernel);
}

// Reads the cells of one row; every complaint carries the row's place.
class LawReader {
 public:
  explicit LawReader(const std::string& path) : table_(CsvTable::read(path)) {
    const char* const names[] = {"op",    "dtype",           "geometry", "features",
                                 "knots", "utilisation_pct", "floor_us", "band",
                                 "rows",  "kernel"};
    for (std::size_t i = 0; i < std::size(names); ++i) columns_[i] = table_.column(names[i]);
  }

  std::vector<FittedLaw> read() {
    std::vector<FittedLaw> laws;
    laws.reserve(table_.rows());
    for (row_ = 0; row_ < table_.rows(); ++row_) {
      FittedLaw law = read_row();
      if (!laws.empty() && !(laws.back().key < law.key)) {
        fail(0, "laws are not sorted by op, dtype and geometry, or one appears twice");
      }
      laws.push_back(std::move(law));
    }
    return laws;
  }

 private:
  enum Column {
    kOp,
    kDType,
    kGeometry,
    kFeatures,
    kKnots,
    kUtilisation,
    kFloor,
    kBand,
    kRows,
    kKernel
  };

  FittedLaw read_row() {
    FittedLaw law;
    law.key.op = choose<Op>(kOp, static_cast<int>(Op::sampling) + 1);
    law.key.dtype = choose<DType>(kDType, static_cast<int>(DType::mxfp4) + 1);
    const std::vector<double> geometry = numbers(text(kGeometry), '/', kGeometry);
    if (geometry.size() != law.key.geometry.size()) fail(kGeometry, "is not four numbers");
    for (std::size_t i = 0; i < geometry.size(); ++i) {
      law.key.geometry[i] = whole<int>(geometry[i]);
    }
    law.features = features();
    law.ln_utilisation = grid(law.features.size());
    law.floor_s = number(kFloor) * 1e-6;
    law.band = number(kBand);
    law.rows = whole<int>(number(kRows));
    law.kernel = std::string(text(kKernel));
    return law;
  }

  template <class E>
  E choose(Column column, int count) {
    for (int i = 0; i < count; ++i) {
      if (text(column) == name_of(static_cast<E>(i))) return static_cast<E>(i);
    }
    fail(column, "unknown: \"" + std::string(text(column)) + "\"");
  }

  std::vector<Feature> features() {
    std::vector<Feature> found;
    for (const std::string_view name : split(text(kFeatures), ' ')) {
      int i = 0;
      while (i <= static_cast<int>(Feature::expert_bytes) &&
             name != name_of(static_cast<Feature>(i)))
        ++i;
      if (i > static_cast<int>(Feature::expert_bytes)) {
        fail(kFeatures, "unknown feature \"" + std::string(name) + "\"");
      }
      found.push_back(static_cast<Feature>(i));
    }
    return found;
  }

  KnotGrid grid(std::size_t dimensions) {
    std::vector<std::vector<double>> axes;
    for (const std::string_view axis : split(text(kKnots), '|')) {
      axes.push_back(logs(numbers(axis, ' ', kKnots), kKnots));
    }
    if (axes.size() != dimensions) fail(kKnots, "has not one axis for each feature");
    std::vector<double> values = logs(numbers(text(kUtilisation), ' ', kUtilisation), kUtilisation);
    for (double& value : values) value -= std::log(100.0);
    try {
      return KnotGrid(std::move(axes), std::move(values));
    } catch (const std::invalid_argument& error) {
      fail(kKnots, error.what());
    }
  }

  std::vector<double> logs(std::vector<double> values, Column column) {
    for (double& value : values) {
      if (value <= 0) fail(column, "has a value that is not positive");
      value = std::log(value);
    }
    return values;
  }

  static std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
      const std::size_t end = text.find(separator);
      parts.push_back(text.substr(0, end));
      if (end == std::string_view::npos) return parts;
      text.remove_prefix(end + 1);
    }
  }

  std::vector<double> numbers(std::string_view text, char separator, Column column) {
    std::vector<double> values;
    for (const std::string_view part : split(text, separator)) {
      const auto value = parse_number(part);
      if (!value) fail(column, "not a number: \"" + std::string(part) + "\"");
      values.push_back(*value);
    }
    return values;
  }

  std::string_view text(Column column) const { return table_.text(row_, columns_[column]); }

  double number(Column column) const {
    const double value = table_.number(row_, columns_[column]);
    if (value < 0) throw InputError(table_.problem(row_, columns_[column], "is negative"));
    return value;
  }

  [[noreturn]] void fail(int column, std::string message) const {
    throw InputError(table_.problem(row_, columns_[column], std::move(message)));
  }

  CsvTable table_;
  std::size_t columns_[10] = {};
  std::size_t row_ = 0;
};

}  // namespace

std::string write_laws(const std::vector<FittedLaw>& laws) {
  std::vector<const FittedLaw*> sorted;
  for (const FittedLaw& law : laws) sorted.push_back(&law);
  std::sort(sorted.begin(), sorted.end(),
            [](const FittedLaw* a, const FittedLaw* b) { return a->key < b->key; });
  std::string text = kHeader;
  for (const FittedLaw* law : sorted) text += line_of(*law);
  return text;
}

std::vector<FittedLaw> read_laws(const std::string& path) { return LawReader(path).read(); }

}  // namespace plateau
