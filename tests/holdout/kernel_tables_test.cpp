// Do the shipped laws predict the tables they stand for, and tables' shapes they were not fitted
// to? Needs the published tables (../shared/data/kernels); skipped without them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "calibration/fit/fit_laws.h"
#include "calibration/fit/fit_sparse.h"
#include "calibration/fit/table_rows.h"
#include "calibration/fitted_profile.h"
#include "calibration/profile.h"

using namespace plateau;

namespace {

const std::string kTables = std::string(PLATEAU_SOURCE_DIR) + "/../shared/data/kernels/";

bool tables_are_here() {
  if (std::filesystem::exists(kTables)) return true;
  MESSAGE("skipped: no ../shared/data/kernels");
  return false;
}

std::unique_ptr<Profile> load(const std::string& name, Interconnect interconnect) {
  ProfileOptions options;
  options.data_dir = PLATEAU_SOURCE_DIR;
  options.name = name;
  options.interconnect = interconnect;
  options.ranks = 8;
  return load_profile(options);
}

struct Spread {
  double p50 = 0;
  double p90 = 0;
  double bias = 0;
  std::size_t rows = 0;
};

using RowSeconds = std::function<double(const TableRow&)>;

// Relative errors of `predict` over the rows that `wanted` picks.
Spread spread(const std::vector<TableRow>& rows, const RowSeconds& predict, const RowSeconds& truth,
              const std::function<bool(const OpCall&)>& wanted) {
  std::vector<double> errors;
  Spread result;
  for (const TableRow& row : rows) {
    if (!wanted(row.call)) continue;
    const double error = predict(row) / truth(row) - 1;
    errors.push_back(std::abs(error));
    result.bias += error;
  }
  result.rows = errors.size();
  if (errors.empty()) return result;
  std::sort(errors.begin(), errors.end());
  result.p50 = errors[errors.size() / 2];
  result.p90 = errors[errors.size() * 9 / 10];
  result.bias /= static_cast<double>(errors.size());
  return result;
}

}  // namespace

TEST_CASE("holdout: a fifth of the GEMM shapes, never fitted, RTX PRO 6000") {
  if (!tables_are_here()) return;
  const std::string file = "rtx_pro_6000_server/sglang-0.5.14/gemm.csv.gz";
  const std::vector<TableRow> rows = gemm_rows(kTables + file, file).rows;
  const auto profile = load("rtx-pro-6000-server/sglang-0.5.14", Interconnect::pcie);
  const DeviceSpec& device = profile->device();
  const double stream = measured_weight_stream(rows);
  std::vector<TableRow> seen;
  std::vector<TableRow> unseen;
  for (const TableRow& row : rows) (is_held_out(row.call) ? unseen : seen).push_back(row);
  REQUIRE(unseen.size() > rows.size() / 10);
  const LawFit fit = fit_laws(seen, device, stream);
  struct Bound {
    DType dtype;
    double low_p50, low_p90;    // m <= 64
    double high_p50, high_p90;  // m > 64
  };
  for (const Bound& bound : {Bound{DType::bf16, 0.05, 0.15, 0.06, 0.17},
                             {DType::nvfp4, 0.02, 0.07, 0.04, 0.13},
                             {DType::fp8, 0.02, 0.06, 0.04, 0.13}}) {
    CAPTURE(name_of(bound.dtype));
    const auto law = std::find_if(fit.laws.begin(), fit.laws.end(),
                                  [&](const FittedLaw& l) { return l.key.dtype == bound.dtype; });
    REQUIRE(law != fit.laws.end());
    const auto predict = [&](const TableRow& row) { return law->seconds(row.call, device).value; };
    const auto truth = [&](const TableRow& row) { return cold_seconds(row, stream); };
    const auto few = spread(unseen, predict, truth, [&](const OpCall& call) {
      return call.weights == bound.dtype && call.m <= 64;
    });
    CHECK(few.rows > 1000);
    CHECK(few.p50 < bound.low_p50);
    CHECK(few.p90 < bound.low_p90);
    const auto many = spread(unseen, predict, truth, [&](const OpCall& call) {
      return call.weights == bound.dtype && call.m > 64;
    });
    CHECK(many.p50 < bound.high_p50);
    CHECK(many.p90 < bound.high_p90);
  }
}

