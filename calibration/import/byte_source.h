// The bytes of a file, plain or gzip, in blocks: memory stays bounded however large the file is.
//
// gzip is recognised by content. A gzip file that ends early or is damaged yields the bytes before
// the damage and says so: a monitor that was killed leaves exactly such a file. Encodings that are
// not UTF-8 text and containers of other tools (UTF-16, Parquet, SQLite, zip, zstd, xz) are refused
// with a way out.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace plateau::imports {

class ByteSource {
 public:
  static ByteSource open(const std::string& path);  // throws InputError
  static ByteSource memory(std::string_view bytes, std::string name);
  ByteSource(ByteSource&&) noexcept;
  ByteSource& operator=(ByteSource&&) noexcept;
  ~ByteSource();

  // The first bytes (up to kHeadBytes) without consuming them. Throws InputError when they are not
  // text.
  std::string_view head();
  // The next block, empty at the end; valid until the next call.
  std::string_view read();

  const std::string& name() const { return name_; }
  bool gzip() const;
  // gzip only: "" or what is wrong with its end.
  const std::string& damage() const;

  static constexpr std::size_t kHeadBytes = std::size_t{1} << 16;

 private:
  class Reader;
  class FileReader;
  class MemoryReader;
  class GzipReader;
  ByteSource(std::unique_ptr<Reader> reader, std::string name);

  std::string name_;
  std::unique_ptr<Reader> reader_;
  std::string head_;
  bool head_read_ = false;
  bool head_consumed_ = false;
};

}  // namespace plateau::imports
