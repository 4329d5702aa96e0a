// Keeps OpenSSL's older interface: the newer one would pull name look-ups and plug-ins into the program
// without shared libraries.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "text/sha256.h"

#include <array>
#include <stdexcept>

#include <fmt/format.h>
#include <openssl/sha.h>

namespace trnplan {

struct Sha256::Context {
  SHA256_CTX sha{};
};

namespace {

void require(int done) {
  if (done != 1) throw std::runtime_error("SHA-256 is not available");
}

}  // namespace

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  require(SHA256_Init(&context_->sha));
}

Sha256::~Sha256() = default;

void Sha256::add(std::string_view bytes) {
  require(SHA256_Update(&context_->sha, bytes.data(), bytes.size()));
}

std::string Sha256::digits() const {
  SHA256_CTX last = context_->sha;
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  require(SHA256_Final(digest.data(), &last));
  std::string text;
  for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

std::string sha256(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.digits();
}

}  // namespace trnplan
