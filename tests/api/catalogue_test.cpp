#include "api/catalogue.h"

#include <algorithm>
#include <numeric>

#include "api/recorded_runs.h"
#include "io/catalog/recommending.h"

#include "tests/folder.h"
#include "text/document.h"

using namespace trnplan;

TEST_CASE("models and instances are those of the catalogue, by name", "[api]") {
  const TestFolder folder;
  const auto models = api::models();
  const auto model = std::find_if(models.begin(), models.end(),
                                  [](const auto& m) { return m.architecture.name == "llama3-8b"; });
  REQUIRE(model != models.end());
  CHECK(model->parameters == 8030261248);
  CHECK(std::is_sorted(models.begin(), models.end(), [](const auto& a, const auto& b) {
    return a.architecture.name < b.architecture.name;
  }));
  const auto instances = api::instances();
  const auto instance = std::find_if(instances.begin(), instances.end(),
                                     [](const auto& i) { return i.instance.name == "trn1.32xlarge"; });
  REQUIRE(instance != instances.end());
  CHECK(instance->instance.cores() == 32);
  CHECK(instance->step_modelled);
  // A step is timed on every machine but those whose file says what is missing for it.
  CHECK(std::all_of(instances.begin(), instances.end(),
                    [](const auto& i) { return i.step_modelled == i.instance.untimed.empty(); }));
}

TEST_CASE("published runs are nearer to each other than what counts as far", "[api]") {
  const TestFolder folder;
  const io::Catalog catalog = io::Catalog::standard();
  const auto recommending = io::recommending_from(read_document(catalog.file("recommending.json")));
  const planner::RecordedRuns runs(api::recorded_runs(catalog, {}, {}), recommending.distance);
  const std::vector<double> distances = runs.neighbours();
  REQUIRE(distances.size() > 20);
  const double mean =
      std::accumulate(distances.begin(), distances.end(), 0.0) / static_cast<double>(distances.size());
  CHECK(mean == Approx(0.32).epsilon(0.15));  // as catalog/recommending.json and docs/models.md say
  CHECK(mean < recommending.distance.typical);
}
