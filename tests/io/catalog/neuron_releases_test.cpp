#include "io/catalog/neuron_releases.h"

#include <algorithm>
#include <string>

#include "tests/catch.h"
#include "tests/faults.h"

using namespace trnplan;

namespace {

std::string file(const std::string& releases) {
  return R"({"schema_version": 1, "packages_source": "s", "python_source": "s", "image_source": "s",
             "nxd_tag_source": "s", "stacks": [], "releases": )" +
         releases + "}";
}

std::vector<Diagnostic> release_faults(const std::string& releases) {
  try {
    static_cast<void>(io::neuron_releases_from(parse_document(file(releases), "n.json")));
  } catch (const InputError& e) {
    return e.faults();
  }
  return {};
}

}  // namespace

TEST_CASE("a release has its packages", "[io]") {
  const auto all =
      io::neuron_releases_from(
          parse_document(file(R"([{"release": "2.9", "python": "3.10", "packages": {"neuronx-cc": "2.1.0"}},
               {"release": "2.10", "python": "3.11", "packages": {}, "image": "i:1-a_b", "nxd_tag": "v2.10.0"}])"),
                         "n.json"))
          .releases;
  REQUIRE(all.size() == 2);  // 2.10 comes after 2.9: by numbers, not by letters
  CHECK(models::package_version(&all[0], "neuronx-cc") == "2.1.0");
  CHECK(models::package_version(&all[1], "neuronx-cc").empty());
  CHECK(models::package_version(nullptr, "neuronx-cc").empty());
  CHECK(all[1].image == "i:1-a_b");
}

// Folders write these texts into commands.
TEST_CASE("a release that is not a release is refused, all faults at once", "[io]") {
  const auto faults = release_faults(
      R"x([{"release": "2.9; rm", "python": "3.10", "packages": {"a": "$(b)", "A b": "1"}},
          {"release": "2.8", "python": "py", "packages": [], "image": "`x`"}, {"release": "2.8", "python": "3.1", "packages": {}}])x");
  const auto reported = [&](const std::string& key) {
    return std::any_of(faults.begin(), faults.end(), [&](const Diagnostic& d) { return d.key == key; });
  };
  for (const char* key :
       {"releases[0].release", "releases[0].packages.a", "releases[0].packages.A b", "releases[1].python",
        "releases[1].packages", "releases[1].image", "releases[2].release"}) {
    INFO(key);
    CHECK(reported(key));
  }
  CHECK(release_faults("{}").size() == 1);
  CHECK(release_faults("[]").empty());
}
