// OpenSSL's own interface for hashes would pull its name look-ups and plug-ins into the program without
// shared libraries.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "io/sha256.h"

#include <array>
#include <stdexcept>

#include <fmt/format.h>
#include <openssl/sha.h>

namespace trnplan::io {

std::string sha256(std::string_view bytes) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256_CTX context;
  if (SHA256_Init(&context) != 1 || SHA256_Update(&context, bytes.data(), bytes.size()) != 1 ||
      SHA256_Final(digest.data(), &context) != 1) {
    throw std::runtime_error("SHA-256 is not available");
  }
  std::string text;
  for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace trnplan::io
