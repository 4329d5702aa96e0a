#include "io/catalog/catalog.h"

#include <algorithm>
#include <cstdlib>

#include "tests/catch.h"
#include "tests/faults.h"

using namespace trnplan;

namespace {

const char* const folder = TRNPLAN_SOURCE_DIR "/catalog";

}  // namespace

TEST_CASE("the catalogue's own files read without fault", "[io][catalog]") {
  const io::Catalog catalog(folder);
  const auto instances = catalog.instances();
  REQUIRE(std::find(instances.begin(), instances.end(), "trn1.32xlarge") != instances.end());
  for (const std::string& name : instances) {
    CAPTURE(name);
    CHECK(catalog.instance(name).name == name);
  }
  for (const std::string& name : catalog.models()) {
    CAPTURE(name);
    CHECK(catalog.architecture(name).name == name);
  }
  CHECK(catalog.instance("trn1.32xlarge").cores() == 32);
  CHECK(models::parameters(catalog.architecture("llama3-8b")) == 8'030'261'248);
  CHECK(models::parameters(catalog.architecture("mixtral-8x7b")) == 46'702'792'704);
}

// Catches a changed number that reaches the instances of the catalogue from which the changed one was made, and a copy
// that reads again.
TEST_CASE("copies share what they have read, a changed catalogue does not", "[io][catalog]") {
  const io::Catalog catalog(folder);
  const io::Catalog copy = catalog;
  CHECK(copy.document("reliability.json") == catalog.document("reliability.json"));
  CHECK(copy.measured_runs() == catalog.measured_runs());
  const double memory = catalog.instance("trn1.32xlarge").core.memory.value;
  const io::Catalog changed = catalog.with_hardware(io::hardware_settings_from({"core.memory=x2"}));
  CHECK(changed.instance("trn1.32xlarge").core.memory.value == 2 * memory);
  CHECK(catalog.instance("trn1.32xlarge").core.memory.value == memory);
}

TEST_CASE("unknown and hostile names", "[io][catalog]") {
  const io::Catalog catalog(folder);
  CHECK(contains(refusal_of([&] { catalog.instance("trn1.32xlage"); }), "did you mean \"trn1.32xlarge\""));
  CHECK(contains(refusal_of([&] { catalog.architecture("gpt-5"); }), "unknown model"));
  for (const char* name : {"", "..", "../models/llama3-8b", "/etc/passwd", "a/b", "a\\b", "\x1b[0m"}) {
    CAPTURE(name);
    CHECK_FALSE(refusal_of([&] { catalog.instance(name); }).empty());
    CHECK_FALSE(refusal_of([&] { catalog.profile(name); }).empty());
  }
  const io::Catalog unreachable("/nonexistent");
  CHECK(unreachable.models().empty());
  CHECK_FALSE(refusal_of([&] { unreachable.instance("trn1.32xlarge"); }).empty());
}

TEST_CASE("TRNPLAN_CATALOG chooses the folder", "[io][catalog]") {
  setenv("TRNPLAN_CATALOG", folder, 1);
  CHECK(io::Catalog::standard().folder().string() == folder);
  setenv("TRNPLAN_CATALOG", "/nonexistent", 1);
  CHECK(contains(refusal_of([] { io::Catalog::standard(); }), "TRNPLAN_CATALOG"));
  unsetenv("TRNPLAN_CATALOG");
}
