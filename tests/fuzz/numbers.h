// Numbers at the bounds of readers, put where a text has numbers: what a mutator of bytes does not find.
#pragma once

#include <cstdint>
#include <string>

namespace trnplan::fuzz {

/// `text` with some of its numbers replaced, often by one and the same, since products are what overflows. Equal seeds give
/// equal texts. `text` itself where it has no number. Cost: linear.
[[nodiscard]] std::string with_numbers(const std::string& text, std::uint64_t seed);

}  // namespace trnplan::fuzz
