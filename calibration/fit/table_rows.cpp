#include "calibration/fit/table_rows.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "calibration/csv.h"
#include "calibration/fit/expert_counts.h"
#include "calibration/fitted_law.h"

namespace plateau {
namespace {

// DeepSeek's latent attention, whose shapes the MLA kernel tables were collected with.
constexpr double kLatent = 512 + 64;
// Sparse indexer of DeepSeek-V3.2 and GLM-5.
constexpr double kIndexHeads = 32;
constexpr double kIndexDim = 128;
constexpr double kSparseTokens = 2048;

std::optional<DType> dtype_of(std::string_view name) {
  static const std::map<std::string_view, DType> kNames = {
      {"bfloat16", DType::bf16}, {"fp8", DType::fp8},      {"fp8_block", DType::fp8_block},
      {"nvfp4", DType::nvfp4},   {"int4_wo", DType::int4}, {"w4a16_mxfp4", DType::mxfp4},
      {"fp8_e4m3", DType::fp8}};
  const auto found = kNames.find(name);
  if (found == kNames.end()) return std::nullopt;
  return found->second;
}

// Walks a table's rows; what it does not keep it counts.
class Walk {
 public:
  Walk(const std::string& path, const std::string& file) : table_(CsvTable::read(path)) {
    rows_.use.file = file;
    rows_.use.rows = static_cast<std::int64_t>(table_.rows());
    latency_ = table_.column("latency");
    // What does not belong to a row's key: results, and what only informs.
    for (std::size_t i = 0; i < table_.columns().size(); ++i) {
      const std::string& name = table_.columns()[i];
      if (name != "latency" && name != "power" && name != "tp_size") key_columns_.push_back(i);
    }
    if (table_.has("kernel_source")) kernel_ = table_.column("kernel_source");
  }

  bool next() {
    if (started_) ++row_;
    started_ = true;
    return row_ < table_.rows();
  }

  double number(const char* column) { return table_.number(row_, at(column)); }
  std::string_view text(const char* column) { return table_.text(row_, at(column)); }
  bool has(const char* column) const { return table_.has(column); }

  void ignore(const std::string& reason) { ++rows_.use.ignored[reason]; }

  void keep(const OpCall& call) {
    const double latency = table_.number(row_, latency_);
    if (latency < 0) throw InputError(table_.problem(row_, latency_, "is negative"));
    if (latency == 0) return ignore("latency 0");
    std::string key;
    for (const std::size_t column : key_columns_) {
      key += table_.text(row_, column);
      key += ',';
    }
    if (!seen_.insert(std::move(key)).second)
      return ignore("key seen before: the first row counts");
    constexpr double kMilli = 1e-3;
    std::string kernel = kernel_ ? std::string(table_.text(row_, *kernel_)) : "";
    // The prefill table times scores in bf16 and in fp8 as if they were two kernels.
    if (has("attn_dtype")) kernel += " " + std::string(text("attn_dtype"));
    rows_.rows.push_back({call, latency * kMilli, kernel});
    ++rows_.use.used;
  }

  TableRows take() { return std::move(rows_); }

 private:
  std::size_t at(const char* column) {
    const auto found = columns_.find(column);
    if (found != columns_.end()) return found->second;
    return columns_[column] = table_.column(column);
  }

