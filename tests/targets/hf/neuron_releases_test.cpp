// Packages of the Neuron SDK that folders pin, compared with its publisher's manifest
// (tests/targets/hf/versions.csv).
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "planner/plan/target.h"
#include "targets/hf/nxd_preparation.h"
#include "targets/nxdt/nxdt_versions.h"
#include "targets/registry.h"
#include "tests/catch.h"
#include "tests/models/setup.h"

using namespace trnplan;

namespace {

struct Published {
  std::set<std::string> versions;
  std::string pythons;  ///< " 3.10 3.11 "
};
/// Release and package.
using Manifest = std::map<std::pair<std::string, std::string>, Published>;

Manifest manifest() {
  std::ifstream file(TRNPLAN_SOURCE_DIR "/tests/targets/hf/versions.csv");
  Manifest all;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#') || line.starts_with("release,")) continue;
    std::istringstream cells(line);
    std::string release, package, version, pythons;
    std::getline(cells, release, ',');
    std::getline(cells, package, ',');
    std::getline(cells, version, ',');
    std::getline(cells, pythons, ',');
    Published& p = all[{release, package}];
    p.versions.insert(version);
    p.pythons = " " + pythons + " ";
  }
  return all;
}

/// "name==version" of every pip command.
std::vector<std::pair<std::string, std::string>> pinned_words(const planner::Preparation& p) {
  static const std::regex word("([a-zA-Z0-9_-]+)==([0-9.]+)");
  std::vector<std::pair<std::string, std::string>> words;
  for (const std::string& line : p.install) {
    for (std::sregex_iterator it(line.begin(), line.end(), word), end; it != end; ++it)
      words.emplace_back((*it)[1], (*it)[2]);
  }
  return words;
}

models::Job job_for(const std::string& target) {
  const bool bert = target == "bert";
  models::Job job = job_of(bert ? "bert-large" : "llama3-8b", 1, bert ? 128 : 8192, bert ? 16384 : 64);
  if (bert) job.training.precision = models::Precision::bf16_sr;
  return job;
}

models::Strategy strategy_for(const models::Job& job) {
  return strategy_of(job, job.architecture.causal ? "tp=8,recompute=CoreAttention"
                                                  : "zero1=false,recompute=none,flash=false");
}

}  // namespace

// Catches a version that was never published, for example torch-neuronx 2.9.0.2.11.0.
TEST_CASE("every version of the catalogue is in the manifest, for that release", "[targets]") {
  const Manifest known = manifest();
  REQUIRE(known.size() > 100);
  const auto releases = test_catalog().neuron_releases();
  REQUIRE(releases->releases.size() > 10);
  for (const models::NeuronRelease& r : releases->releases) {
    for (const auto& [package, version] : r.packages) {
      INFO(r.release << ' ' << package << ' ' << version);
      REQUIRE(known.contains({r.release, package}));
      CHECK(known.at({r.release, package}).versions.contains(version));
    }
    INFO(r.release << " for Python " << r.python);
    CHECK(known.at({r.release, "torch-neuronx"}).pythons.find(" " + r.python + " ") != std::string::npos);
  }
}

// Catches a target that spells a version of its own, or takes one of another release.
TEST_CASE("every target pins what the release has", "[targets]") {
  const Manifest known = manifest();
  for (const char* name : {"nxdt", "nxd", "bert"}) {
    models::Job job = job_for(name);
    const models::Strategy s = strategy_for(job);
    for (const models::NeuronRelease& r : job.neuron_releases->releases) {
      job.software.release = r.release;
      int found = 0;
      for (auto [package, version] : pinned_words(targets::find(name)->preparation(job, s))) {
        std::replace(package.begin(), package.end(), '_', '-');
        if (package.find("neuron") == std::string::npos) continue;  // from PyPI
        INFO(name << ' ' << r.release << ' ' << package << ' ' << version);
        ++found;
        if (package == "neuronx-distributed-training") continue;  // for the version, see below
        CHECK(known.at({r.release, package}).versions.contains(version));
      }
      CHECK(found >= 3);
    }
  }
}

TEST_CASE("which NxDT a release has is what the manifest says", "[targets]") {
  for (const auto& [key, published] : manifest()) {
    if (key.second != "neuronx-distributed-training") continue;
    INFO(key.first << ": " << *published.versions.begin());
    const targets::NxdtVersion* v = targets::version_of_release(key.first);
    REQUIRE(v != nullptr);
    CHECK(published.versions.begin()->starts_with(std::string(v->version) + "."));
    const bool last = models::release_numbers(key.first).back() > 0 || v->package.ends_with(".0");
    if (last) CHECK(published.versions.contains(std::string(v->package)));  // the last patch is pinned
  }
}

