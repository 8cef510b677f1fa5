// One line per request, for whoever wants to see more than quantiles.
//
//   id,sent_s,first_token_s,finished_s,input_tokens,output_tokens,retractions,ttft_ms,tpot_ms,replica
//
// Rows stand in the order in which requests ended. Times are simulated seconds from the start of
// the run, exact to the nanosecond; tpot_ms is empty for a request of one token. The text is kept
// in memory until write(), about 80 bytes a request.
#pragma once

#include <string>

#include "sim/engine/observer.h"

namespace plateau {

class RequestsCsv : public Observer {
 public:
  RequestsCsv();
  void on_request_finished(const RequestRecord& request) override;
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace plateau
