#include "sim/report/requests_csv.h"

#include <fmt/format.h>

#include <iterator>

namespace plateau {

namespace {

// An integer of 10^-digits units as a decimal: 1500 with 3 digits is 1.500.
std::string decimal(std::int64_t value, std::int64_t unit, int digits) {
  return fmt::format("{}.{:0{}}", value / unit, value % unit, digits);
}

std::string seconds(SimTime time) { return decimal(time.count(), 1'000'000'000, 9); }

}  // namespace

RequestsCsv::RequestsCsv()
    : text_(
          "id,sent_s,first_token_s,finished_s,input_tokens,output_tokens,retractions,ttft_ms,"
          "tpot_ms,replica\n") {}

void RequestsCsv::on_request_finished(const RequestRecord& request) {
  fmt::format_to(std::back_inserter(text_), "{},{},{},{},{},{},{},{},", request.id,
                 seconds(request.sent), seconds(request.first_token), seconds(request.finished),
                 request.input_tokens, request.output_tokens, request.retractions,
                 decimal((request.first_token - request.sent).count(), 1'000'000, 6));
  if (request.output_tokens > 1) {
    fmt::format_to(std::back_inserter(text_), "{}",
                   static_cast<double>((request.finished - request.first_token).count()) * 1e-6 /
                       static_cast<double>(request.output_tokens - 1));
  }
  fmt::format_to(std::back_inserter(text_), ",{}\n", request.replica);
}

}  // namespace plateau
