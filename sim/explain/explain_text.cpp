#include <algorithm>
#include <cmath>

#include "sim/explain/explain.h"
#include "sim/report/format.h"

namespace plateau {

namespace {

constexpr double kWorthTelling = 0.1;  // of the largest cause
constexpr double kRounding = 1e-7;
constexpr std::size_t kMostTold = 4;  // causes in the paragraph

std::string signed_text(double value) { return (value > 0 ? "+" : "") + compact(value); }

std::string words_for(const std::string& cause) {
  if (cause == "batch") return "the batch";
  if (cause == "tail") return "the tail of the run";
  if (cause == "prefill_share") return "the share of prefill";
  if (cause == "load") return "the load";
  if (cause == "experts_touched") return "the experts touched";
  if (cause == "expert_kernels") return "expert kernels";
  if (cause == "dense_gemm") return "dense GEMMs";
  if (cause == "norm_etc") return "element-wise passes";
  if (cause == "lm_head") return "the head";
  if (cause == "host") return "the host";
  if (cause == "clock") return "the clock";
  if (cause == "launch") return "kernel launches";
  return cause;
}

std::string figures_of(const CauseShare& cause) {
  if (!cause.a || !cause.b) return "";
  if (cause.unit == "share") return percent(*cause.a) + " -> " + percent(*cause.b);
  return compact(*cause.a) + " -> " + compact(*cause.b) + " " + cause.unit;
}

// What a sum of rounded terms leaves where nothing changed.
double without_rounding(double share, double scale) {
  return std::abs(share) < kRounding * scale ? 0 : share;
}

// The shares as they are told.
std::vector<CauseShare> told(const Explanation& e) {
  std::vector<CauseShare> causes = e.causes;
  for (CauseShare& cause : causes) {
    cause.output_tok_per_s =
        without_rounding(cause.output_tok_per_s, e.a.tok_per_s + e.b.tok_per_s);
    if (cause.tpot_ms)
      cause.tpot_ms = without_rounding(*cause.tpot_ms, *e.a.tpot_ms + *e.b.tpot_ms);
    cause.gpu_w_mean = without_rounding(cause.gpu_w_mean, e.a.gpu_w + e.b.gpu_w);
  }
  const auto silent = [](const CauseShare& cause) {
    return cause.output_tok_per_s == 0 && cause.tpot_ms.value_or(0) == 0 && cause.gpu_w_mean == 0;
  };
  causes.erase(std::remove_if(causes.begin(), causes.end(), silent), causes.end());
  return causes;
}

// "the batch +1,000 (1,024 -> 1,895 running), collectives -420 (...)": the largest by `value`.
template <class Value>
std::string largest(std::vector<CauseShare> causes, bool with_figures, Value value) {
  std::stable_sort(causes.begin(), causes.end(), [&](const CauseShare& a, const CauseShare& b) {
    return std::abs(value(a)) > std::abs(value(b));
  });
  std::string text;
  const double most = causes.empty() ? 0 : std::abs(value(causes.front()));
  for (std::size_t i = 0; i < std::min(kMostTold, causes.size()); ++i) {
    const double share = value(causes[i]);
    if (std::abs(share) <= kWorthTelling * most || share == 0) break;
    text += (text.empty() ? "" : ", ") + words_for(causes[i].cause) + " " + signed_text(share);
    const std::string figures = figures_of(causes[i]);
    if (with_figures && !figures.empty()) text += " (" + figures + ")";
  }
  return text.empty() ? "nothing differs" : text;
}

std::string relative(double a, double b) {
  if (a <= 0) return "";
  return " (" + std::string(b > a ? "+" : "") + percent((b - a) / a) + ")";
}

std::string change_text(const char* name, double a, double b) {
  return std::string(name) + " " + compact(a) + " -> " + compact(b) + relative(a, b);
}

std::string paragraph(const Explanation& e) {
  const std::vector<CauseShare> causes = told(e);
  std::string text = change_text("Output tok/s", e.a.tok_per_s, e.b.tok_per_s) + ": " +
                     largest(causes, true, [](const CauseShare& c) { return c.output_tok_per_s; }) +
                     ".";
  if (e.a.tpot_ms && e.b.tpot_ms) {
    text += " " + change_text("TPOT, ms", *e.a.tpot_ms, *e.b.tpot_ms) + ": " +
            largest(causes, false, [](const CauseShare& c) { return c.tpot_ms.value_or(0); }) + ".";
  }
  return text + " " + change_text("Watts per GPU", e.a.gpu_w, e.b.gpu_w) + ": " +
         largest(causes, false, [](const CauseShare& c) { return c.gpu_w_mean; }) + ".";
}

std::string name_of(const RunSummary& run) {
  std::string text = run.file + ", " + run.load;
  for (const std::string& set : run.sets) text += ", " + set;
  return text;
}

void row(Page& page, const std::string& cause, const std::string& figures,
         const std::string& tok_per_s, const std::string& tpot, const std::string& watts) {
  const std::size_t room = page.width() - 2 - 16 - 10 - 10 - 10;
  page.line("  " + pad_right(cause, 16) + pad_right(ellipsis(figures, room), room) +
            pad_left(tok_per_s, 10) + pad_left(tpot, 10) + pad_left(watts, 10));
}

std::string cell(double value) { return value == 0 ? "0" : signed_text(value); }

}  // namespace

std::string explain_text(const Explanation& explanation, const TextOptions& options) {
  Page page(options);
  page.fact("A", name_of(explanation.a));
  page.fact("B", name_of(explanation.b));
  page.line();
  page.paragraph("", paragraph(explanation));
  page.line();
  row(page, "cause", "A -> B", "tok/s", "TPOT ms", "W");
  const bool tpot = explanation.a.tpot_ms && explanation.b.tpot_ms;
  for (const CauseShare& cause : told(explanation)) {
    row(page, cause.cause, figures_of(cause), cell(cause.output_tok_per_s),
        tpot ? cell(*cause.tpot_ms) : "-", cell(cause.gpu_w_mean));
  }
  const RunSummary& a = explanation.a;
  const RunSummary& b = explanation.b;
  row(page, "whole", "B less A", cell(b.tok_per_s - a.tok_per_s),
      tpot ? cell(*b.tpot_ms - *a.tpot_ms) : "-", cell(b.gpu_w - a.gpu_w));
  if (!explanation.warnings.empty()) page.line();
  for (const std::string& warning : explanation.warnings)
    page.paragraph("Warning: ", warning, Page::Ink::warning);
  return page.text();
}

}  // namespace plateau
