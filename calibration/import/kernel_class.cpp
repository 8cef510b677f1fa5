#include "calibration/import/kernel_class.h"

#include <string>
#include <vector>

#include "calibration/import/token.h"

namespace plateau::imports {
namespace {

// Parts that must stand in the lower-case name in this order.
struct Rule {
  KernelClass kernel_class;
  std::vector<std::string_view> parts;
};

const std::vector<Rule>& rules() {
  using K = KernelClass;
  static const std::vector<Rule> kRules = {
      {K::attention, {"flash", "combine"}},  // split KV, not the exchange of tokens
      {K::attention, {"mla", "combine"}},
      {K::comm, {"nccl"}},
      {K::comm, {"all_reduce"}},
      {K::comm, {"allreduce"}},
      {K::comm, {"allgather"}},
      {K::comm, {"all_gather"}},
      {K::comm, {"reduce_scatter"}},
      {K::comm, {"reducescatter"}},
      {K::comm, {"cross_device_reduce"}},
      {K::comm, {"deepep"}},
      {K::comm, {"deep_ep"}},
      {K::comm, {"alltoall"}},
      {K::comm, {"moea2a"}},
      {K::comm, {"dispatch"}},
      {K::comm, {"combine"}},
      {K::moe_gemm, {"grouped"}},
      {K::moe_gemm, {"group_gemm"}},
      {K::moe_gemm, {"moe", "gemm"}},
      {K::moe_gemm, {"fused_moe"}},
      {K::moe_gemm, {"bmm_", "e2m1"}},
      {K::moe_gemm, {"cutlass", "moe"}},
      {K::moe_gemm, {"cutlass", "group"}},
      {K::moe_route, {"topk"}},
      {K::moe_route, {"routing"}},
      {K::moe_route, {"align_block"}},
      {K::moe_route, {"permute"}},
      {K::moe_route, {"scatter"}},
      {K::moe_route, {"gather"}},
      {K::moe_route, {"silu", "mul", "quant"}},
      {K::attention, {"mla"}},
      {K::attention, {"fmha"}},
      {K::attention, {"flash"}},
      {K::attention, {"paged_attention"}},
      {K::attention, {"attention"}},
      {K::attention, {"indexer"}},
      {K::attention, {"mqa_logits"}},
      {K::dense_gemm, {"gemm"}},
      {K::dense_gemm, {"cublas"}},
      {K::dense_gemm, {"nvjet"}},
      {K::dense_gemm, {"sm90_"}},
      {K::dense_gemm, {"sm100_"}},
      {K::dense_gemm, {"sm120_"}},
      {K::quant, {"quant"}},
      {K::quant, {"cvt_fp"}},
      {K::norm, {"norm"}},
      {K::rope, {"rope"}},
      {K::rope, {"rotary"}},
      {K::sampling, {"sampl"}},
      {K::sampling, {"softmax"}},
      {K::sampling, {"argmax"}},
      {K::elementwise, {"silu"}},
      {K::elementwise, {"act_and_mul"}},
      {K::elementwise, {"elementwise"}},
      {K::elementwise, {"reduce_kernel"}},
      {K::elementwise, {"copy_kernel"}},
      {K::memory, {"memcpy"}},
      {K::memory, {"memset"}},
  };
  return kRules;
}

// "flashinfer" is a library's name space around kernels of every kind, not a word for attention.
std::string plain_name(std::string_view name) {
  std::string text = lower(name);
  constexpr std::string_view kLibrary = "flashinfer";
  for (std::size_t at = text.find(kLibrary); at != std::string::npos;
       at = text.find(kLibrary, at)) {
    text.erase(at, kLibrary.size());
  }
  return text;
}

bool fits(const Rule& rule, std::string_view name) {
  std::size_t from = 0;
  for (const std::string_view part : rule.parts) {
    const std::size_t at = find_text(name, part, from);
    if (at == kNowhere) return false;
    from = at + part.size();
  }
  return true;
}

}  // namespace

const char* name_of(KernelClass kernel_class) {
  constexpr const char* kNames[kKernelClasses] = {
      "comm", "moe_gemm", "moe_route", "attention",   "dense_gemm", "quant",
      "norm", "rope",     "sampling",  "elementwise", "memory",     "other"};
  return kNames[static_cast<int>(kernel_class)];
}

KernelClass class_of_kernel(std::string_view name) {
  const std::string plain = plain_name(name);
  for (const Rule& rule : rules()) {
    if (fits(rule, plain)) return rule.kernel_class;
  }
  return KernelClass::other;
}

}  // namespace plateau::imports
