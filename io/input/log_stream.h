// Logs of any size, read from a file, a pipe or standard input as they are asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "text/byte_stream.h"
#include "text/sha256.h"

namespace trnplan::io {

/// Name of standard input among the names of logs, and in messages.
inline constexpr const char* kStandardInput = "-";
inline constexpr const char* kStandardInputName = "standard input";

class LogStream : public ByteStream {
 public:
  /// Opens a regular file, a named pipe, or "-". Throws InputError.
  explicit LogStream(const std::string& path);
  ~LogStream() override;

  std::size_t read(char* out, std::size_t size) override;
  bool rewind() override;
  bool rewindable() const override { return regular_; }
  std::string path() const override { return regular_ && file_ > 0 ? name_ : ""; }

  /// Hash of all bytes: reads those that were not read.
  std::string sha256();
  /// Number of the bytes that sha256() or hash_so_far() are of.
  std::uint64_t hashed() const { return hashed_; }
  /// Hash of the bytes that were read.
  std::string hash_so_far() const { return hash_.digits(); }
  /// The first bytes of a file, as they are now; reading continues where it was.
  std::string at_start(std::size_t bytes) const;
  /// Position of the next byte that is read.
  std::uint64_t offset() const { return at_; }
  bool seek(std::uint64_t offset) override;
  std::optional<std::uint64_t> size() const override;
  int descriptor() const { return file_; }

 private:
  std::string name_;
  int file_ = -1;
  bool regular_ = false;
  std::uint64_t at_ = 0, hashed_ = 0;  ///< bytes
  Sha256 hash_;
};

/// Hashes of the first bytes of a file, of so many each, in ascending order; "" where it has fewer. All are "" of what
/// is no regular file (standard input, a pipe), which is not opened. Throws InputError. Cost: reads the file once, up
/// to the largest.
std::vector<std::string> hashes_of_starts(const std::string& path, const std::vector<std::uint64_t>& bytes);

}  // namespace trnplan::io
