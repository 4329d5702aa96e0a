#include "launch/submit/schedulers.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "io/output/atomic_write.h"
#include "launch/folder/bundle.h"
#include "launch/submit/submit.h"
#include "planner/check/judge.h"
#include "targets/registry.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/launch/planned_folder.h"
#include "tests/models/setup.h"
#include "text/document.h"

using namespace trnplan;
namespace fs = std::filesystem;

namespace {

/// Programs that answer as those of a cluster do.
class Programs {
 public:
  launch::ProcessResult operator()(const std::vector<std::string>& arguments, const launch::ProcessOptions&) {
    const std::string& program = arguments[0];
    ran.push_back(program);
    if (arguments.back() == "--version") return {true, 0, "", "", false};
    if (program == "sbatch") return {true, 0, std::to_string(100 + ++jobs) + ";cluster\n", "", false};
    if (program == "kubectl" && arguments[1] == "apply") {
      const bool compiles = arguments[3].ends_with("-compile.yaml");
      return {true, 0, std::string("mpijob.kubeflow.org/trnplan-") + (compiles ? "compile\n" : "train\n"), "",
              false};
    }
    if (program == "kubectl" && arguments[1] == "wait") return {true, compile_fails ? 1 : 0, "", "", false};
    if (program == "kubectl" && arguments[1] == "get") return {true, 0, "Created Running Failed", "", false};
    if (program == "sinfo")
      return {true, 0, "NODELIST STATE AVAIL_FEATURES PARTITION\nn1 idle trn1.32xlarge q1*\n", "", false};
    return {true, 0, "", "", false};
  }
  int jobs = 0;
  bool compile_fails = false;
  std::vector<std::string> ran;
};

struct SchedulerRow {
  const char* name;
  std::size_t commands;
  const char* first;  ///< word of the first command
  const char* last_word;
  std::vector<std::pair<std::string, std::string>> jobs;  ///< what, id
  const char* check;                                      ///< what its own check says of four nodes
};

const std::vector<SchedulerRow> kSchedulerRows = {
    {"slurm", 2, "sbatch", "", {{"compile", "101"}, {"train", "102"}}, "has 1 usable nodes"},
    {"eks",
     3,
     "kubectl",
     "name",
     {{"compile", "mpijob.kubeflow.org/trnplan-compile"}, {"train", "mpijob.kubeflow.org/trnplan-train"}},
     "still holds SET-ME"},
    {"local", 1, "bash", "smoke", {}, "the plan needs 4 nodes, and this is one"},
};

}  // namespace

TEST_CASE("every scheduler, through the interface", "[launch]") {
  CHECK(launch::schedulers().size() == kSchedulerRows.size());
  for (const SchedulerRow& row : kSchedulerRows) {
    INFO(row.name);
    const launch::Scheduler* scheduler = launch::find_scheduler(row.name);
    REQUIRE(scheduler != nullptr);
    CHECK(scheduler->name() == row.name);
    const PlannedFolder folder;
    const launch::HeldFolder held(folder.path);
    const launch::SubmitRequest request{held, *scheduler};

    const auto commands = launch::commands(request);
    REQUIRE(commands.size() == row.commands);
    CHECK(commands[0][0] == row.first);
    if (*row.last_word != '\0') CHECK(commands[0].back() == row.last_word);

    Programs programs;
    const auto runner = [&](const auto& arguments, const auto& options) {
      return programs(arguments, options);
    };
    std::string said;
    std::vector<std::string> notes;
    for (const Diagnostic& d : launch::preflight(request, test_catalog(), runner, notes))
      said += to_string(d) + "\n";
    CHECK(contains(said, row.check));
    CHECK(contains(said, "TRNPLAN_VENV: is not set"));

    const launch::SubmitResult result = launch::submit(request, runner);
    CHECK_FALSE(result.already);
    CHECK(result.submission.scheduler == row.name);
    REQUIRE(result.submission.jobs.size() == row.jobs.size());
    for (std::size_t i = 0; i < row.jobs.size(); ++i) {
      CHECK(result.submission.jobs[i].what == row.jobs[i].first);
      CHECK(result.submission.jobs[i].id == row.jobs[i].second);
      CHECK(scheduler->is_job_id(row.jobs[i].second));
    }
    // A second call finds the record of the first, whichever scheduler it is for.
    CHECK(fs::exists(folder.path / "launch.json") == scheduler->keeps_record());
    if (!scheduler->keeps_record()) continue;
    const std::size_t before = programs.ran.size();
    for (const launch::Scheduler* other : launch::schedulers()) {
      if (!other->keeps_record()) continue;
      const launch::SubmitResult again = launch::submit({held, *other}, runner);
      CHECK(again.already);
      CHECK(again.submission.scheduler == row.name);
    }
    CHECK(programs.ran.size() == before);
  }
}