// From the manifest of 2.28.1: torch-neuronx for the newest PyTorch, not for 2.7 or 2.8, which that release
// has too.
TEST_CASE("where nothing is stated 2.28 is pinned, which AWS says to stay on", "[targets]") {
  const models::Job job = job_for("nxdt");
  const planner::Preparation p = targets::find("nxdt")->preparation(job, strategy_for(job));
  const auto words = pinned_words(p);
  const std::map<std::string, std::string> pins(words.begin(), words.end());
  CHECK(pins.at("neuronx-cc") == "2.23.6484.0");
  CHECK(pins.at("torch-neuronx") == "2.9.0.2.12.22436");
  CHECK(pins.at("libneuronxla") == "2.2.15515.0");
  CHECK(pins.at("neuronx-distributed") == "0.17.26814");
  CHECK(pins.at("neuronx_distributed_training") == "1.7.0");
  CHECK(p.image == "pytorch-training-neuronx:2.9.0-neuronx-py312-sdk2.28.0-ubuntu24.04");
  const models::Job of_nxd = job_for("nxd");
  const planner::Preparation nxd = targets::find("nxd")->preparation(of_nxd, strategy_for(of_nxd));
  CHECK(nxd.tag == "v2.28.0");
  CHECK(nxd.python == "python3.12");
}

// Its requirement numpy<=1.25.2 has wheels up to Python 3.11.
TEST_CASE("NxDT runs on a Python that its numpy has, and apex is installed", "[targets]") {
  models::Job job = job_for("nxdt");
  for (const models::NeuronRelease& r : job.neuron_releases->releases) {
    job.software.release = r.release;
    const planner::Preparation p = targets::find("nxdt")->preparation(job, strategy_for(job));
    INFO(r.release << ": " << p.python);
    CHECK(models::release_numbers(p.python.substr(6)) <= std::vector<int>{3, 11});
    std::string all;
    for (const std::string& line : p.install) all += line + "\n";
    CHECK(all.find("--branch 25.07") != std::string::npos);
    CHECK(all.find("requirements.txt\" \"$apex\"") != std::string::npos);
  }
}

TEST_CASE("a version of NxDT alone names a release that has it", "[targets]") {
  models::Job job = job_for("nxdt");
  const planner::Target& nxdt = *targets::find("nxdt");
  for (const auto& [version, release] : std::map<std::string, std::string>{
           {"", "2.28"}, {"1.7", "2.28"}, {"1.6", "2.26"}, {"1.4", "2.24"}, {"9.9", "2.28"}}) {
    job.software.version = version;
    INFO(version);
    CHECK(nxdt.neuron_release(job) == release);
  }
  job.software.release = "2.30";
  CHECK(nxdt.neuron_release(job) == "2.30");
}

TEST_CASE("a release is found by its numbers, else the nearest is named", "[targets]") {
  const models::Job known = job_for("nxdt");
  const auto released = [&](const char* wanted) {
    return models::nearest_release(*known.neuron_releases, wanted)->release;
  };
  CHECK(released("2.28") == "2.28.1");
  CHECK(released("2.28.0") == "2.28.0");
  CHECK(models::find_release(*known.neuron_releases, "2.3") == nullptr);  // not a beginning of 2.30
  CHECK(released("2.40") == "2.31.1");
  CHECK(released("2.28.7") == "2.28.1");
  CHECK(released("1.0") == "2.21.0");
  CHECK(models::nearest_release({}, "2.28") == nullptr);
  models::Job job = known;
  const planner::Target& nxdt = *targets::find("nxdt");
  CHECK(planner::release_doubt(nxdt, job).empty());
  job.software.release = "2.40";
  CHECK(planner::release_doubt(nxdt, job) ==
        "The packages of Neuron SDK 2.40 are not known: those of 2.31.1, the nearest known release, are "
        "pinned.");
  CHECK(nxdt.preparation(job, strategy_for(job)).remarks.front() == planner::release_doubt(nxdt, job));
  job.neuron_releases = nullptr;  // a user's catalogue without releases
  CHECK(planner::pinned_release(nxdt, job) == nullptr);
  CHECK(planner::release_doubt(nxdt, job).empty());
}

// Catches: a neuron_stack() that is not in the catalogue, so that its target pins no release and has no
// ending.
TEST_CASE("the stack of every target is in the catalogue", "[targets]") {
  const auto releases = test_catalog().neuron_releases();
  int said = 0;
  for (const planner::Target* target : targets::all()) {
    INFO(target->name());
    if (target->neuron_stack().empty()) continue;
    CHECK(releases->stack(target->neuron_stack()) != nullptr);
    ++said;
  }
  CHECK(said > 0);
}

// A machine on which one target lasts has no end; a user who plans for a target that ends learns what
// replaces it.
TEST_CASE("what trains with PyTorch/XLA alone is frozen", "[targets]") {
  const auto machine = [](const char* name) { return test_catalog().instance(name).traits; };
  const auto releases = test_catalog().neuron_releases();
  for (const char* name : {"trn1.2xlarge", "trn1.32xlarge", "trn1n.32xlarge"}) {
    INFO(name);
    CHECK(targets::ending_on(machine(name), *releases).find("frozen at Neuron SDK 2.28 to 2.31") == 0);
    CHECK(targets::ending_on(machine(name), *releases).find("TorchTitan") == std::string::npos);
  }
  for (const char* name : {"trn2.48xlarge", "p5.48xlarge", "trn3-gen2-ultraserver"}) {
    INFO(name);
    CHECK(targets::ending_on(machine(name), *releases).empty());
  }
  CHECK(planner::ending_of(*targets::find("nxdt"), machine("trn2.48xlarge"), *releases)
            .find("--target torchtitan") != std::string::npos);
  CHECK(planner::ending_of(*targets::find("torchtitan"), machine("trn2.48xlarge"), *releases).empty());
}
