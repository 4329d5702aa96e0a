// Numbers at the bounds of readers, inserted where a text has numbers: a mutator of bytes does not find them.
#pragma once

#include <cstdint>
#include <string>

namespace trnplan::fuzz {

/// `text` with some of its numbers replaced, often by the same one, since products overflow. Equal seeds give
/// equal texts. `text` itself if it has no number. Cost: linear.
[[nodiscard]] std::string with_numbers(const std::string& text, std::uint64_t seed);

}  // namespace trnplan::fuzz
