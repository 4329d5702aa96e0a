// Fingerprints of input files (OpenSSL inside).
#pragma once

#include <string>
#include <string_view>

namespace trnplan::io {

/// SHA-256 of the bytes, 64 hexadecimal digits. Throws std::runtime_error when the library cannot.
std::string sha256(std::string_view bytes);

}  // namespace trnplan::io
