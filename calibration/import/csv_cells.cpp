#include "calibration/import/csv_cells.h"

#include <algorithm>
#include <array>

#include "calibration/import/token.h"

namespace plateau::imports {
namespace {

// From behind the opening quote: the text and where the cell goes on. A cell whose closing quote is
// missing is cut: nothing.
std::string unquote(std::string_view line, std::size_t& at) {
  std::string text;
  while (at < line.size()) {
    if (line[at] != '"') {
      text += line[at++];
    } else if (at + 1 < line.size() && line[at + 1] == '"') {
      text += '"';
      at += 2;
    } else {
      ++at;
      return text;
    }
  }
  return "";
}

}  // namespace

const std::vector<Cell>& CsvCells::split(std::string_view line) {
  cells_.clear();
  unquoted_.clear();
  // Views into unquoted_ must stay valid: one allocation.
  unquoted_.reserve(static_cast<std::size_t>(std::count(line.begin(), line.end(), '"')));
  std::size_t at = 0;
  for (bool more = true; more;) {
    while (at < line.size() && (line[at] == ' ' || line[at] == '\t')) ++at;
    std::size_t comma = kNowhere;
    std::string_view text;
    if (at < line.size() && line[at] == '"') {
      unquoted_.push_back(unquote(line, ++at));
      text = unquoted_.back();
      comma = line.find(',', at);
    } else {
      comma = line.find(',', at);
      text = trimmed(line.substr(at, comma == kNowhere ? kNowhere : comma - at));
    }
    more = comma != kNowhere;
    cells_.push_back({text, more});
    at = comma + 1;
  }
  return cells_;
}

HeaderCell header_cell(std::string_view text) {
  text = trimmed(text);
  for (const auto& [open, close] : {std::pair{'[', ']'}, std::pair{'(', ')'}}) {
    const std::size_t at = text.rfind(open);
    if (at == kNowhere || text.empty() || text.back() != close) continue;
    return {std::string(trimmed(text.substr(0, at))),
            std::string(trimmed(text.substr(at + 1, text.size() - at - 2)))};
  }
  return {std::string(text), ""};
}

bool is_missing(std::string_view text) {
  constexpr std::array<std::string_view, 10> kWords = {
      "",    "-",  "N/A", "n/a", "[N/A]", "[Not Supported]", "[Unknown Error]", "[Not Found]",
      "nan", "NaN"};
  return std::find(kWords.begin(), kWords.end(), text) != kWords.end();
}

}  // namespace plateau::imports
