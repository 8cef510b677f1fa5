// read_file and write_file of calibration/csv.h: the one place where bytes enter and leave.
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include "calibration/csv.h"

namespace plateau {
namespace {

constexpr std::size_t kLargest = std::size_t{4} << 30;
constexpr std::size_t kBlock = std::size_t{1} << 18;

[[noreturn]] void fail(const std::string& path, const std::string& message,
                       const std::string& hint = "") {
  throw InputError(Problem{path, 0, 0, "", message, hint});
}

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

std::string read_bytes(const std::string& path) {
  const File file(std::fopen(path.c_str(), "rb"));
  if (!file) fail(path, std::string("cannot be read: ") + std::strerror(errno));
  std::string bytes;
  for (;;) {
    const std::size_t before = bytes.size();
    if (before > kLargest) fail(path, "is larger than 4 GiB");
    const std::size_t step = before < kBlock ? std::size_t{1} << 14 : kBlock;
    bytes.resize(before + step);
    errno = 0;
    const std::size_t got = std::fread(bytes.data() + before, 1, step, file.get());
    bytes.resize(before + got);
    if (got == step) continue;
    if (std::ferror(file.get()) != 0)
      fail(path, std::string("cannot be read: ") + std::strerror(errno));
    return bytes;
  }
}

// zlib wants its end called on every way out.
class Inflater {
 public:
  explicit Inflater(const std::string& path) : path_(path) {
    constexpr int kGzip = 15 + 16;
    if (inflateInit2(&stream_, kGzip) != Z_OK) fail(path_, "cannot be unpacked: out of memory");
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // gzip allows several members one after the other (`cat a.gz b.gz`): all of them are unpacked.
  std::string run(std::string bytes) {
    std::string out;
    std::size_t used = 0;
    while (used < bytes.size()) {
      used += member(bytes, used, out);
      inflateReset(&stream_);
    }
    return out;
  }

 private:
  std::size_t member(std::string& bytes, std::size_t from, std::string& out) {
    std::size_t at = from;
    stream_.avail_in = 0;
    int status = Z_OK;
    while (status != Z_STREAM_END) {
      if (stream_.avail_in == 0 && at < bytes.size()) {
        stream_.next_in = reinterpret_cast<Bytef*>(bytes.data() + at);
        stream_.avail_in = static_cast<uInt>(std::min(bytes.size() - at, kBlock));
        at += stream_.avail_in;
      }
      const std::size_t before = out.size();
      out.resize(before + kBlock);
      stream_.next_out = reinterpret_cast<Bytef*>(out.data() + before);
      stream_.avail_out = static_cast<uInt>(kBlock);
      status = inflate(&stream_, Z_NO_FLUSH);
      out.resize(out.size() - stream_.avail_out);
      if (status != Z_OK && status != Z_STREAM_END)
        fail(path_, "is damaged or cut off: gzip data ends in an error");
      if (out.size() > kLargest) fail(path_, "unpacks to more than 4 GiB");
    }
    return at - stream_.avail_in - from;
  }

  const std::string& path_;
  z_stream stream_{};
};

bool is_gzip(std::string_view bytes) {
  return bytes.size() >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b';
}

// "" when all bytes reached the file, else why not.
std::string write_bytes(const std::string& path, std::string_view content) {
  File file(std::fopen(path.c_str(), "wb"));
  if (!file) return std::strerror(errno);
  const bool written = std::fwrite(content.data(), 1, content.size(), file.get()) == content.size();
  if (!written || std::fclose(file.release()) != 0) return std::strerror(errno);
  return "";
}

}  // namespace

std::string read_file(const std::string& path) {
  std::string bytes = read_bytes(path);
  if (!is_gzip(bytes)) return bytes;
  return Inflater(path).run(std::move(bytes));
}

void write_file(const std::string& path, std::string_view content) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  // A device such as /dev/stdout is written to, never replaced; a link keeps pointing where it did.
  const bool replaceable = !fs::exists(status) || fs::is_regular_file(status);
  const fs::path target =
      replaceable && fs::exists(status) ? fs::canonical(path, error) : fs::path(path);
  const std::string written =
      replaceable ? target.string() + "." + std::to_string(getpid()) + ".tmp" : target.string();
  std::string reason = write_bytes(written, content);
  if (replaceable && reason.empty()) {
    fs::rename(written, target, error);
    if (error) reason = error.message();
  }
  if (reason.empty()) return;
  if (replaceable) std::remove(written.c_str());
  fail(path, "cannot be written: " + reason);
}

}  // namespace plateau
