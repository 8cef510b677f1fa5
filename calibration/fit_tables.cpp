#include "calibration/fit_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>

#include "calibration/collective_curves.h"
#include "calibration/csv.h"
#include "calibration/fit/collective_rows.h"
#include "calibration/fit/fit_sparse.h"
#include "calibration/fitted_profile.h"
#include "calibration/profile_meta.h"

namespace plateau {
namespace {

namespace fs = std::filesystem;

using RowReader = TableRows (*)(const std::string& path, const std::string& file);

class ProfileFit {
 public:
  explicit ProfileFit(const FitRequest& request) : request_(request) {
    folder_ = request.data_folder + "/" + request.device + "/" + request.engine;
    constants_ = read_file(request.data_folder + "/" + request.device + "/device.yaml");
  }

  FitSummary run() {
    const std::vector<TableRow> gemms = table("gemm", gemm_rows, true);
    summary_.weight_stream = measured_weight_stream(gemms);
    if (summary_.weight_stream <= 0) {
      throw InputError(Problem{request_.table_folder, 0, 0, "gemm",
                               "no GEMM large enough to read the memory's rate from",
                               "rows with m <= 16 and weights above 500 MB are needed"});
    }
    read_constants();
    add(fit_laws(gemms, meta_.device, summary_.weight_stream));
    experts();
    attention();
    sparse_attention();
    collectives();
    std::error_code error;
    fs::create_directories(folder_, error);
    write_file(folder_ + "/laws.csv", write_laws(laws_));
    write_file(folder_ + "/curves.csv", curves_.write());
    write_file(folder_ + "/residuals.csv", residuals_text());
    write_file(folder_ + "/meta.yaml", meta_text(true));
    for (const char* name : {"meta.yaml", "laws.csv", "curves.csv", "residuals.csv"}) {
      summary_.files.push_back(folder_ + "/" + name);
    }
    summary_.laws = static_cast<int>(laws_.size());
    return std::move(summary_);
  }

 private:
  std::string path_of(const std::string& engine, const std::string& name) const {
    return request_.table_folder + "/" + request_.system + "/" + engine + "/" + name + ".csv.gz";
  }

  // A table's rows, of the engine or of the one that stands in; none when it need not exist.
  std::vector<TableRow> table(const std::string& name, RowReader reader, bool needed) {
    std::error_code error;
    for (const std::string& engine : {request_.engine, request_.borrow_from}) {
      if (engine.empty() || !fs::exists(path_of(engine, name), error)) continue;
      if (engine != request_.engine) {
        summary_.notes.push_back(name + " is borrowed from " + engine);
      }
      TableRows rows =
          reader(path_of(engine, name), request_.system + "/" + engine + "/" + name + ".csv.gz");
      keep_main_kernels(rows);
      summary_.tables.push_back(rows.use);
      return std::move(rows.rows);
    }
    if (needed) {
      throw InputError(Problem{path_of(request_.engine, name), 0, 0, "", "table is missing",
                               "name an engine to borrow it from"});
    }
    summary_.notes.push_back("no table " + name);
    return {};
  }

  void add(LawFit fit) {
    std::move(fit.laws.begin(), fit.laws.end(), std::back_inserter(laws_));
    std::move(fit.residuals.begin(), fit.residuals.end(), std::back_inserter(summary_.residuals));
  }

  void fit(const std::vector<TableRow>& rows) {
    add(fit_laws(rows, meta_.device, summary_.weight_stream));
  }

  void experts() {
    const std::vector<TableRow> rows = table("moe", moe_rows, true);
    add(fit_any_experts(rows, meta_.device, summary_.weight_stream));
    fit(rows);
  }

  void attention() {
    fit(table("generation_attention", decode_attention_rows, true));
    fit(table("context_attention", prefill_attention_rows, true));
    fit(table("generation_mla", decode_mla_rows, false));
    fit(table("context_mla", prefill_mla_rows, false));
    fit(table("mla_bmm", mla_bmm_rows, false));
    fit(table("glm5_mqa_logits_module", indexer_logits_rows, false));
    fit(table("glm5_topk_module", indexer_topk_rows, false));
  }

