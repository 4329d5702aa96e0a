// The argument of plan, simulate, export and whatif: a job file, or a model alone, with options for the rest.
//
// What an argument is, its content decides:
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

/// What the command line says of a job, in the words of the job's keys; empty = nothing. Lists have commas.
struct JobOptions {
  std::string instance, nodes, sequence, global_batch, tokens, precision, release, objective, deadline,
      budget, scheduler;
  /// What is to train the job; empty: the target of its software. It decides what is assumed to come from where.
  std::string target;
  /// The command asks for nodes or types in its own way: what is assumed of them is not told.
  bool own_nodes = false, own_instances = false;
  /// Of an NxDT YAML the strategy is not pinned, only what it trains is taken.
  bool free_strategy = false;
};

enum class JobSource { job, nxdt, hf_config, catalogue_model };

struct JobInput {
  JobReading reading;
  JobSource source = JobSource::job;
};

/// Reads the job that `argument` names, with each option in place of the job's key; a note says what it
/// replaces. Of a model alone what no option states is assumed, and a note says so: sequence and batch as
/// published for the model (Catalog::training), or for the catalogue's model of the same shape; one node of
/// the catalogue's default type. A batch or sequence that nobody published is a fault. Throws InputError as
/// read_job does; faults of an option name the option.
JobInput read_job_input(const std::string& argument, const JobOptions& options, const Catalog& catalog,
                        const Files& files = disk());

/// What read_job_input takes `argument` for. Throws InputError where it is neither a file nor a model.
JobSource job_source(const std::string& argument, const Catalog& catalog, const Files& files = disk());

/// "--global-batch" of "training.global_batch"; "" when no option states that key.
std::string option_of(std::string_view key);

/// Where a fault of the command line stands.
inline constexpr const char* kCommandLine = "command line";

}  // namespace trnplan::io
