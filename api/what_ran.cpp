#include "api/what_ran.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/check.h"
#include "api/check_findings.h"
#include "api/inputs.h"
#include "io/input/plan_file.h"
#include "io/input/readers.h"
#include "io/input/strategy_text.h"
#include "launch/folder/folder_check.h"
#include "launch/folder/folder_settings.h"
#include "models/framework/framework.h"
#include "targets/nxdt/nxdt_config.h"
#include "targets/nxdt/nxdt_target.h"
#include "targets/nxdt/nxdt_yaml.h"
#include "targets/registry.h"
#include "text/diagnostic.h"
#include "text/version.h"

namespace trnplan::api {

using calibrate::WhatRan;

namespace {

/// The config or script of a target other than NxDT; nullopt, with a remark, if there is no prediction for it.
std::optional<WhatRan> ran_of_script(const StatedRun& stated, Remarks& remarks) {
  if (stated.nodes == 0 && !config_states_nodes(stated.config, stated.texts))
    throw InputError({{"command line", 0, 0},
                      "--nodes",
                      "the script does not state on how many nodes it ran",
                      "add --nodes N"});
  CheckResult checked = check({.file = stated.config,
                               .instance = stated.instance,
                               .nodes = stated.nodes,
                               .texts = stated.texts,
                               .recommends = false});
  for (const targets::Finding& assumed : assumptions(checked.findings))
    remarks.add(fmt::format("{}: {}", printable(stated.config), assumed.message), assumed.rule);
  if (!checked.machine_of.empty()) remarks.add(machine_next_to(checked), "instance");
  if (checked.prediction) return WhatRan{checked.job, checked.prediction->strategy, stated.config};
  remarks.add(fmt::format("{}: there is no prediction for what ran: {}", printable(stated.config),
                          checked.no_prediction));
  return std::nullopt;
}

std::optional<WhatRan> ran_of_config(const StatedRun& stated, const io::Catalog& catalog, Remarks& remarks) {
  const std::string &path = stated.config, &instance = stated.instance;
  const Files& files = stated.texts;
  const planner::Target* target = targets::whose({path, files.text(path)});
  if (target != nullptr && target != &targets::nxdt()) return ran_of_script(stated, remarks);
  if (stated.nodes > 0 && config_states_nodes(path, files))
    throw InputError({{"command line", 0, 0},
                      "--nodes",
                      "the config states its nodes, trainer.num_nodes",
                      "leave it out"});
  targets::NxdtConfig config = targets::read_nxdt(path, files);
  if (stated.nodes > 0)
    targets::set_nodes(config,
                       stated.nodes * (instance.empty() ? 1 : load_instance(catalog, instance).hosts));
  const io::ArchitectureReading architecture = io::architecture_of_nxdt(config, catalog, files);
  const targets::NxdtReading reading = targets::interpret(config, architecture.architecture);
  WhatRan ran;
  ran.job.architecture = architecture.architecture;
  ran.job.training = reading.training;
  const std::string type = machine_of(catalog, instance, reading.devices, reading.nodes);
  const auto refuse_devices = [&](const std::string& whose) {
    const targets::NxdtKey* devices = config.find("trainer.devices");
    throw InputError({devices == nullptr ? SourcePos{path, 0, 0} : devices->at, "trainer.devices",
                      fmt::format("{} processes a node, and {}", reading.devices, whose),
                      "state the machine with --instance, or the processes that ran"});
  };
  if (type.empty()) refuse_devices("no instance type of the catalogue has as many cores");
  ran.job.cluster.instance = load_instance(catalog, type);
  const topology::Instance& machine = ran.job.cluster.instance;
  if (reading.nodes % machine.hosts != 0) {
    throw InputError({{path, 0, 0},
                      "trainer.num_nodes",
                      fmt::format("{} hosts, and a {} is {}", reading.nodes, machine.name, machine.hosts),
                      "state the machine with --instance"});
  }
  if (reading.devices != machine.host_cores())
    refuse_devices(fmt::format("a {} has {} cores{}", machine.name, machine.host_cores(),
                               machine.hosts > 1 ? " a host" : ""));
  ran.job.cluster.nodes = reading.nodes / machine.hosts;
  ran.job.software = reading.software;
  ran.strategy = reading.strategy;
  ran.from = path;
  if (instance.empty()) remarks.add(assumed_machine(machine.name), "instance");
  remarks.add(architecture.notes, "model");
  if (reading.not_modelled.empty()) return ran;
  remarks.add(fmt::format("{}: {} is not modelled, so there is no prediction for what ran", printable(path),
                          fmt::join(reading.not_modelled, ", ")));
  return std::nullopt;
}

/// The job as its file says or, if `stack` is not "", as that one trains it.
models::Job job_of(const StatedRun& stated, const std::string& stack, const io::Catalog& catalog,
                   Remarks& remarks) {
  JobInput input{stated.job, {}, stated.texts};
  input.options.framework = stack;
  if (stated.nodes > 0) input.options.nodes = fmt::to_string(stated.nodes);
  input.options.instance = stated.instance;
  return load_job(input, catalog, remarks).job;
}

/// True if the job leaves its stack open, and this one may have trained it.
bool may_be_of(const models::Job& job, const std::string& stack) {
  const planner::Target* target = targets::find(stack);
  return target != nullptr && target->trains_on(job.cluster.instance.traits) &&
         job.software.framework.empty() && !job.pin.framework;
}

/// True if the strategy is one of the loop by which the job's stack trains.
bool is_of_loop(const std::string& strategy, const models::Job& job) {
  try {
    return strategy.empty() ||
           io::parse_strategy(strategy, job).framework == models::framework_stated_by(job);
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace

bool config_states_nodes(const std::string& path, const Files& files) {
  const std::string text = files.text(path);
  const planner::Target* target = targets::whose({path, text});
  if (target != nullptr && target != &targets::nxdt()) return target->nodes_of({path, text}).has_value();
  return targets::read_nxdt(path, files).find(targets::kNumNodes) != nullptr;
}

std::vector<std::string> StatedRun::machine_words() const {
  std::vector<std::string> words;
  if (!instance.empty()) words.insert(words.end(), {"--instance", instance});
  if (nodes > 0) words.insert(words.end(), {"--nodes", fmt::to_string(nodes)});
  return words;
}

std::optional<WhatRan> what_ran(const StatedRun& stated, const io::Catalog& catalog, Remarks& remarks) {
  const SourcePos place{"command line", 0, 0};
  std::vector<Diagnostic> faults;
  if (!stated.config.empty() && !stated.job.empty()) {
    faults.push_back({place, "--config", "--job states what ran as well", "leave one of the two out"});
  }
  if (!stated.strategy.empty() && stated.job.empty()) {
    faults.push_back({place, "--strategy", "there is no --job for it", "add --job JOB.yaml"});
  }
  if (!faults.empty()) throw InputError(std::move(faults));
  if (!stated.config.empty()) return ran_of_config(stated, catalog, remarks);
  if (stated.job.empty()) return std::nullopt;
  Remarks assumed;
  WhatRan ran;
  ran.job = job_of(stated, "", catalog, assumed);
  if (may_be_of(ran.job, stated.logged)) {
    Remarks of_stack;
    models::Job logged = job_of(stated, stated.logged, catalog, of_stack);
    if (is_of_loop(stated.strategy, logged)) {
      of_stack.add(fmt::format("the log is one of {0}, so {1} is predicted as {0} trains it; state "
                               "software.framework: {0} in a job for plan and simulate",
                               stated.logged, printable(stated.job, 200)),
                   "stack");
      ran.job = std::move(logged);
      assumed = std::move(of_stack);
    }
  }
  for (const Remark& r : assumed.all()) remarks.add(r);
  const std::string& software = ran.job.software.framework;
  if (std::string other = other_stack(stated.logged, software, stated.job); !other.empty())
    remarks.add(other + "; correct software.framework if another stack ran", "stack");
  if (!stated.strategy.empty()) ran.strategy = io::parse_strategy(stated.strategy, ran.job);
  ran.from = stated.job;
  return ran;
}

std::string logged_stack(const std::vector<logs::StepSample>& steps) {
  const bool one = std::all_of(steps.begin(), steps.end(), [&](const logs::StepSample& s) {
    return s.framework == steps.front().framework;
  });
  return one && !steps.empty() ? steps.front().framework : "";
}

std::string other_stack(const std::string& logged, const std::string& stated, const std::string& file) {
  if (logged.empty() || stated.empty() || logged == stated) return "";
  return fmt::format("the log is one of {}, and {} states {}, as which it is taken", logged,
                     printable(file, 200), printable(stated, 40));
}

namespace {

/// What a file of a folder trains on the plan's cluster if it is a config of another layout than the plan's.
std::optional<CheckResult> other_layout(const std::string& file, const io::PlanFile& plan) {
  CheckRequest request;
  request.file = file;
  request.target = plan.target;
  request.release = plan.job.software.release;
  request.recommends = false;
  request.instance = plan.job.cluster.instance.name;
  request.nodes = request.planned_nodes = plan.job.cluster.nodes;
  try {
    CheckResult checked = check(request);
    if (!checked.prediction || models::layout_key(checked.job, checked.prediction->strategy) ==
                                   models::layout_key(plan.job, plan.strategy))
      return std::nullopt;
    return checked;
  } catch (const InputError&) {  // no config
    return std::nullopt;
  }
}

/// Takes the layout and its prediction in place of the plan's.
void take_layout(const CheckResult& edited, io::PlanFile& plan) {
  const double tokens = plan.job.training.tokens;
  plan.job.architecture = edited.job.architecture;
  plan.job.training = edited.job.training;
  plan.job.training.tokens = tokens;
  plan.strategy = edited.prediction->strategy;
  plan.step = edited.prediction->report.step;
  plan.low = edited.prediction->report.low;
  plan.high = edited.prediction->report.high;
  plan.peak = edited.prediction->memory.worst().peak();
}

}  // namespace

io::PlanFile plan_of_folder(const std::string& path, const io::Catalog& catalog, Remarks& remarks) {
  const std::filesystem::path file = path;
  io::PlanFile plan = io::read_plan_file(file, catalog);
  if (plan.version != program_version() || !plan.unchanged || file.filename() != io::kPlanFile) return plan;
  const launch::HeldFolder folder(file.parent_path().empty() ? "." : file.parent_path());
  if (!folder.holds(launch::kSettingsFile)) return plan;
  std::optional<SourcePos> first;
  for (const Diagnostic& d : launch::check_folder(folder, plan, {}).faults) {
    if (d.at.line == 0) continue;  // a file that is missing, or that is not of the plan
    if (const auto edited = other_layout(d.at.file, plan)) {
      remarks.add(
          fmt::format("{}:{} is not as the folder was written: it trains {}, of which this answer is, "
                      "and {} says {}",
                      printable(d.at.file), d.at.line, models::describe(edited->prediction->strategy),
                      io::kPlanFile, models::describe(plan.strategy)));
      take_layout(*edited, plan);
      return plan;
    }
    if (!first) first = d.at;
  }
  if (first)
    remarks.add(fmt::format(
        "{}:{} is not as the folder was written. This answer is of its {}: trnplan check judges the file",
        printable(first->file), first->line, io::kPlanFile));
  return plan;
}

WhatRan ran_of_folder(const std::string& folder, const io::Catalog& catalog, Remarks& remarks) {
  const std::string file = (std::filesystem::path(folder) / io::kPlanFile).string();
  const io::PlanFile plan = plan_of_folder(file, catalog, remarks);
  WhatRan ran;
  ran.job = plan.job;
  ran.strategy = plan.strategy;
  ran.from = file;
  return ran;
}

std::vector<std::string> logs_of_folder(const std::string& folder) {
  std::vector<std::string> logs;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("train-") && name.ends_with(".out")) logs.push_back(entry.path().string());
  }
  if (logs.empty()) {
    throw InputError({{folder, 0, 0},
                      "--run",
                      error ? error.message() : "it has no train-*.out, so nothing ran there",
                      "give a folder of plan --out or measure.sh whose train.sbatch ran"});
  }
  std::sort(logs.begin(), logs.end());
  return logs;
}

}  // namespace trnplan::api
