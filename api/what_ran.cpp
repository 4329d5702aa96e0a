#include "api/what_ran.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/inputs.h"
#include "io/input/plan_file.h"
#include "io/input/readers.h"
#include "io/input/strategy_text.h"
#include "targets/nxdt/nxdt_config.h"
#include "targets/nxdt/nxdt_yaml.h"
#include "text/diagnostic.h"

namespace trnplan::api {

using calibrate::WhatRan;

namespace {

std::optional<WhatRan> ran_of_config(const std::string& path, const std::string& instance, const Files& files,
                                     const io::Catalog& catalog, Remarks& remarks) {
  const targets::NxdtConfig config = targets::read_nxdt(path, files);
  const io::ArchitectureReading architecture = io::architecture_of_nxdt(config, catalog, files);
  const targets::NxdtReading reading = targets::interpret(config, architecture.architecture);
  WhatRan ran;
  ran.job.architecture = architecture.architecture;
  ran.job.training = reading.training;
  ran.job.cluster.instance = load_instance(catalog, instance);
  const topology::Instance& machine = ran.job.cluster.instance;
  if (reading.nodes % machine.hosts != 0) {
    throw InputError({{path, 0, 0},
                      "trainer.num_nodes",
                      fmt::format("{} hosts, and a {} is {}", reading.nodes, machine.name, machine.hosts),
                      "state the machine with --instance"});
  }
  ran.job.cluster.nodes = reading.nodes / machine.hosts;
  ran.job.software = reading.software;
  ran.strategy = reading.strategy;
  ran.from = path;
  remarks.add(architecture.notes, "model");
  if (reading.not_modelled.empty()) return ran;
  remarks.add(fmt::format("{}: {} is not modelled, so there is no prediction for what ran", printable(path),
                          fmt::join(reading.not_modelled, ", ")));
  return std::nullopt;
}

}  // namespace

std::optional<WhatRan> what_ran(const std::string& job, const std::string& strategy,
                                const std::string& config, const std::string& instance,
                                const io::Catalog& catalog, Remarks& remarks, const StatedFiles& texts,
                                int nodes) {
  const SourcePos place{"command line", 0, 0};
  std::vector<Diagnostic> faults;
  if (!config.empty() && !job.empty()) {
    faults.push_back({place, "--config", "--job states what ran as well", "leave one of the two out"});
  }
  if (!strategy.empty() && job.empty()) {
    faults.push_back({place, "--strategy", "there is no --job for it", "add --job JOB.yaml"});
  }
  if (!faults.empty()) throw InputError(std::move(faults));
  if (!config.empty()) return ran_of_config(config, instance, texts, catalog, remarks);
  if (job.empty()) return std::nullopt;
  JobInput input{job, {}, texts};
  if (nodes > 0 && !texts.has(job)) input.options.nodes = fmt::to_string(nodes);
  io::JobReading reading = load_job(input, catalog, remarks);
  WhatRan ran;
  if (!strategy.empty()) ran.strategy = io::parse_strategy(strategy, reading.job);
  ran.job = std::move(reading.job);
  ran.from = job;
  return ran;
}

WhatRan ran_of_folder(const std::string& folder, const io::Catalog& catalog) {
  const std::filesystem::path path = std::filesystem::path(folder) / "plan.json";
  const io::PlanFile plan = io::read_plan_file(path, catalog);
  WhatRan ran;
  ran.job = plan.job;
  ran.strategy = plan.strategy;
  ran.from = path.string();
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
