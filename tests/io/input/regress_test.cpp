// Every file that must be refused, replayed: an InputError with a place and a fix, never a crash.
#include <filesystem>
#include <functional>

#include "io/input/cluster_files.h"
#include "io/input/readers.h"
#include "tests/catch.h"

using namespace trnplan;

namespace {

void replay(const char* folder, const std::function<void(const std::filesystem::path&)>& read) {
  const std::filesystem::path all = std::filesystem::path(TRNPLAN_SOURCE_DIR) / "tests" / "regress" / folder;
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(all)) {
    CAPTURE(entry.path().string());
    ++files;
    try {
      read(entry.path());
      FAIL_CHECK("was accepted");
    } catch (const InputError& e) {
      for (const Diagnostic& fault : e.faults()) {
        CAPTURE(to_string(fault));
        CHECK_FALSE(fault.at.file.empty());
        CHECK_FALSE(fault.problem.empty());
        CHECK_FALSE(fault.fix.empty());
      }
      CHECK(e.faults().size() <= 60);
      CHECK(std::string(e.what()).find('\x1b') == std::string::npos);
    }
  }
  CHECK(files > 0);
}

io::Catalog catalog() {
  return io::Catalog(TRNPLAN_SOURCE_DIR "/catalog");
}

}  // namespace

TEST_CASE("bad jobs are refused", "[io][regress]") {
  replay("job", [](const auto& path) { io::read_job(path, catalog()); });
}

TEST_CASE("bad config.json files are refused", "[io][regress]") {
  replay("config", [](const auto& path) { io::read_hf_config(path); });
}

TEST_CASE("bad neuron-ls output is refused", "[io][regress]") {
  replay("neuron-ls", [](const auto& path) { io::read_neuron_ls(path, catalog(), "trn1.32xlarge"); });
}

TEST_CASE("bad files of clusters are refused", "[io][regress]") {
  replay("cluster", [](const auto& path) {
    if (path.extension() == ".json") {
      io::read_hyperpod(path, catalog());
    } else if (path.extension() == ".yaml") {
      io::read_parallelcluster(path, catalog());
    } else {
      io::read_sinfo(path, catalog());
    }
  });
}
