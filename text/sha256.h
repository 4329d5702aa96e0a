// Fingerprints of input files, computed by OpenSSL.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace trnplan {

/// SHA-256 of the bytes, 64 hexadecimal digits. Throws std::runtime_error when the library fails.
std::string sha256(std::string_view bytes);

/// SHA-256 of bytes that arrive in pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void add(std::string_view bytes);
  /// Digits of all bytes so far; more bytes may follow.
  std::string digits() const;

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace trnplan
