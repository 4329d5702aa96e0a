// What is asked of a file that starts a run of Megatron-LM or TorchTitan.
#pragma once

#include <string>

#include "targets/registry.h"
#include "tests/fuzz/judged.h"

namespace trnplan::fuzz {

/// Read by the target of that name for one node of 8 GPUs and for one with as many ranks as the launch line has.
inline void read_run_file(const char* target, const char* name, const std::string& text) {
  static const topology::Instance p5 = catalog().instance("p5.48xlarge");
  static const models::Profile profile = catalog().profile("h100-datasheet");
  const planner::Target& reader = *targets::find(target);
  static const models::Architecture beside = catalog().architecture("llama3-8b");
  const planner::ConfigFile file{name, text, 2, {{"NNODES", "2"}, {"TP", "4"}}};
  std::optional<int> launched;
  refusable([&] { launched = reader.nodes_of(file); });
  ensure(!launched || (*launched >= 1 && *launched <= topology::kMostNodes), "nodes are some that exist");
  for (const int nodes : {1, launched.value_or(4)}) {
    refusable([&] {
      models::Job job;
      job.cluster.instance = p5;
      job.cluster.nodes = nodes;
      for (const planner::StartFault& f : reader.start_faults(file, job.cluster))
        ensure(is_printable(to_string(f.what)), "a fault of the start is safe to print");
      const auto run = reader.read_run(file, static_cast<int>(job.cluster.cores()), &beside);
      ensure(run.has_value(), "the target reads files");
      ensure(is_printable(run->unmodelled), "what a file is of is safe to print");
      if (!run->unmodelled.empty()) return;
      ensure(is_printable(run->architecture.name), "a model's name is safe to print");
      for (const std::string& note : run->notes) ensure(is_printable(note), "a note is safe to print");
      for (const std::string& feature : run->config.not_modelled)
        ensure(is_printable(feature), "a feature is safe to print");
      ensure(saturating_product({run->config.strategy.model_parallel(),
                                 run->config.strategy.data_parallel}) == job.cluster.cores(),
             "a strategy uses every rank");
      job.architecture = run->architecture;
      if (job.architecture.vocabulary == 0) job.architecture.vocabulary = 32000;
      job.training = run->config.training;
      job.software = run->config.software;
      judge_job(job, run->config.strategy, profile);
    });
  }
}

}  // namespace trnplan::fuzz