TEST_CASE("holdout: the shipped laws against every row of the tables they were fitted to") {
  if (!tables_are_here()) return;
  struct Study {
    const char* profile;
    Interconnect interconnect;
    const char* folder;
  };
  for (const Study& study :
       {Study{"rtx-pro-6000-server/sglang-0.5.14", Interconnect::pcie,
              "rtx_pro_6000_server/sglang-0.5.14/"},
        {"h200-sxm/sglang-0.5.14", Interconnect::nvlink, "h200_sxm/sglang-0.5.14/"},
        {"b200-sxm/sglang-0.5.10", Interconnect::nvlink, "b200_sxm/sglang-0.5.10/"}}) {
    CAPTURE(study.profile);
    const auto profile = load(study.profile, study.interconnect);
    const std::string folder = kTables + study.folder;
    const TableRows gemms = gemm_rows(folder + "gemm.csv.gz", "gemm");
    const double stream = measured_weight_stream(gemms.rows);
    const auto predict = [&](const TableRow& row) { return profile->cost(row.call).seconds.value; };
    const auto truth = [&](const TableRow& row) { return cold_seconds(row, stream); };
    const auto all = [](const OpCall&) { return true; };
    const Spread gemm = spread(gemms.rows, predict, truth, all);
    CHECK(gemm.p50 < 0.06);
    CHECK(gemm.p90 < 0.21);
    CHECK(std::abs(gemm.bias) < 0.03);
    TableRows experts = moe_rows(folder + "moe.csv.gz", "moe");
    keep_main_kernels(experts);
    const Spread moe = spread(experts.rows, predict, truth, all);
    CHECK(moe.p50 < 0.03);
    CHECK(moe.p90 < 0.09);
    CHECK(std::abs(moe.bias) < 0.02);
  }
}

TEST_CASE("holdout: GLM-5 experts on RTX PRO 6000, tensor parallel 8") {
  if (!tables_are_here()) return;
  const std::string file = "rtx_pro_6000_server/sglang-0.5.14/moe.csv.gz";
  const std::vector<TableRow> rows = moe_rows(kTables + file, file).rows;
  const auto profile = load("rtx-pro-6000-server/sglang-0.5.14", Interconnect::pcie);
  const auto predict = [&](const TableRow& row) { return profile->cost(row.call).seconds.value; };
  const auto raw = [](const TableRow& row) { return row.seconds; };
  const auto glm5 = [](const OpCall& call, double tokens_low, double tokens_high) {
    return call.weights == DType::nvfp4 && call.hidden == 6144 && call.inter == 256 &&
           call.experts == 256 && call.top_k == 8 && call.m >= tokens_low && call.m <= tokens_high;
  };
  // Against the latencies as they stand in the table, all three distributions.
  const Spread small =
      spread(rows, predict, raw, [&](const OpCall& call) { return glm5(call, 1, 64); });
  CHECK(small.rows == 24);
  CHECK(small.p50 < 0.02);
  CHECK(small.p90 < 0.05);
  const Spread large =
      spread(rows, predict, raw, [&](const OpCall& call) { return glm5(call, 65, 16384); });
  CHECK(large.p50 < 0.02);
  CHECK(large.p90 < 0.04);
}

TEST_CASE("holdout: GLM-5's sparse attention block, put together again from its operations") {
  if (!tables_are_here()) return;
  struct Study {
    const char* profile;
    std::string folder;
    bool prefill;
    double p50, p90;
  };
  // Above 16384 prefill tokens some of the table's rows are shorter than their projections alone.
  for (const Study& study :
       {Study{"b200-sxm/sglang-0.5.10", "b200_sxm/sglang-0.5.10/", false, 0.02, 0.06},
        {"h200-sxm/sglang-0.5.14", "h200_sxm/sglang-0.5.14/", false, 0.03, 0.15},
        {"b200-sxm/sglang-0.5.10", "b200_sxm/sglang-0.5.10/", true, 0.03, 0.15}}) {
    CAPTURE(study.profile);
    CAPTURE(study.prefill);
    const auto profile = load(study.profile, Interconnect::nvlink);
    const std::string file =
        study.folder + (study.prefill ? "dsa_context_module" : "dsa_generation_module") + ".csv.gz";
    const std::vector<TableRow> rows =
        (study.prefill ? sparse_prefill_rows : sparse_block_rows)(kTables + file, file).rows;
    SparsePrices prices;
    prices.seconds = [&](const OpCall& call) { return profile->cost(call).seconds.value; };
    prices.gap = (study.prefill ? profile->launch().eager_gap : profile->launch().graph_gap).value;
    const Spread block = spread(
        rows, [&](const TableRow& row) { return sparse_block_seconds(row.call, prices); },
        [](const TableRow& row) { return row.seconds; },
        [](const OpCall& call) { return call.sequences * call.new_tokens <= 16384; });
    CHECK(block.rows > 700);
    CHECK(block.p50 < study.p50);
    CHECK(block.p90 < study.p90);
    CHECK(std::abs(block.bias) < 0.03);
  }
}
