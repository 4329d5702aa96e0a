// What a user pays: files of prices, and offers of capacity.
#include <cmath>

#include "io/input/offerings_reader.h"
#include "io/input/price_list.h"
#include "planner/cost/offerings.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

using namespace trnplan;

void fuzz::price_list_target(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text_of(data, size);
  for (const char* name : {"p.yaml", "p.csv"}) {
    fuzz::refusable([&] {
      for (const auto& [type, usd] : io::prices_from_text(text, name, fuzz::catalog()))
        fuzz::ensure(!type.empty() && std::isfinite(usd) && usd >= 0, "a price is a number of at least 0");
    });
  }
}

void fuzz::offerings_target(const std::uint8_t* data, std::size_t size) {
  fuzz::refusable([&] {
    const io::ReadOffers read = io::offers_from(parse_document(fuzz::text_of(data, size), "offers.json"));
    fuzz::ensure(!read.offers.empty(), "offers or a refusal");
    std::vector<planner::Block> blocks;
    for (const planner::Offer& o : read.offers) {
      fuzz::ensure(!o.id.empty() && o.instances > 0 && o.usd >= 0, "an offer has a name, nodes and a fee");
      for (std::size_t i = 0; i < o.spans.size(); ++i)
        fuzz::ensure(o.spans[i].start < o.spans[i].end && (i == 0 || o.spans[i - 1].end <= o.spans[i].start),
                     "spans are ascending");
      blocks.push_back({o.start(), o.end(), o.usd, o.end() - o.start()});
    }
    const planner::Purchase p = planner::cheapest_blocks(blocks, kDay);
    fuzz::ensure(p.usd >= 0 && (!p.proven || p.enough), "a proof is one of a purchase");
  });
}
