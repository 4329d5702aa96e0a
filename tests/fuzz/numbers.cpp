#include "tests/fuzz/numbers.h"

#include <cstddef>
#include <iterator>
#include <vector>

namespace trnplan::fuzz {

namespace {

/// Small ones, both sides of what models and runs may have (models/architecture/limits.h, models/job/limits.h), of
/// powers of two whose products wrap 32 and 64 bits, and of the types themselves; and such as are no whole numbers.
constexpr const char* kNumbers[] = {"0",
                                    "1",
                                    "2",
                                    "3",
                                    "7",
                                    "8",
                                    "64",
                                    "127",
                                    "128",
                                    "255",
                                    "256",
                                    "512",
                                    "513",
                                    "4095",
                                    "4096",
                                    "4097",
                                    "32768",
                                    "65535",
                                    "65536",
                                    "65537",
                                    "262144",
                                    "262145",
                                    "999999",
                                    "1000000",
                                    "1000001",
                                    "1048576",
                                    "2097152",
                                    "2097153",
                                    "16777216",
                                    "16777217",
                                    "99999999",
                                    "100000000",
                                    "100000001",
                                    "268435456",
                                    "268435457",
                                    "999999999",
                                    "1000000000",
                                    "2147483647",
                                    "2147483648",
                                    "4294967295",
                                    "4294967296",
                                    "4503599627370497",
                                    "9223372036854775807",
                                    "9223372036854775808",
                                    "18446744073709551616",
                                    "-1",
                                    "-2147483648",
                                    "-9223372036854775808",
                                    "0.5",
                                    "1e9",
                                    "1e18",
                                    "1e99",
                                    "1e308",
                                    "1e-308",
                                    "1e400"};

struct Run {
  std::size_t from, to;
};

bool digit(char c) {
  return c >= '0' && c <= '9';
}

std::vector<Run> numbers_in(const std::string& text) {
  std::vector<Run> all;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!digit(text[i])) continue;
    const std::size_t from = i;
    while (i < text.size() && digit(text[i])) ++i;
    all.push_back({from, i});
  }
  return all;
}

/// SplitMix64, which all compilers agree on (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::size_t below(std::size_t most) {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return static_cast<std::size_t>((z ^ (z >> 31U)) % most);
  }

 private:
  std::uint64_t state_;
};

}  // namespace

std::string with_numbers(const std::string& text, std::uint64_t seed) {
  const std::vector<Run> runs = numbers_in(text);
  if (runs.empty()) return text;
  Random random(seed);
  const auto any = [&] { return kNumbers[random.below(std::size(kNumbers))]; };
  std::vector<const char*> put(runs.size(), nullptr);
  const char* shared = random.below(2) == 0 ? any() : nullptr;
  for (std::size_t left = 1 + random.below(4); left > 0; --left)
    put[random.below(runs.size())] = shared != nullptr ? shared : any();
  std::string out;
  std::size_t at = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (put[i] == nullptr) continue;
    out.append(text, at, runs[i].from - at).append(put[i]);
    at = runs[i].to;
  }
  return out.append(text, at);
}

}  // namespace trnplan::fuzz
