// The cheapest blocks that finish a run: by hand, and against all subsets.
#include "planner/cost/offerings.h"

#include <algorithm>
#include <chrono>

#include "planner/cost/draws.h"
#include "tests/catch.h"
#include "tests/sanitised.h"
#include "tests/seeds.h"

using namespace trnplan;
using namespace trnplan::planner;

namespace {

std::vector<Block> drawn(Random& random, int count, double days) {
  std::vector<Block> all;
  for (int i = 0; i < count; ++i) {
    Block b;
    b.start = std::floor(random.uniform() * days) * kDay;
    b.end = b.start + (1 + std::floor(random.uniform() * 14)) * kDay;
    const double nodes = std::exp2(std::floor(random.uniform() * 7));
    b.tokens = (b.end - b.start - 3600) * nodes * (0.8 + 0.2 * random.uniform());
    b.usd = (b.end - b.start) / kHour * nodes * (20 + 20 * random.uniform());
    all.push_back(b);
  }
  return all;
}

/// USD of the best of all subsets; nullopt if none is enough.
std::optional<double> brute_force(const std::vector<Block>& blocks, double tokens) {
  std::optional<double> best;
  for (unsigned mask = 0; mask < 1u << blocks.size(); ++mask) {
    std::vector<Block> taken;
    for (std::size_t i = 0; i < blocks.size(); ++i)
      if (mask >> i & 1u) taken.push_back(blocks[i]);
    std::sort(taken.begin(), taken.end(), [](const Block& a, const Block& b) { return a.start < b.start; });
    double usd = 0, reached = 0;
    bool chain = true;
    for (std::size_t i = 0; i < taken.size(); ++i) {
      chain = chain && (i == 0 || taken[i].start >= taken[i - 1].end);
      usd += taken[i].usd;
      reached += taken[i].tokens;
    }
    if (chain && reached >= tokens && (!best || usd < *best)) best = usd;
  }
  return best;
}

}  // namespace

TEST_CASE("blocks one after the other, by hand", "[planner][offerings]") {
  // Days 0-2, 2-4, 0-4 and 1-3 with 10 tokens a day; the first two together cost more than the third alone.
  const std::vector<Block> blocks{{0, 2, 50, 20}, {2, 4, 60, 20}, {0, 4, 100, 40}, {1, 3, 30, 20}};
  const auto bought = [&](double tokens) { return cheapest_blocks(blocks, tokens).blocks; };
  CHECK(bought(20) == std::vector<std::size_t>{3});
  CHECK(bought(21) == std::vector<std::size_t>{2});  // the fourth overlaps all others
  const Purchase most = cheapest_blocks(blocks, 41);
  CHECK_FALSE(most.enough);
  CHECK(most.tokens == 40);
  CHECK(cheapest_blocks({{0, 2, 50, 20}, {2, 4, 40, 20}, {0, 4, 100, 40}}, 30).blocks ==
        std::vector<std::size_t>{0, 1});
  CHECK_FALSE(cheapest_blocks({}, 1).enough);
}

TEST_CASE("twelve offers against all subsets", "[planner][offerings]") {
  for (const unsigned seed : seeds(1, 40)) {
    INFO("seed " << seed);
    Random random(seed);
    const std::vector<Block> blocks = drawn(random, 12, 30);
    double all = 0;
    for (const Block& b : blocks) all += b.tokens;
    const double tokens = all * (0.02 + 0.4 * random.uniform());
    const Purchase p = cheapest_blocks(blocks, tokens);
    const auto best = brute_force(blocks, tokens);
    REQUIRE(p.enough == best.has_value());
    if (!best) continue;
    CHECK(p.proven);
    CHECK(p.usd == Approx(*best).epsilon(1e-8));
    CHECK(p.tokens >= tokens * (1 - 1e-8));
  }
}

TEST_CASE("a thousand offers are solved to the proof in a second", "[planner][offerings]") {
  for (const unsigned seed : {1u, 2u, 3u}) {
    Random random(seed);
    const std::vector<Block> blocks = drawn(random, 1000, 180);
    const auto begin = std::chrono::steady_clock::now();
    const Purchase p = cheapest_blocks(blocks, 64 * 40 * kDay);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    INFO("seed " << seed << ", " << took.count() << " s");
    REQUIRE(p.enough);
    CHECK(p.proven);
    CHECK(p.bound <= p.usd);
    for (std::size_t i = 1; i < p.blocks.size(); ++i)
      CHECK(blocks[p.blocks[i]].start >= blocks[p.blocks[i - 1]].end);
    if (!kSanitised) CHECK(took.count() < 1);
    // Cut off early, it says how far from the optimum it may be.
    const Purchase cut = cheapest_blocks(blocks, 64 * 40 * kDay, 10);
    CHECK(cut.bound <= p.usd * (1 + 1e-9));
    CHECK(cut.usd >= p.usd * (1 - 1e-9));
  }
}
