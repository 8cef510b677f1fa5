#include "calibration/fit_tables.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "calibration/csv.h"
#include "calibration/fit/fit_sparse.h"
#include "calibration/profile.h"
#include "tests/support/toy_profile.h"

using namespace plateau;

namespace {

// Tables of a made-up GPU (1 TB/s, 100 TFLOP/s) that reaches half its roofline in everything.
class ToyTables {
 public:
  explicit ToyTables(const std::string& name) : root_(toy::folder(name)) {
    request.table_folder = root_ + "/tables";
    request.data_folder = root_ + "/calibration/data";
    request.system = "sys";
    request.engine = "sglang-0";
    request.nccl = "nccl-0";
    request.device = "toy";
    request.source = "made up";
    request.licence = "none";
    request.date = "2026-01-01";
    std::filesystem::create_directories(request.data_folder + "/toy");
    std::filesystem::create_directories(request.table_folder + "/sys/sglang-0");
    std::filesystem::create_directories(request.table_folder + "/sys/nccl-0");
    write_file(request.data_folder + "/toy/device.yaml", toy::constants());
    put("gemm", gemms());
    put("moe", moe());
    put("generation_attention", attention("isl,step", "1,15", "1,255"));
    put("context_attention", attention("attn_dtype,isl,step", "bfloat16,16,0", "bfloat16,256,0"));
    write_file(request.table_folder + "/sys/nccl-0/nccl.csv.gz",
               "op_name,nccl_dtype,num_gpus,message_size,latency\n"
               "all_reduce,half,2,512,0.01\nall_reduce,half,2,1024,0.02\n"
               "all_reduce,half,2,512,0.03\nall_reduce,int8,2,512,0.5\n"
               "all_gather,half,2,512,0.005\nalltoall,half,2,512,0.1\n");
  }

