// The files of random plans, read again, give the plan's own prediction.
#include <algorithm>
#include <string>

#include "io/input/readers.h"
#include "io/output/plan_json.h"
#include "launch/folder/scripts.h"
#include "planner/check/judge.h"
#include "targets/registry.h"
#include "tests/catch.h"
#include "tests/launch/folder/entry_points/random_plans.h"
#include "tests/models/setup.h"
#include "tests/seeds.h"
#include "text/document.h"

using namespace trnplan;

namespace {

models::Profile profile_of(const models::Job& job) {
  return test_catalog().profile(job.cluster.instance.family);
}

/// The plan as JSON, or why there is none.
std::string predicted(const models::Job& job, const models::Strategy& s, const planner::Target& target) {
  const planner::Judgement j = planner::judge(job, models::canonical(s), profile_of(job), &target);
  return j.plan ? io::plan_json(*j.plan, j.broken) : io::refusal_json(j.broken);
}

/// What the file describes as a job on the same cluster.
Case read_again(const planner::Target& target, const Case& c, const planner::ConfigFile& file) {
  Case back{c.job, {}};
  const models::Architecture model =
      io::hf_config_from(parse_document(io::hf_config_json(c.job.architecture), "config.json"), "config.json")
          .architecture;
  planner::ConfigReading reading;
  if (auto run = target.read_run(file, static_cast<int>(c.job.cluster.cores()), &model)) {
    back.job.architecture = run->architecture;
    reading = std::move(run->config);
  } else {
    const Node root = parse_document(file.text, file.name);
    REQUIRE(target.recognises(root));
    back.job.architecture = model;
    reading = *target.interpret(root, model);
  }
  CHECK(reading.not_modelled == std::vector<std::string>{});
  back.job.training = reading.training;
  back.job.training.tokens = c.job.training.tokens;  // no target's files say it
  back.job.software = reading.software;
  back.job.software.framework = target.name();
  back.strategy = reading.strategy;
  if (back.job.architecture.vocabulary == 0) back.job.architecture.vocabulary = model.vocabulary;
  // What the shipped config of the model trains with, which a strategy in words leaves out.
  back.job.architecture.flash_attention = c.job.architecture.flash_attention;
  return back;
}

/// Every file that starts a run of the plan.
std::vector<planner::ConfigFile> files_of(const planner::Target& target, const Case& c) {
  std::vector<planner::ConfigFile> files = target.emit(c.job, c.strategy, {.heading = "a test"});
  if (files.empty()) files.push_back({"node_run.sh", node_run_of(target, c)});
  return files;
}

/// Machines of the catalogue whose steps are timed and that the target trains on.
std::vector<topology::Instance> machines_of(const planner::Target& target) {
  std::vector<topology::Instance> all;
  for (const std::string& name : test_catalog().instances()) {
    topology::Instance one = test_catalog().instance(name);
    if (one.traits.step_time && target.trains_on(one.traits)) all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

// Catches: a setting that the prediction depends on and no file says, or that a file says otherwise than the plan.
TEST_CASE("what is written is read as what was predicted", "[launch][property]") {
  const std::vector<unsigned> tries = seeds(1, 4);
  for (const planner::Target* target : targets::all()) {
    int plans = 0;
    const std::vector<topology::Instance> machines = machines_of(*target);
    if (machines.empty()) continue;
    for (const topology::Instance& machine : machines) {
      for (Case& c : legal_plans(*target, static_cast<int>(tries.size()), tries.front(), &machine)) {
        c.job.software.framework = target->name();
        targets::take_defaults(c.job, *target, true);
        ++plans;
        for (const planner::ConfigFile& file : files_of(*target, c)) {
          INFO(target->name() << ", " << c.job.architecture.name << " on " << c.job.cluster.nodes << " x "
                              << machine.name << ", " << describe(c.strategy) << "\n"
                              << file.name << ":\n"
                              << file.text);
          const Case back = read_again(*target, c, file);
          CHECK(describe(models::canonical(back.strategy)) == describe(models::canonical(c.strategy)));
          CHECK(back.job.training.global_batch == c.job.training.global_batch);
          CHECK(back.job.training.sequence == c.job.training.sequence);
          const std::string before = predicted(c.job, c.strategy, *target),
                            after = predicted(back.job, back.strategy, *target);
          const auto at = std::mismatch(before.begin(), before.end(), after.begin(), after.end()).first;
          INFO("from character " << at - before.begin() << " on: "
                                 << before.substr(static_cast<std::size_t>(at - before.begin()), 80));
          CHECK((before == after));
        }
      }
    }
    INFO(target->name());
    CHECK(plans >= at_least(4));
  }
}
