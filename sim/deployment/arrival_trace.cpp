#include "sim/deployment/arrival_trace.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "calibration/csv.h"
#include "sim/scenario/sections.h"

namespace plateau {

namespace {

constexpr double kLongestTraceMs = 1e12;  // 31 years: nanoseconds still fit

// Ids of "0-13 20 31-40", in order. Throws InputError.
std::vector<std::int64_t> block_ids(const CsvTable& table, std::size_t row, std::size_t column) {
  const std::string_view text = table.text(row, column);
  const auto refuse = [&] {
    throw InputError(table.problem(row, column,
                                   "`" + std::string(text.substr(0, 40)) + "` is no list of blocks",
                                   "write runs of ids, such as 0-13 20 31-40"));
  };
  std::vector<std::int64_t> ids;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t space = std::min(text.find(' ', at), text.size());
    const std::string_view run = text.substr(at, space - at);
    const std::size_t dash = run.find('-');
    const auto first = parse_integer(run.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_integer(run.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last - *first > kLongestRequest)
      refuse();
    for (std::int64_t id = *first; id <= *last; ++id) ids.push_back(id);
    at = space + 1;
  }
  return ids;
}

class ArrivalTraceReader {
 public:
  explicit ArrivalTraceReader(const std::string& path)
      : table_(CsvTable::read(path)),
        arrival_(table_.column("arrival_ms")),
        input_(table_.column("input_tokens")),
        output_(table_.column("output_tokens")) {}

  ArrivalTrace read(std::int64_t most_rows) {
    if (table_.rows() == 0) {
      throw InputError(Problem{table_.file(), 0, 0, "", "holds no request", ""});
    }
    ArrivalTrace trace;
    trace.file = table_.file();
    std::size_t rows = table_.rows();
    if (most_rows > 0) rows = std::min(rows, static_cast<std::size_t>(most_rows));
    trace.rows.reserve(rows);
    for (std::size_t row = 0; row < rows; ++row) add(row, &trace);
    if (table_.has("prefix_blocks")) trace.repeated_prefix_share = repeated_share(trace);
    return trace;
  }

 private:
  void add(std::size_t row, ArrivalTrace* trace) {
    const double ms = table_.number(row, arrival_);
    if (row == 0) first_ms_ = ms;
    if (ms < last_ms_ && row > 0)
      throw InputError(table_.problem(row, arrival_, "is earlier than the row above it",
                                      "sort the rows by arrival_ms"));
    if (ms - first_ms_ > kLongestTraceMs)
      throw InputError(table_.problem(row, arrival_, "is more than 31 years after the first row"));
    last_ms_ = ms;
    trace->rows.push_back({to_sim_time((ms - first_ms_) * 1e-3), tokens(row, input_),
                           tokens(row, output_), table_.line(row)});
  }

  std::int32_t tokens(std::size_t row, std::size_t column) const {
    const double value = table_.number(row, column);
    if (value < 1 || value > static_cast<double>(kLongestRequest) || value != std::floor(value)) {
      throw InputError(table_.problem(row, column,
                                      "`" + std::string(table_.text(row, column)) +
                                          "` is not a whole number of tokens from 1 on"));
    }
    return static_cast<std::int32_t>(value);
  }

  double repeated_share(const ArrivalTrace& trace) const {
    const std::size_t column = table_.column("prefix_blocks");
    std::unordered_set<std::int64_t> seen;  // asked for membership only
    double repeated = 0;
    double all = 0;
    for (std::size_t row = 0; row < trace.rows.size(); ++row) {
      const std::vector<std::int64_t> ids = block_ids(table_, row, column);
      std::size_t known = 0;
      while (known < ids.size() && seen.count(ids[known]) > 0) ++known;
      seen.insert(ids.begin(), ids.end());
      const double prompt = trace.rows[row].input_tokens;
      repeated += std::min(prompt, static_cast<double>(known) * kPrefixBlockTokens);
      all += prompt;
    }
    return repeated / all;
  }

  CsvTable table_;
  std::size_t arrival_;
  std::size_t input_;
  std::size_t output_;
  double first_ms_ = 0;
  double last_ms_ = 0;
};

}  // namespace

ArrivalTrace read_arrival_trace(const std::string& path, std::int64_t most_rows) {
  return ArrivalTraceReader(path).read(most_rows);
}

std::optional<Request> TraceArrivals::next() {
  if (sent_ == trace_->rows.size()) return std::nullopt;
  const ArrivalRow& row = trace_->rows[sent_];
  Request request;
  request.id = static_cast<std::int64_t>(sent_++);
  request.input_tokens = row.input_tokens;
  request.output_tokens = row.output_tokens;
  request.max_new_tokens = row.output_tokens;
  request.sent =
      rate_scale_ == 1 ? row.arrival : to_sim_time(to_seconds(row.arrival) / rate_scale_);
  return request;
}

}  // namespace plateau
