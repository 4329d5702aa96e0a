#include "api/catalogue.h"

#include <algorithm>

#include "tests/api/folder.h"

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
  CHECK(std::any_of(instances.begin(), instances.end(), [](const auto& i) { return !i.step_modelled; }));
}
