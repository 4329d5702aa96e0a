#include <set>

#include "launch/folder/scripts.h"
#include "targets/registry.h"
#include "tests/catch.h"
#include "tests/launch/folder/entry_points/entry_point.h"
#include "tests/launch/folder/entry_points/random_plans.h"
#include "tests/launch/folder/entry_points/started.h"

using namespace trnplan;

namespace {

struct StatedKey {
  const char* name;
  void (*state)(models::Job&);
};

/// Values that no recipe has.
constexpr StatedKey kKeys[] = {
    {"optimizer", [](models::Job& j) { j.learning.optimizer = "lamb"; }},
    {"optimizer", [](models::Job& j) { j.learning.optimizer = "adamw_fp32OptState"; }},
    {"learning_rate", [](models::Job& j) { j.learning.learning_rate = 7.25e-3; }},
    {"min_learning_rate", [](models::Job& j) { j.learning.min_learning_rate = 7.25e-7; }},
    {"schedule", [](models::Job& j) { j.learning.schedule = models::Decay::linear; }},
    {"schedule", [](models::Job& j) { j.learning.schedule = models::Decay::cosine; }},
    {"warmup_steps", [](models::Job& j) { j.learning.warmup_steps = 37; }},
    {"constant_steps", [](models::Job& j) { j.learning.constant_steps = 41; }},
    {"betas", [](models::Job& j) { j.learning.beta1 = j.learning.beta2 = 0.875; }},
    {"weight_decay", [](models::Job& j) { j.learning.weight_decay = 0.0625; }},
    {"gradient_clip", [](models::Job& j) { j.learning.gradient_clip = 0.75; }},
    {"seed", [](models::Job& j) { j.learning.seed = 31337; }},
    {"checkpoint_steps", [](models::Job& j) { j.run.checkpoint_steps = 123; }},
    {"checkpoints_kept", [](models::Job& j) { j.run.checkpoints_kept = 7; }},
    {"checkpoints_kept", [](models::Job& j) { j.run.checkpoints_kept = models::kAllCheckpoints; }},
    {"log_steps", [](models::Job& j) { j.run.log_steps = 17; }},
    {"start_from", [](models::Job& j) { j.run.start_from = models::StartFrom::hf; }},
    {"start_from", [](models::Job& j) { j.run.start_from = models::StartFrom::checkpoint; }},
};

/// All that a run is started with.
std::string whole(const planner::Target& target, const Case& c) {
  std::string text = node_run_of(target, c);
  for (const planner::ConfigFile& f : target.emit(c.job, c.strategy, {.heading = "a test"})) text += f.text;
  return text;
}

}  // namespace

TEST_CASE("a key of learning or keeping changes what is started, or is refused: none is dropped",
          "[launch]") {
  for (const char* name : {"nxdt", "nxd", "nemo-megatron", "bert"}) {
    const planner::Target& target = *targets::find(name);
    std::set<std::string> taken;
    for (const Case& c : legal_plans(target, 60)) {
      INFO(name << " " << c.job.architecture.name << ": " << describe(c.strategy));
      const std::string before = whole(target, c);
      Case all = c;
      for (const StatedKey& key : kKeys) {
        INFO(key.name);
        Case one = c;
        key.state(one.job);
        if (planner::inexpressible(target, one.job, one.strategy)) continue;
        // The schedule of the recipe itself, and that phase 2 begins from phase 1, are no change.
        const bool as_ever =
            std::string(key.name) == "schedule" || (target.name() == "bert" && one.job.run.start_from) ||
            (one.job.learning.optimizer == "lamb" && before.find("LAMB") != std::string::npos) ||
            one.job.learning.optimizer == "adamw_fp32OptState";
        CHECK((as_ever || whole(target, one) != before));
        taken.insert(key.name);
        Case more = all;
        key.state(more.job);
        if (!planner::inexpressible(target, more.job, more.strategy)) all = more;
      }
      if (target.name() == "nxdt") continue;  // its keys: nxdt_keys_test.cpp
      const bool tensor = target.name() == "nxd" && c.strategy.pipeline_parallel == 1;
      const EntryPoint entry(entry_point_table(), target.name() != "nxd" ? name
                                                  : tensor               ? "nxd-tp-zero1"
                                                                         : "nxd-pp");
      for (const char* mode : {"train", "compile"})
        CHECK(entry.faults(started(node_run_of(target, all), mode).words).empty());
    }
    // What no script of the target has a word for.
    std::set<std::string> refused;
    for (const StatedKey& key : kKeys) {
      if (!taken.contains(key.name)) refused.insert(key.name);
    }
    if (target.name() == "bert") {
      CHECK(refused == std::set<std::string>{"min_learning_rate", "schedule", "constant_steps", "betas",
                                             "weight_decay", "gradient_clip", "checkpoint_steps",
                                             "log_steps"});
    } else if (target.name() == "nxd") {
      CHECK(refused == std::set<std::string>{"gradient_clip"});
    } else if (target.name() == "nxdt") {
      CHECK(refused == std::set<std::string>{"weight_decay"});
    } else {
      CHECK(refused == std::set<std::string>{"optimizer"});
    }
  }
}
