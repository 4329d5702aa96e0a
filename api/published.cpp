#include "api/published.h"

#include "io/catalog/reading.h"
#include "logs/table/measured_collectives.h"
#include "logs/table/measured_runs.h"
#include "text/document.h"
#include "text/sha256.h"

namespace trnplan::api {

namespace {

constexpr const char* kBuild = "2023-04";
constexpr const char* kReading = "reading.json";
constexpr const char* kRuns = "measured-runs.csv";
constexpr const char* kPoints = "measured-collectives.csv";

}  // namespace

calibrate::Published published(const io::Catalog& catalog) {
  calibrate::Published p;
  p.instance = catalog.instance(catalog.default_instance());
  p.reading = io::reading_from(read_document(catalog.file(kReading)));
  const std::string runs = read_text(catalog.file(kRuns)), points = read_text(catalog.file(kPoints));
  p.runs = logs::parse_measured_runs(runs, kRuns);
  p.runs_file = {kRuns, sha256(runs)};
  p.points = logs::parse_measured_collectives(points, kPoints);
  std::erase_if(p.points, [](const auto& point) { return point.build != kBuild || !point.left_out.empty(); });
  p.points_file = {kPoints, sha256(points)};
  p.profile = [&catalog](const std::string& name) { return catalog.profile(name); };
  return p;
}

}  // namespace trnplan::api