// Catches: results that begin in a folder called "$HOME", a cache that the first job compiles in vain, and a fault
// without a place.
TEST_CASE("settings that jobs cannot use are reported at their lines", "[launch]") {
  const PlannedFolder folder;
  const std::string written = read_text(folder / "settings.env");
  const auto with = [&](const std::map<std::string, std::string>& values) {
    std::string text = written;
    for (const auto& [name, value] : values) {
      const std::size_t from = text.find("\n" + name + "=") + name.size() + 2;
      text.replace(from, text.find('\n', from) - from, value);
    }
    folder.write("settings.env", text);
    const launch::HeldFolder held(folder.path);
    const launch::Runner runner = [](const auto&, const auto&) {
      return launch::ProcessResult{true, 0, "", "", false};
    };
    std::vector<std::string> notes;
    std::string said;
    for (const Diagnostic& d :
         launch::preflight({held, *launch::find_scheduler("slurm")}, test_catalog(), runner, notes))
      said += to_string(d) + "\n";
    return said;
  };
  const auto place = [&](const std::string& name) {
    const std::string before = written.substr(0, written.find("\n" + name + "=") + 1);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    return (folder / "settings.env") + ":" + std::to_string(line) + ":1: " + name + ": ";
  };
  const std::string no_path = " is not an absolute path of letters, digits and / _ . - + @";
  for (const char* name : {"TRNPLAN_VENV", "TRNPLAN_CODE", "TRNPLAN_DATA", "TRNPLAN_RESULTS", "TRNPLAN_CACHE",
                           "TRNPLAN_LOCAL_CACHE"}) {
    for (const char* value : {"$HOME/x", "~/x", "x/y", "/x y", "$(touch pwned)"}) {
      INFO(name << "=" << value);
      CHECK(contains(with({{name, value}}), place(name) + '"' + value + '"' + no_path));
    }
  }
  CHECK(contains(with({{"TRNPLAN_CACHE", ""}}), place("TRNPLAN_CACHE") + "is not set"));
  CHECK(contains(with({{"TRNPLAN_RESTARTS", "often"}}),
                 place("TRNPLAN_RESTARTS") + "\"often\" is not a whole number"));
  // An empty name of results is the folder run in the plan's.
  CHECK_FALSE(contains(with({{"TRNPLAN_RESULTS", ""}}), "TRNPLAN_RESULTS"));
  folder.write("run/trnplan-run", "another\n");
  CHECK(contains(with({{"TRNPLAN_RESULTS", ""}}), place("TRNPLAN_RESULTS") + folder.path.string() +
                                                      "/run holds the run of another plan: another"));
  // A variable of this shell has no line.
  setenv("TRNPLAN_RESULTS", "there", 1);
  CHECK(contains(with({}), "environment: TRNPLAN_RESULTS: \"there\"" + no_path));
  unsetenv("TRNPLAN_RESULTS");
  // A line that cannot be read is reported once.
  const std::string twice = with({{"TRNPLAN_VENV", "/x "}});
  CHECK(contains(twice, "has a blank at an end of its value"));
  CHECK_FALSE(contains(twice, "not set anywhere"));
}

TEST_CASE("a launch.json is of a scheduler that keeps one, with ids as it gives them", "[launch]") {
  const auto refused = [](const std::string& scheduler, const std::string& id) {
    const std::string text = "{\"schema_version\": 1, \"scheduler\": \"" + scheduler +
                             "\", \"jobs\": {\"train\": \"" + id + "\"}}";
    return refusal_of([&] { static_cast<void>(launch::submission_from(text, "launch.json")); });
  };
  CHECK(refused("slurm", "12").empty());
  CHECK(refused("eks", "mpijob/x").empty());
  CHECK(contains(refused("slurm", "mpijob/x"), "does not state what was submitted"));
  CHECK(contains(refused("local", "12"), "does not state what was submitted"));
  CHECK(contains(refused("pbs", "12"), "does not state what was submitted"));
  CHECK(contains(refused("eks", "--x"), "does not state what was submitted"));
}

TEST_CASE("Kubernetes trains when the graphs are compiled", "[launch]") {
  const PlannedFolder folder;
  const launch::HeldFolder held(folder.path);
  const launch::SubmitRequest request{held, *launch::find_scheduler("eks"), "hyperpod-eks"};
  Programs programs;
  const auto runner = [&](const auto& arguments, const auto& options) {
    return programs(arguments, options);
  };
  programs.compile_fails = true;
  CHECK_THROWS_AS(launch::submit(request, runner), launch::SchedulerRefused);
  CHECK_FALSE(launch::submitted(folder.path));  // the next launch compiles again

  // Interrupted while it waited: only the first job is written down.
  launch::keep(folder.path, {"eks", {{"compile", "pytorchjob.kubeflow.org/mine"}}, std::nullopt});
  programs.compile_fails = false;
  programs.ran.clear();
  const launch::SubmitResult result = launch::submit(request, runner);
  CHECK(programs.ran == std::vector<std::string>{"kubectl", "kubectl"});  // wait, apply
  REQUIRE(result.submission.jobs.size() == 2);
  CHECK(result.submission.jobs[0].id == "pytorchjob.kubeflow.org/mine");
  const auto commands = launch::commands(request);
  CHECK(commands[0][3] == (fs::canonical(folder.path) / "hyperpod-eks-compile.yaml").string());
  CHECK(request.scheduler.prints_log("mpijob.kubeflow.org/a-train").back() ==
        "--selector=trnplan-job=a-train");

  std::vector<std::string> notes;
  std::string said;
  for (const Diagnostic& d :
       launch::preflight({held, request.scheduler, "openshift"}, test_catalog(), runner, notes))
    said += to_string(d) + "\n";
  CHECK(contains(said, "\"openshift\" is not known"));
}

TEST_CASE("names of schedulers", "[launch]") {
  CHECK(launch::scheduler_names() == std::vector<std::string>{"slurm", "eks", "local"});
  CHECK(launch::find_scheduler("pbs") == nullptr);
}