  // Needs the laws of the projections, so it comes last.
  void sparse_attention() {
    const std::vector<TableRow> decode = table("dsa_generation_module", sparse_block_rows, false);
    const std::vector<TableRow> prefill = table("dsa_context_module", sparse_prefill_rows, false);
    ProfileOptions options;
    options.interconnect = meta_.interconnect;
    const FittedProfile priced(meta_, options, laws_, curves_);
    SparsePrices prices;
    prices.seconds = [&](const OpCall& call) { return priced.cost(call).seconds.value; };
    prices.small_kernel = meta_.small_kernel.value;
    prices.weight_stream = summary_.weight_stream;
    if (!decode.empty()) {
      prices.gap = meta_.launch.graph_gap.value;
      const SparseRows rows = split_sparse_block(decode, prices);
      summary_.notes.push_back(
          fmt::format("sparse attention core at decode: block minus its other operations, {} of {} "
                      "rows at their floor",
                      rows.at_floor, rows.core.size()));
      fit(rows.core);
      fit(rows.indexer);
    }
    if (!prefill.empty()) {
      prices.gap = meta_.launch.eager_gap.value;
      const SparseRows rows = split_sparse_prefill(prefill, prices);
      const auto left_out =
          static_cast<double>(rows.at_floor) / static_cast<double>(prefill.size());
      constexpr double kContradiction = 0.25;
      summary_.notes.push_back(fmt::format(
          "sparse attention core at prefill: {} of {} rows shorter than their own projections{}",
          rows.at_floor, prefill.size(),
          left_out > kContradiction ? ", table not used: dense prefill stands in" : " left out"));
      if (left_out <= kContradiction) fit(rows.core);
    }
  }

  void collectives() {
    const std::string nccl = request_.system + "/" + request_.nccl + "/nccl.csv.gz";
    summary_.tables.push_back(read_nccl(request_.table_folder + "/" + nccl, nccl, curves_));
    const std::string custom = request_.system + "/" + request_.engine + "/custom_allreduce.csv.gz";
    std::error_code error;
    if (fs::exists(request_.table_folder + "/" + custom, error)) {
      summary_.tables.push_back(
          read_custom_all_reduce(request_.table_folder + "/" + custom, custom, curves_));
    } else {
      summary_.notes.push_back("no table custom_allreduce");
    }
  }

  std::string residuals_text() const {
    std::string text =
        "op,dtype,geometry,set,range,rows,streamed,p50_pct,p90_pct,worst_pct,bias_pct\n";
    for (const Residual& r : summary_.residuals) {
      const auto& g = r.key.geometry;
      text += fmt::format("{},{},{}/{}/{}/{},{},{},{},{},{:.1f},{:.1f},{:.1f},{:.1f}\n",
                          name_of(r.key.op), name_of(r.key.dtype), g[0], g[1], g[2], g[3], r.set,
                          r.range, r.rows, r.streamed, 100 * r.p50, 100 * r.p90, 100 * r.worst,
                          100 * r.bias);
    }
    return text;
  }

  // Through the profile's own reader, so that a mistake in device.yaml is told before any fit.
  void read_constants() {
    const std::string stage = folder_ + ".partial";
    std::error_code error;
    fs::create_directories(stage, error);
    write_file(stage + "/meta.yaml", meta_text(false));
    try {
      meta_ = read_profile_meta(stage, request_.device + "/" + request_.engine);
    } catch (const InputError&) {
      fs::remove_all(stage, error);
      throw;
    }
    fs::remove_all(stage, error);
  }

  // The constants of device.yaml as they stand, then what the tables say.
  std::string meta_text(bool tables) const {
    std::string text = "# Written by `plateau calibrate` from " + request_.device +
                       "/device.yaml and the tables named below.\nkind: fitted\n" + constants_;
    text += fmt::format(
        "weight_stream: {{value: {:.0f} GB/s, band: 0.05, source: measured, note: \"median of the "
        "GEMM table's rows with m <= 16 and weights above 500 MB, best type\"}}\n",
        summary_.weight_stream / 1e9);
    text += "provenance:\n  source: \"" + request_.source + "\"\n";
    text += "  licence: " + request_.licence + "\n  date: \"" + request_.date + "\"\n";
    text += "  engine: " + request_.engine + "\n  tool: plateau calibrate\n";
    std::string changes = "fitted laws, curve points and residuals instead of the tables";
    for (const std::string& note : summary_.notes) changes += "; " + note;
    text += "  changes: \"" + changes + "\"\n";
    if (tables) {
      text +=
          "tables:\n  laws.csv: {noise: 0.02, note: \"residuals.csv has each law's\"}\n"
          "  curves.csv: {noise: 0.02}\n  residuals.csv: {noise: 0}\n";
      text += "rows:  # read, used, ignored\n";
      for (const TableUse& use : summary_.tables) text += use_text(use);
    } else {
      text += "tables: {}\n";
    }
    return text;
  }

  static std::string use_text(const TableUse& use) {
    std::string text = fmt::format("  {}: \"{} rows, {} used", use.file, use.rows, use.used);
    for (const auto& [reason, count] : use.ignored) text += fmt::format("; {} {}", count, reason);
    return text + "\"\n";
  }

  const FitRequest& request_;
  std::string folder_;
  std::string constants_;
  ProfileMeta meta_;
  std::vector<FittedLaw> laws_;
  CollectiveCurves curves_;
  FitSummary summary_;
};

}  // namespace

FitSummary fit_profile(const FitRequest& request) { return ProfileFit(request).run(); }

}  // namespace plateau
