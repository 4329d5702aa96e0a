#include "sim/short_lists.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <boost/random/mersenne_twister.hpp>

#include "tests/catch.h"

using namespace trnplan::sim;

namespace {

struct Wide {
  std::uint64_t a, b;
  bool operator==(const Wide&) const = default;
};

/// A list, and the vector that it should be like.
template <class T>
struct Pair {
  ShortList<T> list;
  std::vector<T> expected;

  bool alike() const { return std::equal(list.begin(), list.end(), expected.begin(), expected.end()); }
};

}  // namespace

// Lists of two kinds share their memory; some are long.
TEST_CASE("short lists are like vectors", "[sim]") {
  boost::random::mt19937 random(1);
  ShortLists lists;
  std::vector<Pair<std::uint64_t>> narrow(40);
  std::vector<Pair<Wide>> wide(40);
  const auto change = [&](auto& pair, const auto& entry, std::size_t most) {
    const auto what = random() % 16;
    if (what == 0) {
      lists.clear(pair.list);
      pair.expected.clear();
    } else if (what == 1) {
      pair.list.forget();
      pair.expected.clear();
    } else if (what == 2) {
      lists.shrink(pair.list);
    } else if (what == 3) {
      lists.reserve(pair.list, random() % most);
    } else if (what < 8 && !pair.expected.empty()) {
      pair.list.pop_back();
      pair.expected.pop_back();
    } else {
      lists.push(pair.list, entry, 2 + random() % 5);
      pair.expected.push_back(entry);
    }
  };
  int wrong = 0;
  for (int i = 0; i < 50'000; ++i) {
    const std::uint64_t n = random();
    const std::size_t which = random() % narrow.size(), most = which == 0 ? 200 : 9;
    change(narrow[which], n, most);
    change(wide[random() % wide.size()], Wide{n, ~n}, most);
    if (i % 50 > 0) continue;
    for (const auto& pair : narrow) wrong += !pair.alike();
    for (const auto& pair : wide) wrong += !pair.alike();
  }
  CHECK(wrong == 0);
}
