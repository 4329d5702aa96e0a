#include "calibrate/validate/collective_validation.h"

#include "logs/table/measured_collectives.h"
#include "models/parameters/common_parameters.h"
#include "tests/catch.h"
#include "tests/models/setup.h"
#include "text/document.h"

using namespace trnplan;

namespace {

std::vector<logs::MeasuredCollective> published() {
  const std::string path = TRNPLAN_SOURCE_DIR "/catalog/measured-collectives.csv";
  auto points = logs::parse_measured_collectives(read_text(path), path);
  std::erase_if(points, [](const auto& p) {
    return !p.left_out.empty() || (p.build != "2023-04" && p.instance != "trn1.32xlarge");
  });
  return points;
}

}  // namespace

TEST_CASE("each published table is covered by fits that have not seen it", "[calibrate]") {
  const topology::Instance instance = test_catalog().instance("trn1.32xlarge");
  const auto tables = calibrate::leave_tables_out(published(), instance, [](const std::string& build) {
    return test_catalog().profile(build == "2023-04" ? "trn1-2023-04" : "trn1-datasheet");
  });
  REQUIRE(tables.size() == 4);
  for (const auto& t : tables) {
    CAPTURE(t.op, t.ranks, t.build);
    CHECK(static_cast<double>(t.covered) >= 0.8 * static_cast<double>(t.points));
    // No interval is narrower than collective_spread alone: 1.645 x 0.3.
    CHECK(t.half_width >= 1.644 * 0.3);
  }
  // 4, 12 and 28 points in three tables of one build, of which two fit the third; the last has no other.
  CHECK(tables[0].points + tables[0].fitted == 44);
  CHECK(tables[3].points == 7);
  CHECK(tables[3].fitted == 0);
}

TEST_CASE("a table of what a profile says is predicted without error", "[calibrate]") {
  const topology::Instance instance = test_catalog().instance("trn1.32xlarge");
  const models::Profile profile = test_catalog().profile("trn1-datasheet");
  auto points = published();
  std::erase_if(points, [](const auto& p) { return p.build == "2023-04"; });
  const std::vector<double> seconds = calibrate::CollectivePoints(points, instance).seconds(profile);
  for (std::size_t i = 0; i < points.size(); ++i) points[i].seconds = seconds[i];
  const auto tables =
      calibrate::leave_tables_out(points, instance, [&](const std::string&) { return profile; });
  REQUIRE(tables.size() == 1);
  CHECK(tables[0].median_error == Approx(0).margin(1e-12));
  CHECK(tables[0].covered == tables[0].points);
}
