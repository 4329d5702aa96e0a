// Checks of a file that starts a run.
#pragma once

#include <string>

#include "targets/registry.h"
#include "tests/fuzz/judged.h"

namespace trnplan::fuzz {

struct Machine {
  topology::Instance instance;
  models::Profile profile;
};

inline const Machine& of_gpus() {
  static const Machine p5{catalog().instance("p5.48xlarge"), catalog().profile("h100-datasheet")};
  return p5;
}

inline const Machine& of_neuron_cores() {
  static const Machine trn1{catalog().instance("trn1.32xlarge"), catalog().profile("trn1-datasheet")};
  return trn1;
}

/// Reads it by the target of that name, for one node and for as many as the launch line states.
inline void read_run_file(const char* target, const char* name, const std::string& text,
                          const Machine& machine = of_gpus()) {
  const planner::Target& reader = *targets::find(target);
  static const models::Architecture architecture = catalog().architecture("llama3-8b");
  const planner::ConfigFile file{name, text, 2, {{"NNODES", "2"}, {"TP", "4"}}};
  std::optional<int> launched;
  refusable([&] { launched = reader.nodes_of(file); });
  ensure(!launched || (*launched >= 1 && *launched <= topology::kMostNodes), "nodes are some that exist");
  for (const int nodes : {1, launched.value_or(4)}) {
    refusable([&] {
      models::Job job;
      job.cluster.instance = machine.instance;
      job.cluster.nodes = nodes;
      for (const planner::StartFault& f : reader.start_faults(file, job.cluster))
        ensure(is_printable(to_string(f.what)), "a fault of the start is safe to print");
      const auto run = reader.read_run(file, static_cast<int>(job.cluster.cores()), &architecture);
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
      judge_job(job, run->config.strategy, machine.profile);
    });
  }
}

}  // namespace trnplan::fuzz
