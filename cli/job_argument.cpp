#include "cli/job_argument.h"

#include <CLI/CLI.hpp>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/options.h"
#include "models/job/strategy.h"

namespace trnplan::cli {

namespace {

struct JobOption {
  JobPart part;
  const char* name;
  std::string io::JobOptions::*text;
  std::string help;
  bool is_file = false;
};
const JobOption kOptions[] = {
    {JobPart::cluster, "--nodes", &io::JobOptions::nodes, "4, 4..32 (4, 8, 16, 32) or 4,8,12"},
    {JobPart::cluster, "--instance", &io::JobOptions::instance,
     "a type that trnplan instances lists, several joined by commas, or any"},
    {JobPart::network, "--all-reduce-gbps", &io::JobOptions::all_reduce,
     "G or G@NODES: measured bus bandwidth of a large all-reduce over all ranks, in GB/s as nccl-tests and "
     "nccom-test print it; the network of the prediction is then as measured"},
    {JobPart::network, "--measured", &io::JobOptions::measured,
     "instead of it a file with the output of nccl-tests (all_reduce_perf) or nccom-test", true},
    {JobPart::training, "--sequence", &io::JobOptions::sequence, "tokens per sequence"},
    {JobPart::training, "--global-batch", &io::JobOptions::global_batch,
     "sequences per step: 1024, or a range 512..2048"},
    {JobPart::training, "--precision", &io::JobOptions::precision,
     fmt::format("{} (GPUs) or any", fmt::join(models::kPrecisionNames, ", "))},
    {JobPart::training, "--release", &io::JobOptions::release,
     "Neuron SDK release, for example 2.22; narrows the interval"},
    {JobPart::tokens, "--tokens", &io::JobOptions::tokens, "tokens of the whole run, for example 15T"},
    {JobPart::limits, "--objective", &io::JobOptions::objective, "step_time, cost or deadline"},
    {JobPart::limits, "--deadline", &io::JobOptions::deadline, "time for the whole run, for example 30d"},
    {JobPart::limits, "--budget", &io::JobOptions::budget, "USD for the whole run, for example 2.5M"},
};

CLI::Option* add_job(CLI::App& command, const char* name, JobArgument& argument,
                     const std::vector<JobPart>& parts) {
  for (const JobPart part : parts) {
    for (const JobOption& o : kOptions) {
      if (o.part == part)
        command.add_option(o.name, argument.options.*o.text, o.help)
            ->check(not_empty())
            ->group("Values of the job, or replacements for them");
    }
  }
  return command
      .add_option(
          name, argument.job,
          "job.yaml, a model that trnplan models lists, an HF config.json, an NxDT YAML or a folder of "
          "plan --out")
      ->check(not_empty());
}

}  // namespace

void add_job_argument(CLI::App& command, JobArgument& argument, const std::vector<JobPart>& parts) {
  add_job(command, "job", argument, parts)->required();
}

void add_job_option(CLI::App& command, JobArgument& argument, const std::vector<JobPart>& parts) {
  add_job(command, "--job", argument, parts);
}

api::JobWords words_of(const JobArgument& argument) {
  api::JobWords words;
  std::error_code error;
  const bool here = std::filesystem::exists(argument.job, error);
  words.job = here ? std::filesystem::absolute(argument.job).string() : argument.job;
  for (const JobOption& o : kOptions) {
    const std::string& text = argument.options.*o.text;
    if (text.empty()) continue;
    words.options.insert(words.options.end(),
                         {o.name, o.is_file ? std::filesystem::absolute(text).string() : text});
  }
  return words;
}

}  // namespace trnplan::cli