  void put(const std::string& table, const std::string& text) {
    write_file(request.table_folder + "/sys/sglang-0/" + table + ".csv.gz", text);
  }
  void drop(const std::string& table) {
    std::filesystem::remove(request.table_folder + "/sys/sglang-0/" + table + ".csv.gz");
  }
  std::string complaint() const {
    try {
      fit_profile(request);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }
  std::string written(const std::string& name) const {
    return read_file(request.data_folder + "/toy/sglang-0/" + name);
  }
  std::unique_ptr<Profile> load() const {
    ProfileOptions options;
    options.data_dir = root_;
    options.name = "toy/sglang-0";
    options.interconnect = Interconnect::pcie;
    options.ranks = 2;
    return load_profile(options);
  }

  static std::string gemms() {
    std::string text = "gemm_dtype,n,k,m,latency\n";
    for (const int n : {256, 1024, 4096, 32768}) {
      for (const int k : {256, 1024, 4096, 16384}) {
        for (const int m : {1, 4, 16, 64, 256}) {
          const double flops = 2.0 * m * n * k / 1e14;
          const double bytes = (2.0 * n * k + 2.0 * m * (n + k)) / 1e12;
          text += fmt::format("bfloat16,{},{},{},{:.6g}\n", n, k, m,
                              std::hypot(flops, bytes) / 0.5 * 1e3);
        }
      }
    }
    return text;
  }

  FitRequest request;

 private:
  static std::string moe() {
    std::string text =
        "moe_dtype,hidden_size,inter_size,topk,num_experts,moe_tp_size,moe_ep_size,distribution,"
        "num_tokens,latency\n";
    for (const int tokens : {1, 2, 4, 8, 16, 32, 64, 128, 512}) {
      text += fmt::format("bfloat16,1024,512,4,64,1,1,balanced,{},{}\n", tokens,
                          0.05 + 0.01 * std::min(64, 4 * tokens));
    }
    text += "bfloat16,1024,512,4,64,1,8,balanced,1,0.5\n";  // expert parallel
    text += "bfloat16,1024,512,4,64,1,1,balanced,1,9.9\n";  // the same key again
    return text;
  }
  static std::string attention(const std::string& columns, const std::string& low,
                               const std::string& high) {
    std::string text =
        "num_heads,num_key_value_heads,head_dim,kv_cache_dtype,window_size,batch_size," + columns +
        ",latency\n";
    for (const int batch : {1, 4, 16, 64}) {
      for (const int heads : {4, 8}) {
        text += fmt::format("{},4,128,bfloat16,0,{},{},{}\n", heads, batch, low, 0.01 * batch);
        text += fmt::format("{},4,128,bfloat16,0,{},{},{}\n", heads, batch, high, 0.02 * batch);
      }
    }
    return text;
  }

  std::string root_;
};

}  // namespace

TEST_CASE("fit tables: a known utilisation comes back, everything is counted") {
  const ToyTables tables("fit_known");
  const FitSummary summary = fit_profile(tables.request);
  CHECK(summary.weight_stream == doctest::Approx(0.5e12).epsilon(0.01));
  const auto profile = tables.load();
  OpCall call;
  call.op = Op::gemm;
  call.m = 16;
  call.n = 2000;
  call.k = 3000;
  const double flops = 2.0 * 16 * 2000 * 3000 / 1e14;
  const double bytes = (2.0 * 2000 * 3000 + 2.0 * 16 * 5000) / 1e12;
  CHECK(profile->cost(call).seconds.value ==
        doctest::Approx(std::hypot(flops, bytes) / 0.5).epsilon(0.02));
  for (const TableUse& use : summary.tables) {
    CAPTURE(use.file);
    std::int64_t ignored = 0;
    for (const auto& [reason, count] : use.ignored) ignored += count;
    CHECK(use.used + ignored == use.rows);
  }
  const TableUse& moe = summary.tables[1];
  CHECK(moe.ignored.at("expert parallel") == 1);
  CHECK(moe.ignored.at("key seen before: the first row counts") == 1);
}

TEST_CASE(
    "fit tables: collective sizes are elements of two bytes, the first of equal keys counts") {
  const ToyTables tables("fit_collectives");
  fit_profile(tables.request);
  OpCall call;
  call.op = Op::all_reduce;
  call.ranks = 2;
  call.bytes = 1024;
  const auto profile = tables.load();
  CHECK(profile->cost(call).seconds.value == doctest::Approx(10e-6));
  call.bytes = 2048;
  CHECK(profile->cost(call).seconds.value == doctest::Approx(20e-6));
  CHECK(profile->cost(call).seconds.source == Source::measured);
}

TEST_CASE("fit tables: the same tables give the same bytes") {
  const ToyTables tables("fit_bytes");
  fit_profile(tables.request);
  const std::string names[] = {"meta.yaml", "laws.csv", "curves.csv", "residuals.csv"};
  std::vector<std::string> first;
  for (const std::string& name : names) first.push_back(tables.written(name));
  fit_profile(tables.request);
  for (std::size_t i = 0; i < first.size(); ++i) CHECK(tables.written(names[i]) == first[i]);
}

TEST_CASE("fit tables: a missing table, a missing column and a non-number are named") {
  ToyTables tables("fit_errors");
  tables.put("gemm", toy::replaced(ToyTables::gemms(), "latency", "latency_us"));
  CHECK(tables.complaint().find("latency: missing column") != std::string::npos);
  tables.put("gemm",
             toy::replaced(ToyTables::gemms(), "bfloat16,256,256,1,", "bfloat16,256,256,one,"));
  CHECK(tables.complaint().find("gemm.csv.gz:2:18: m: not a number: \"one\"") != std::string::npos);
  tables.put("gemm", "gemm_dtype,n,k,m,latency\nbfloat16,64,64,1,0.01\n");
  CHECK(tables.complaint().find("no GEMM large enough") != std::string::npos);
  tables.put("gemm", ToyTables::gemms());
  tables.drop("moe");
  CHECK(tables.complaint().find("moe.csv.gz: table is missing") != std::string::npos);
}

TEST_CASE("fit tables: a mistake in device.yaml is told and leaves nothing behind") {
  ToyTables tables("fit_device");
  write_file(tables.request.data_folder + "/toy/device.yaml",
             toy::replaced(toy::constants(), "graph_gap", "graph_gape"));
  CHECK(tables.complaint().find("launch.graph_gap: is missing") != std::string::npos);
  CHECK(std::distance(std::filesystem::directory_iterator(tables.request.data_folder + "/toy"),
                      {}) == 1);
}

TEST_CASE("fit tables: a sparse block adds up again") {
  OpCall core;
  core.op = Op::mla_decode;
  core.weights = DType::fp8;
  core.sequences = 8;
  core.new_tokens = 1;
  core.query_heads = 8;
  core.kv_heads = 1;
  core.head_dim = 576;
  core.sparse_tokens = 2048;
  std::vector<TableRow> block;
  for (const double context : {1025.0, 2049.0, 8193.0}) {
    core.context_tokens = context;
    block.push_back({core, 100e-6 + context * 1e-9, "toy"});
  }
  SparsePrices prices;
  prices.seconds = [](const OpCall&) { return 2e-6; };
  prices.gap = 1e-6;
  prices.small_kernel = 1e-6;
  prices.weight_stream = 1e12;
  const SparseRows rows = split_sparse_block(block, prices);
  REQUIRE(rows.core.size() == 2);
  REQUIRE(rows.indexer.size() == 1);
  CHECK(rows.core[1].call.context_tokens == 2048);
  // Between the layer's norm and its all-reduce: qkv_a, latent norm, q_b, two indexer GEMMs,
  // logits, top-k, rope, two absorptions, the core and the output projection.
  const double operations = 12;
  CHECK(rows.core[0].seconds ==
        doctest::Approx(block[0].seconds - 2e-6 * (operations - 1) - 1e-6 * operations));
  CHECK(rows.indexer[0].call.op == Op::indexer_logits);
  CHECK(rows.indexer[0].seconds == doctest::Approx(2e-6 + block[2].seconds - block[1].seconds));
  // A block shorter than its parts leaves the core its floor.
  block.resize(1);
  block[0].seconds = 5e-6;
  const SparseRows floor = split_sparse_block(block, prices);
  CHECK(floor.at_floor == 1);
  CHECK(floor.core[0].seconds == doctest::Approx(1e-6 + 8 * 1025 * 576 / 1e12));
  // Prefill: keys and values are expanded by one GEMM instead of two absorptions.
  core.op = Op::mla_prefill;
  core.new_tokens = 512;
  core.context_tokens = 512;
  const SparseRows prefill = split_sparse_prefill({{core, 900e-6, "toy"}}, prices);
  REQUIRE(prefill.core.size() == 1);
  CHECK(prefill.core[0].seconds == doctest::Approx(900e-6 - 2e-6 * 10 - 1e-6 * 11));
  CHECK(split_sparse_prefill({{core, 9e-6, "toy"}}, prices).core.empty());
  CHECK(sparse_block_seconds(core, prices) == doctest::Approx(2e-6 * 11 + 1e-6 * 11));
}
