#include "launch/submit/schedulers.h"

#include <unistd.h>

#include <filesystem>

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

TEST_CASE("a launch.json is of a scheduler that keeps one, with ids as it gives them", "[launch]") {
  const auto refused = [](const std::string& scheduler, const std::string& id) {
    const std::string text = "{\"schema_version\": 1, \"scheduler\": \"" + scheduler +
                             "\", \"jobs\": {\"train\": \"" + id + "\"}}";
    return refusal_of([&] { static_cast<void>(launch::submission_from(text, "launch.json")); });
  };
  CHECK(refused("slurm", "12").empty());
  CHECK(refused("eks", "mpijob/x").empty());
  CHECK(contains(refused("slurm", "mpijob/x"), "does not say what was submitted"));
  CHECK(contains(refused("local", "12"), "does not say what was submitted"));
  CHECK(contains(refused("pbs", "12"), "does not say what was submitted"));
  CHECK(contains(refused("eks", "--x"), "does not say what was submitted"));
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
