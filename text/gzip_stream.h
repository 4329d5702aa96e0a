// Bytes of a gzip file (RFC 1952), unpacked as they are asked for.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "text/byte_stream.h"
#include "text/diagnostic.h"

namespace trnplan {

/// True if a file that begins so is packed with gzip.
[[nodiscard]] bool is_gzip(std::string_view head);

/// Members that follow each other are one stream, as for gunzip. Holds 64 KiB of the packed bytes and a
/// window of 32 KiB, whatever the sizes.
class GzipStream : public ByteStream {
 public:
  /// Keeps a reference to `packed`. `name` is used in the fault.
  GzipStream(ByteStream& packed, std::string name);
  ~GzipStream() override;

  /// Damaged data end the stream: what came before was given, and fault() says why. Throws what the packed
  /// stream throws.
  std::size_t read(char* out, std::size_t size) override;
  bool rewind() override;
  bool rewindable() const override { return packed_.rewindable(); }

  /// The damage; absent while none was met.
  [[nodiscard]] const std::optional<Diagnostic>& fault() const { return fault_; }

 private:
  struct Inflater;

  bool refill();
  void end(const char* problem, const char* fix);

  ByteStream& packed_;
  std::string name_;
  std::unique_ptr<Inflater> inflater_;
  std::string buffer_;
  std::optional<Diagnostic> fault_;
  bool ended_ = false, within_ = false;  ///< within a member
};

}  // namespace trnplan
