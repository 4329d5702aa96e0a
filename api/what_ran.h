// The plan that ran when logs were written, from options or from a folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/stated_files.h"
#include "calibrate/session/samples.h"
#include "io/catalog/catalog.h"
#include "io/input/plan_file.h"
#include "logs/training/samples.h"
#include "text/remarks.h"

namespace trnplan::api {

/// Options that state what ran.
struct StatedRun {
  std::string job, strategy;  ///< as for simulate
  std::string config;         ///< instead of them a config, or the script that started the run
  std::string instance;       ///< of `config`, or of `job` instead of its own; "" = not stated
  int nodes = 0;              ///< of `job`, instead of its own, or of a script; 0 = not stated
  StatedFiles texts = {};     ///< `job` or `config`, if in memory
  /// Stack whose words the logs have, logged_stack(). It trains a job that states none, if it can.
  std::string logged = {};

  /// The options on the machine: "--instance", "p5.48xlarge".
  [[nodiscard]] std::vector<std::string> machine_words() const;
};

/// True if a config, or the script that starts a run, says on how many nodes. Throws InputError.
[[nodiscard]] bool config_states_nodes(const std::string& path, const Files& files);

/// Reads what the options state; nullopt if they name neither a job nor a config. Throws InputError with every
/// fault, also if both are given or a strategy without a job.
[[nodiscard]] std::optional<calibrate::WhatRan> what_ran(const StatedRun& stated, const io::Catalog& catalog,
                                                         Remarks& remarks);

/// Stack that wrote all of these steps by the words of their logs; "" if some are of another, or none says.
[[nodiscard]] std::string logged_stack(const std::vector<logs::StepSample>& steps);

/// Words on logs of another stack than the one that `file` states; "" if they are of the same, or one is not known.
[[nodiscard]] std::string other_stack(const std::string& logged, const std::string& stated,
                                      const std::string& file);

/// Plan that a folder of `plan --out` ran, from its plan.json. Throws InputError. A config that was edited since to
/// another layout states the layout instead, with its prediction. A remark says so, or names the first other file that
/// was changed.
[[nodiscard]] calibrate::WhatRan ran_of_folder(const std::string& folder, const io::Catalog& catalog,
                                               Remarks& remarks);
/// The same of the path of a plan.json.
[[nodiscard]] io::PlanFile plan_of_folder(const std::string& path, const io::Catalog& catalog,
                                          Remarks& remarks);
/// Paths of its train-*.out, named as in its train.sbatch. Throws InputError if there is none.
[[nodiscard]] std::vector<std::string> logs_of_folder(const std::string& folder);

}  // namespace trnplan::api
