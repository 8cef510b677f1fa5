#include "sim/sweep/row_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "calibration/csv.h"
#include "calibration/units.h"

namespace plateau {

RowStore::RowStore(std::int64_t points) : lines_(static_cast<std::size_t>(points)) {}

RowStore::RowStore(const std::string& path, const std::string& fingerprint, std::int64_t points)
    : RowStore(points) {
  path_ = path;
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file_ < 0) fail(std::string("cannot be written: ") + std::strerror(errno));
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
    fail("is being written by another sweep", "let it end, or name another output");
  }
  const std::string header = "plateau-sweep-partial/1 " + fingerprint + "\n";
  load(read_file(path), header);
  if (::ftruncate(file_, whole_) != 0) fail(std::string("cannot be cut: ") + std::strerror(errno));
  if (whole_ == 0) {
    try {
      append(header);
    } catch (const InputError&) {
      remove_file();
      throw;
    }
  }
}

RowStore::~RowStore() {
  if (file_ >= 0) ::close(file_);
}

void RowStore::fail(const std::string& message, const std::string& hint) const {
  throw InputError(Problem{path_, 0, 0, "", message, hint});
}

void RowStore::load(const std::string& content, const std::string& header) {
  if (content.find('\n') == std::string::npos) return;  // not even the header: start anew
  if (content.compare(0, header.size(), header) != 0) {
    fail("holds the rows of another sweep",
         "to start anew, remove it; to go on with it, repeat its command");
  }
  std::size_t start = header.size();
  for (std::size_t end = content.find('\n', start); end != std::string::npos;
       end = content.find('\n', start)) {
    const std::size_t tab = content.find('\t', start);
    const auto point = tab < end ? parse_integer(content.substr(start, tab - start)) : std::nullopt;
    if (!point || *point < 0 || *point >= size()) fail("is damaged", "remove it to start anew");
    std::string& line = lines_[static_cast<std::size_t>(*point)];
    if (line.empty()) ++done_;
    line = content.substr(tab + 1, end - tab - 1);
    start = end + 1;
  }
  whole_ = static_cast<std::int64_t>(start);
}

void RowStore::append(const std::string& text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t n = ::write(file_, text.data() + written, text.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const std::string reason = n < 0 ? std::strerror(errno) : "nothing was written";
      const bool cut = ::ftruncate(file_, whole_) == 0;
      fail("cannot be written: " + reason,
           cut && done_ > 0 ? "it keeps " + std::to_string(done_) +
                                  " whole rows; repeat the command to go on from there"
                            : "");
    }
    written += static_cast<std::size_t>(n);
  }
  whole_ += static_cast<std::int64_t>(text.size());
}

void RowStore::put(std::int64_t point, std::string line) {
  if (file_ >= 0) append(std::to_string(point) + "\t" + line + "\n");
  std::string& kept = lines_[static_cast<std::size_t>(point)];
  if (kept.empty()) ++done_;
  kept = std::move(line);
}

std::vector<std::int64_t> RowStore::missing() const {
  std::vector<std::int64_t> points;
  for (std::int64_t i = 0; i < size(); ++i) {
    if (!has(i)) points.push_back(i);
  }
  return points;
}

void RowStore::remove_file() {
  if (file_ < 0) return;
  ::unlink(path_.c_str());
  ::close(file_);
  file_ = -1;
}

}  // namespace plateau
