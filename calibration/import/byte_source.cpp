#include "calibration/import/byte_source.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "calibration/input_error.h"

namespace plateau::imports {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 18;

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

[[noreturn]] void refuse(const std::string& file, std::string message, std::string hint) {
  throw InputError(Problem{file, 0, 0, "", std::move(message), std::move(hint)});
}

struct Magic {
  std::string_view bytes;
  const char* what;
  const char* hint;
};

constexpr std::array<Magic, 9> kRefused = {{
    {"PAR1", "is a Parquet table", "convert it to CSV first"},
    {std::string_view("SQLite format 3\0", 16), "is an SQLite database",
     "export it: nsys stats -r cuda_gpu_kern_sum,cuda_gpu_trace -f csv FILE"},
    {std::string_view("PK\x03\x04", 4), "is a zip archive", "unpack it first"},
    {std::string_view("\x28\xb5\x2f\xfd", 4), "is compressed with zstd",
     "unpack it first: zstd -d"},
    {std::string_view("\xfd"
                      "7zXZ",
                      5),
     "is compressed with xz", "unpack it first: xz -d"},
    {"BZh", "is compressed with bzip2", "unpack it first: bunzip2"},
    {std::string_view("\xff\xfe", 2), "is UTF-16 text (little endian)",
     "convert it: iconv -f UTF-16 -t UTF-8"},
    {std::string_view("\xfe\xff", 2), "is UTF-16 text (big endian)",
     "convert it: iconv -f UTF-16 -t UTF-8"},
    {std::string_view("\x7f"
                      "ELF",
                      4),
     "is a program", "give the log that it wrote"},
}};

void refuse_other_encodings(const std::string& file, std::string_view head) {
  for (const Magic& magic : kRefused) {
    if (head.substr(0, magic.bytes.size()) == magic.bytes) refuse(file, magic.what, magic.hint);
  }
  const auto zeros = std::count(head.begin(), head.end(), '\0');
  if (zeros == 0) return;
  // ASCII text in UTF-16 without a byte order mark has a zero in every second byte.
  if (static_cast<std::size_t>(zeros) * 3 > head.size()) {
    refuse(file, "is UTF-16 text", "convert it: iconv -f UTF-16 -t UTF-8");
  }
  refuse(file, "is binary, not text", "give a log, a CSV or a JSON file, plain or gzip");
}

}  // namespace

class ByteSource::Reader {
 public:
  virtual ~Reader() = default;
  virtual std::string_view read() = 0;
  virtual bool gzip() const { return false; }
  std::string damage;
};

class ByteSource::FileReader : public Reader {
 public:
  explicit FileReader(const std::string& path) : path_(path), buffer_(kBlock) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) {
      refuse(path, "is a folder without tables", "give the files in it");
    }
    file_.reset(std::fopen(path.c_str(), "rb"));
    if (!file_) refuse(path, std::string("cannot be read: ") + std::strerror(errno), "");
  }

  std::string_view read() override {
    const std::size_t got = std::fread(buffer_.data(), 1, buffer_.size(), file_.get());
    if (got == 0 && std::ferror(file_.get()) != 0) {
      refuse(path_, std::string("cannot be read: ") + std::strerror(errno), "");
    }
    return {buffer_.data(), got};
  }

 private:
  std::string path_;
  std::vector<char> buffer_;
  std::unique_ptr<std::FILE, FileCloser> file_;
};

class ByteSource::MemoryReader : public Reader {
 public:
  explicit MemoryReader(std::string_view bytes) : bytes_(bytes) {}
  std::string_view read() override {
    const std::string_view block = bytes_.substr(0, kBlock);
    bytes_.remove_prefix(block.size());
    return block;
  }

 private:
  std::string_view bytes_;
};

// Several members one after the other (`cat a.gz b.gz`) are one stream.
class ByteSource::GzipReader : public Reader {
 public:
  GzipReader(std::unique_ptr<Reader> raw, std::string_view first)
      : raw_(std::move(raw)), first_(first), buffer_(kBlock) {
    constexpr int kGzipOnly = 15 + 16;
    open_ = inflateInit2(&stream_, kGzipOnly) == Z_OK;
    feed(first_);
  }
  ~GzipReader() override { inflateEnd(&stream_); }
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;

  bool gzip() const override { return true; }

  std::string_view read() override {
    while (open_) {
      if (stream_.avail_in == 0) feed(raw_->read());
      if (stream_.avail_in == 0) {
        if (!between_members_) damage = "the gzip data is cut off";
        open_ = false;
        break;
      }
      const std::size_t got = inflate_block();
      if (got > 0) return {buffer_.data(), got};
    }
    return {};
  }

 private:
  void feed(std::string_view block) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(block.data()));
    stream_.avail_in = static_cast<uInt>(block.size());
  }

  std::size_t inflate_block() {
    stream_.next_out = reinterpret_cast<Bytef*>(buffer_.data());
    stream_.avail_out = static_cast<uInt>(buffer_.size());
    const int status = inflate(&stream_, Z_NO_FLUSH);
    const std::size_t got = buffer_.size() - stream_.avail_out;
    if (status == Z_STREAM_END) {
      between_members_ = true;
      inflateReset(&stream_);
    } else if (status == Z_OK || status == Z_BUF_ERROR) {
      between_members_ = false;
    } else {
      // gzip pads archives with zeros after the last member: not a damage.
      if (!between_members_) damage = "the gzip data is damaged";
      open_ = false;
    }
    return got;
  }

  std::unique_ptr<Reader> raw_;
  std::string first_;
  std::vector<char> buffer_;
  z_stream stream_{};
  bool open_ = false;
  bool between_members_ = false;
};

ByteSource::ByteSource(std::unique_ptr<Reader> reader, std::string name)
    : name_(std::move(name)), reader_(std::move(reader)) {
  head_ = reader_->read();
  if (head_.size() >= 2 && head_[0] == '\x1f' && head_[1] == '\x8b') {
    reader_ = std::make_unique<GzipReader>(std::move(reader_), head_);
    head_.clear();
  }
}

ByteSource ByteSource::open(const std::string& path) {
  return ByteSource(std::make_unique<FileReader>(path), path);
}

ByteSource ByteSource::memory(std::string_view bytes, std::string name) {
  return ByteSource(std::make_unique<MemoryReader>(bytes), std::move(name));
}

ByteSource::ByteSource(ByteSource&&) noexcept = default;
ByteSource& ByteSource::operator=(ByteSource&&) noexcept = default;
ByteSource::~ByteSource() = default;

bool ByteSource::gzip() const { return reader_->gzip(); }
const std::string& ByteSource::damage() const { return reader_->damage; }

std::string_view ByteSource::head() {
  if (!head_read_) {
    while (head_.size() < kHeadBytes) {
      const std::string_view block = reader_->read();
      if (block.empty()) break;
      head_ += block;
    }
    head_read_ = true;
    refuse_other_encodings(name_, std::string_view(head_).substr(0, kHeadBytes));
    constexpr std::string_view kUtf8Mark = "\xef\xbb\xbf";
    if (std::string_view(head_).substr(0, 3) == kUtf8Mark) head_.erase(0, 3);
  }
  return std::string_view(head_).substr(0, kHeadBytes);
}

std::string_view ByteSource::read() {
  if (!head_consumed_) {
    head();
    head_consumed_ = true;
    if (!head_.empty()) return head_;
  }
  return reader_->read();
}

}  // namespace plateau::imports
