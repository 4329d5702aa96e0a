// Entry point of libFuzzer for the target that the build names, with a mutator that also writes numbers at
// their bounds.
#include <algorithm>
#include <string>

#include "tests/fuzz/numbers.h"
#include "tests/fuzz/targets.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  trnplan::fuzz::TRNPLAN_FUZZ_TARGET(data, size);
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned int seed) {
  if (seed % 2 == 0) return LLVMFuzzerMutate(data, size, most);
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string other = trnplan::fuzz::with_numbers(text, seed);
  if (other == text || other.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::copy(other.begin(), other.end(), data);
  return other.size();
}
