// Offers of both services, as their command lines print them.
#include "io/input/offerings_reader.h"

#include "tests/catch.h"
#include "tests/faults.h"
#include "text/utc_time.h"

using namespace trnplan;
using planner::Offer;

namespace {

const std::string kFolder = std::string(TRNPLAN_SOURCE_DIR) + "/tests/io/fixtures/offerings/";

std::vector<Diagnostic> offer_faults(const std::string& text) {
  return faults_in([&] { (void)io::offers_from(parse_document(text, "o.json")); });
}

/// A sound block with one field replaced.
std::string block_with(const std::string& field, const std::string& value) {
  std::string text =
      R"({"CapacityBlockOfferings": [{"CapacityBlockOfferingId": "cb-1", "InstanceType": "p5.48xlarge", "InstanceCount": 2, )"
      R"("StartDate": "2027-01-04T11:30:00Z", "EndDate": "2027-01-05T11:30:00Z", "UpfrontFee": "10", "CurrencyCode": "USD"}]})";
  const std::size_t at = text.find("\"" + field + "\": ");
  const std::size_t from = at + field.size() + 4, end = text.find_first_of(",}", from);
  return text.replace(from, end - from, value);
}

}  // namespace

TEST_CASE("Capacity Blocks as EC2 states them", "[io][offerings]") {
  const io::ReadOffers read = io::offers_from(read_document(kFolder + "capacity-blocks.json"));
  CHECK(read.remarks.empty());
  REQUIRE(read.offers.size() == 4);
  const Offer& first = read.offers[0];
  CHECK(first.service == Offer::Service::capacity_block);
  CHECK(first.id == "cb-0aaaaaaaaaaaaaaaa");
  CHECK(first.instance == "p5.48xlarge");
  CHECK(first.instances == 8);
  CHECK(first.zone == "us-east-2a");
  CHECK(first.usd == 15102.72);
  CHECK(utc_iso(first.start()) == "2027-01-04T11:30:00Z");
  CHECK(utc_iso(first.end()) == "2027-01-06T11:30:00Z");
  CHECK(utc_iso(read.offers[2].end()) == "2027-01-11T11:30:00Z");  // from its hours
}

TEST_CASE("training plans as SageMaker states them, of two spans", "[io][offerings]") {
  const io::ReadOffers read = io::offers_from(read_document(kFolder + "training-plans.json"));
  REQUIRE(read.offers.size() == 1);
  const Offer& plan = read.offers[0];
  CHECK(plan.service == Offer::Service::training_plan);
  CHECK(plan.instance == "trn1.32xlarge");
  CHECK(plan.instances == 16);
  CHECK(plan.usd == 8000.5);
  REQUIRE(plan.spans.size() == 2);
  CHECK(utc_iso(plan.spans[0].start) == "2027-01-04T11:30:00Z");
  CHECK(utc_iso(plan.spans[1].end) == "2027-01-10T11:30:00Z");
}

TEST_CASE("every wrong field of an offer is a fault at its place", "[io][offerings]") {
  REQUIRE(offer_faults(block_with("UpfrontFee", "\"10\"")).empty());
  for (const auto& [field, value] : std::vector<std::pair<std::string, std::string>>{
           {"InstanceCount", "0"},
           {"InstanceCount", "1.5"},
           {"InstanceCount", "\"two\""},
           {"UpfrontFee", "\"-1\""},
           {"UpfrontFee", "\"1e999\""},
           {"UpfrontFee", "null"},
           {"UpfrontFee", "[1]"},
           {"CurrencyCode", "\"EUR\""},
           {"StartDate", "\"2027-02-30T00:00:00Z\""},
           {"StartDate", "\"soon\""},
           {"StartDate", "-5"},
           {"StartDate", "1e300"},
           {"StartDate", "null"},
           {"EndDate", "\"2027-01-04T11:30:00Z\""},
           {"EndDate", "null"},
           {"CapacityBlockOfferingId", "\"\""},
           {"InstanceType", "{}"},
       }) {
    CAPTURE(field, value);
    const auto faults = offer_faults(block_with(field, value));
    REQUIRE(faults.size() == 1);
    CHECK(contains(faults[0].key, field));
    CHECK(faults[0].at.line == 1);
  }
  CHECK(offer_faults("{}").size() == 1);
  CHECK(offer_faults(R"({"CapacityBlockOfferings": []})").size() == 1);
  CHECK(offer_faults(R"({"CapacityBlockOfferings": 5})").size() == 1);
  CHECK(offer_faults(R"({"CapacityBlockOfferings": [5, {}]})").size() > 2);
  CHECK(offer_faults(R"({"TrainingPlanOfferings": [{"TrainingPlanOfferingId": "a", "UpfrontFee": "1"}]})")
            .size() == 1);
}

TEST_CASE("what AWS does not sell is remarked, not refused", "[io][offerings]") {
  const auto remarks = [](const std::string& field, const std::string& value) {
    return io::offers_from(parse_document(block_with(field, value), "o.json")).remarks;
  };
  CHECK(remarks("InstanceCount", "64").empty());
  CHECK(remarks("InstanceCount", "65").size() == 1);
  CHECK(remarks("EndDate", "\"2027-01-18T11:30:00Z\"").empty());      // 14 days
  CHECK(remarks("EndDate", "\"2027-01-21T11:30:00Z\"").size() == 1);  // 17 days
  CHECK(remarks("EndDate", "\"2027-01-25T11:30:00Z\"").empty());      // 21 days
  CHECK(remarks("EndDate", "\"2027-07-15T11:30:00Z\"").size() == 1);  // 192 days
}
