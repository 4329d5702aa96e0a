#include "planner/cost/prices.h"

#include "tests/catch.h"
#include "tests/models/setup.h"

using namespace trnplan;
using namespace trnplan::planner;

TEST_CASE("prices by kind, with region and date", "[planner][prices]") {
  const topology::Instance i = test_catalog().instance("trn1.32xlarge");
  const auto hourly = [&](Pricing p) { return price_of(i, p)->usd_per_hour; };
  CHECK(hourly(Pricing::on_demand) == 21.5);
  CHECK(hourly(Pricing::reserved) == 8.197);
  CHECK(hourly(Pricing::capacity_block) == 15.49);
  const auto bill = bill_of(i, 4, {});
  REQUIRE(bill);
  REQUIRE(bill->lines.size() == 1);
  CHECK(bill->usd_per_hour() == 86);
  CHECK(bill->lines[0].basis == "on_demand, us-east-1, 2026-07-20");
  CHECK(bill->usd(Seconds(7200)) == 172);
}

TEST_CASE("what has no price in the catalogue is the caller's", "[planner][prices]") {
  const topology::Instance trn2 = test_catalog().instance("trn2.48xlarge");
  PriceOptions options;
  options.pricing = Pricing::on_demand;
  CHECK_FALSE(bill_of(trn2, 1, options));  // none is known
  CHECK(bill_of(trn2, 1, {})
            ->lines[0]
            .basis.starts_with("capacity_block, "));  // the usual one is what is known
  options.usd_per_node_hour = 10;
  CHECK(bill_of(trn2, 3, options)->usd_per_hour() == 30);
  options.storage_gib = 7300;
  CHECK(bill_of(trn2, 3, options)->lines.size() == 1);  // its price is not stated
  options.storage_usd_per_gib_month = 0.1;
  options.other_usd_per_hour = 2;
  // 7300 GiB x 0.1 USD / 730 h = 1 USD/h
  const auto bill = bill_of(trn2, 3, options);
  CHECK(bill->lines.size() == 3);
  CHECK(bill->usd_per_hour() == Approx(30 + 1 + 2));
}

TEST_CASE("the latest of several prices of a kind", "[planner][prices]") {
  topology::Instance i;
  i.prices = {
      {"on_demand", 3, "a", "2024-05"}, {"on_demand", 1, "b", "2026-01"}, {"on_demand", 2, "c", "2026-01"}};
  CHECK(price_of(i, Pricing::on_demand)->usd_per_hour == 1);
  CHECK_FALSE(price_of(i, Pricing::reserved));
  i.prices = {{"spot", 3, "a", "not stated"}, {"spot", 1, "b", "2024"}};
  CHECK(price_of(i, Pricing::spot)->usd_per_hour == 1);  // what has no date is older
}

TEST_CASE("every price of the catalogue says where, when, on which terms and who says so",
          "[planner][prices]") {
  for (const std::string& name : test_catalog().instances()) {
    for (const topology::Price& p : test_catalog().instance(name).prices) {
      CAPTURE(name, p.kind);
      CHECK(pricing_from(p.kind));
      CHECK_FALSE(p.region.empty());
      CHECK_FALSE(p.date.empty());
      CHECK_FALSE(terms_of(p).empty());
      CHECK_FALSE(p.source.empty());
    }
  }
}

TEST_CASE("names of pricings, and the limit of capacity blocks", "[planner][prices]") {
  CHECK(pricing_from("capacity-block") == Pricing::capacity_block);
  CHECK(pricing_from("on_demand") == Pricing::on_demand);
  CHECK(pricing_from("spot") == Pricing::spot);
  CHECK_FALSE(pricing_from("rent"));
  PriceOptions options;
  options.pricing = Pricing::capacity_block;
  const topology::Instance i = test_catalog().instance("trn1.32xlarge");
  CHECK(bill_of(i, 256, options)->remark.empty());
  CHECK_FALSE(bill_of(i, 257, options)->remark.empty());
}
