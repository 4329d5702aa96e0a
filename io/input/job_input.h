// The argument of plan, simulate, export and whatif: a job file, or a model alone, with options for the rest.
//
// The content of an argument decides its kind:
//
//   job.yaml              a job
//   NXDT.yaml             the job `model: NXDT.yaml`
//   config.json, FOLDER   the job `model: config.json` of an HF config
//   llama3-8b             the job `model: llama3-8b` of the catalogue, unless a file has that name
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "io/input/readers.h"

namespace trnplan::io {

/// Statements of the command line on a job, in the words of the job's keys; empty = nothing. Lists have
/// commas.
struct JobOptions {
  std::string instance, nodes, sequence, global_batch, tokens, precision, release, objective, deadline,
      budget, scheduler, all_reduce, measured;
  std::string framework = {};  ///< of the software, found out and not stated by a user
  /// Target that trains the job; empty: the target of its software. It decides the source of assumed values.
  std::string target;
  /// True if the command asks for nodes or types itself: assumptions on them are then not reported.
  bool own_nodes = false, own_instances = false;
  std::string first_instance = {};  ///< the type to assume for a model alone; empty: the catalogue's default
  /// True if the command's user states these values in place of the job's on purpose: no note says so.
  bool expected = false;
  /// True if the strategy of an NxDT YAML is not pinned, and only its model and training are used.
  bool free_strategy = false;
};

enum class JobSource { job, nxdt, hf_config, catalogue_model };

struct JobInput {
  JobReading reading;
  JobSource source = JobSource::job;
};

/// Reads the job that `argument` names, with each option in place of the job's key; a note says what it
/// replaces. For a model alone, values that no option states are assumed, and a note says so: sequence and
/// batch as published for the model (Catalog::training), or for the catalogue's model of the same shape; one
/// node of the catalogue's default type. A batch or sequence that is not published is a fault. Throws
/// InputError as read_job does; faults of an option name the option.
JobInput read_job_input(const std::string& argument, const JobOptions& options, const Catalog& catalog,
                        const Files& files = disk());

/// The kind of `argument` for read_job_input(). Throws InputError if it is neither a file nor a model.
JobSource job_source(const std::string& argument, const Catalog& catalog, const Files& files = disk());

/// "--global-batch" for "training.global_batch"; "" if no option states that key.
std::string option_of(std::string_view key);

/// Position of a fault of the command line.
inline constexpr const char* kCommandLine = "command line";

}  // namespace trnplan::io
