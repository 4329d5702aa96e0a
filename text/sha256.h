// Fingerprints of input files (OpenSSL inside).
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace trnplan {

/// SHA-256 of the bytes, 64 hexadecimal digits. Throws std::runtime_error when the library cannot.
std::string sha256(std::string_view bytes);

/// The same of bytes that come piece by piece.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void add(std::string_view bytes);
  /// Of all bytes so far; more may follow.
  std::string digits() const;

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace trnplan