  CsvTable table_;
  TableRows rows_;
  std::size_t latency_ = 0;
  std::optional<std::size_t> kernel_;
  std::vector<std::size_t> key_columns_;
  std::map<const char*, std::size_t> columns_;
  std::set<std::string> seen_;
  std::size_t row_ = 0;
  bool started_ = false;
};

OpCall call_of(Op op, DType dtype) {
  OpCall call;
  call.op = op;
  call.weights = dtype;
  return call;
}

constexpr double kLargestTp = 8;
// Head widths of the models served; another one takes the nearest of these.
bool is_known_width(double head_dim) {
  return head_dim == 64 || head_dim == 128 || head_dim == 256;
}

constexpr const char* kOtherType = "storage type that no model here uses";
constexpr const char* kPrefix = "cached prefix or several sequences";

}  // namespace

TableRows gemm_rows(const std::string& path, const std::string& file) {
  Walk walk(path, file);
  while (walk.next()) {
    const auto dtype = dtype_of(walk.text("gemm_dtype"));
    if (!dtype) {
      walk.ignore(kOtherType);
      continue;
    }
    OpCall call = call_of(Op::gemm, *dtype);
    call.m = walk.number("m");
    call.n = walk.number("n");
    call.k = walk.number("k");
    walk.keep(call);
  }
  return walk.take();
}

TableRows moe_rows(const std::string& path, const std::string& file) {
  Walk walk(path, file);
  std::map<std::tuple<int, int, int, std::string>, ExpertCounts> counts;
  while (walk.next()) {
    const auto dtype = dtype_of(walk.text("moe_dtype"));
    const std::string distribution(walk.text("distribution"));
    if (!dtype) {
      walk.ignore(kOtherType);
    } else if (walk.number("moe_ep_size") != 1) {
      walk.ignore("expert parallel");
    } else if (walk.number("moe_tp_size") > kLargestTp) {
      walk.ignore("tensor parallel beyond one box");
    } else if (distribution == "power_law_0") {
      walk.ignore("distribution unknown");
    } else {
      OpCall call = call_of(Op::moe_experts, *dtype);
      call.m = walk.number("num_tokens");
      call.hidden = walk.number("hidden_size");
      call.inter = walk.number("inter_size") / walk.number("moe_tp_size");
      call.experts = walk.number("num_experts");
      call.top_k = walk.number("topk");
      const std::tuple key(static_cast<int>(call.experts), static_cast<int>(call.top_k),
                           static_cast<int>(call.m), distribution);
      auto found = counts.find(key);
      if (found == counts.end()) {
        const auto& [experts, top_k, tokens, law] = key;
        found = counts.emplace(key, expert_counts(experts, top_k, tokens, law)).first;
      }
      call.active_experts = found->second.active;
      call.rows_max_over_mean = found->second.max_over_mean;
      walk.keep(call);
    }
  }
  return walk.take();
}

namespace {

TableRows attention_rows(const std::string& path, const std::string& file, bool prefill) {
  Walk walk(path, file);
  while (walk.next()) {
    const auto dtype = dtype_of(walk.text("kv_cache_dtype"));
    if (!dtype) {
      walk.ignore(kOtherType);
      continue;
    }
    const double step = walk.number("step");
    if (prefill && step != 0) {
      walk.ignore(kPrefix);
      continue;
    }
    OpCall call = call_of(prefill ? Op::attention_prefill : Op::attention_decode, *dtype);
    call.sequences = walk.number("batch_size");
    call.new_tokens = prefill ? walk.number("isl") : 1;
    call.context_tokens = walk.number("isl") + step;
    call.query_heads = walk.number("num_heads");
    call.kv_heads = walk.number("num_key_value_heads");
    call.head_dim = walk.number("head_dim");
    call.window_tokens = walk.number("window_size");
    if (!is_known_width(call.head_dim)) {
      walk.ignore("head width that no model here has");
      continue;
    }
    if (call.window_tokens > 0 && !prefill) {
      call.context_tokens = std::min(call.context_tokens, call.window_tokens);
    }
    walk.keep(call);
  }
  return walk.take();
}

TableRows mla_rows(const std::string& path, const std::string& file, bool prefill) {
  Walk walk(path, file);
  while (walk.next()) {
    const auto dtype =
        walk.has("kv_cache_dtype") ? dtype_of(walk.text("kv_cache_dtype")) : DType::bf16;
    if (!dtype) {
      walk.ignore(kOtherType);
      continue;
    }
    const double step = walk.number("step");
    if (prefill && step != 0) {
      walk.ignore(kPrefix);
      continue;
    }
    OpCall call = call_of(prefill ? Op::mla_prefill : Op::mla_decode, *dtype);
    call.sequences = walk.number("batch_size");
    call.new_tokens = prefill ? walk.number("isl") : 1;
    call.context_tokens = walk.number("isl") + step;
    call.query_heads = walk.number("num_heads");
    call.kv_heads = prefill ? call.query_heads : 1;
    call.head_dim = kLatent;
    walk.keep(as_tabulated(call));
  }
  return walk.take();
}

TableRows indexer_rows(const std::string& path, const std::string& file, Op op) {
  Walk walk(path, file);
  while (walk.next()) {
    if (walk.has("score_mode") && walk.text("score_mode") != "flat") {
      walk.ignore("synthetic scores without ties");
    } else if (walk.number("batch_size") != 1 || walk.number("step") != 0 ||
               walk.number("isl") < 2) {
      walk.ignore(kPrefix);
    } else {
      OpCall call = call_of(op, DType::fp8);
      call.sequences = 1;
      call.new_tokens = walk.number("isl");
      call.context_tokens = call.new_tokens;
      call.query_heads = kIndexHeads;
      call.kv_heads = 1;
      call.head_dim = kIndexDim;
      walk.keep(call);
    }
  }
  return walk.take();
}

}  // namespace

TableRows decode_attention_rows(const std::string& path, const std::string& file) {
  return attention_rows(path, file, false);
}

TableRows prefill_attention_rows(const std::string& path, const std::string& file) {
  return attention_rows(path, file, true);
}

TableRows decode_mla_rows(const std::string& path, const std::string& file) {
  return mla_rows(path, file, false);
}

TableRows prefill_mla_rows(const std::string& path, const std::string& file) {
  return mla_rows(path, file, true);
}

TableRows mla_bmm_rows(const std::string& path, const std::string& file) {
  Walk walk(path, file);
  while (walk.next()) {
    const auto dtype = dtype_of(walk.text("bmm_dtype"));
    if (!dtype) {
      walk.ignore(kOtherType);
      continue;
    }
    const bool before = walk.text("op_name") == "mla_gen_pre";
    OpCall call = call_of(Op::mla_bmm, *dtype);
    call.m = walk.number("num_tokens");
    call.query_heads = walk.number("num_heads");
    call.n = before ? 1 : 0;  // only which of the two widths is larger
    walk.keep(as_tabulated(call));
  }
  return walk.take();
}

TableRows indexer_logits_rows(const std::string& path, const std::string& file) {
  return indexer_rows(path, file, Op::indexer_logits);
}

TableRows indexer_topk_rows(const std::string& path, const std::string& file) {
  return indexer_rows(path, file, Op::indexer_topk);
}

namespace {

TableRows sparse_rows(const std::string& path, const std::string& file, bool prefill) {
  const std::string op = prefill ? "dsa_context_module" : "dsa_generation_module";
  Walk walk(path, file);
  while (walk.next()) {
    const auto dtype = dtype_of(walk.text("kv_cache_dtype"));
    if (walk.text("architecture") != "GlmMoeDsaForCausalLM" ||
        (walk.has("op_name") && walk.text("op_name") != op)) {
      walk.ignore("block of another model");
    } else if (walk.text("gemm_type") != "bfloat16" || !dtype) {
      walk.ignore("projections in another type than bf16");
    } else {
      OpCall call = call_of(prefill ? Op::mla_prefill : Op::mla_decode, *dtype);
      call.sequences = walk.number("batch_size");
      call.new_tokens = prefill ? walk.number("isl") : 1;
      call.context_tokens = walk.number("isl") + walk.number("step");
      call.query_heads = walk.number("num_heads");
      call.kv_heads = prefill ? call.query_heads : 1;
      call.head_dim = kLatent;
      call.sparse_tokens = kSparseTokens;
      walk.keep(as_tabulated(call));
    }
  }
  TableRows rows = walk.take();
  // The engine changes kernels with the context's length: they follow each other, none replaces
  // one.
  for (TableRow& row : rows.rows) row.kernel.clear();
  return rows;
}

}  // namespace

TableRows sparse_block_rows(const std::string& path, const std::string& file) {
  return sparse_rows(path, file, false);
}

TableRows sparse_prefill_rows(const std::string& path, const std::string& file) {
  return sparse_rows(path, file, true);
}

void keep_main_kernels(TableRows& table) {
  std::map<LawKey, std::map<std::string, std::int64_t>> kernels;
  for (const TableRow& row : table.rows) ++kernels[key_of(row.call)][row.kernel];
  std::map<LawKey, std::string> main;
  for (const auto& [key, counts] : kernels) {
    main[key] = std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
                  return a.second < b.second;
                })->first;
  }
  std::vector<TableRow> kept;
  for (TableRow& row : table.rows) {
    if (main[key_of(row.call)] == row.kernel) kept.push_back(std::move(row));
  }
  const auto dropped = static_cast<std::int64_t>(table.rows.size() - kept.size());
  if (dropped > 0) table.use.ignored["another kernel of the same operation"] += dropped;
  table.use.used -= dropped;
  table.rows = std::move(kept);
}

}  // namespace plateau
