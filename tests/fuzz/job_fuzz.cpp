// A job.yaml, with the files that it may name: a config.json, an NxDT config, a listing of neuron-ls,
// descriptions of clusters.
#include "io/input/readers.h"
#include "planner/check/rules.h"
#include "planner/plan/space.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

using namespace trnplan;

namespace {

fuzz::InMemory named_files() {
  const std::string model = io::hf_config_json(fuzz::catalog().architecture("llama3-8b"));
  return fuzz::InMemory(
      {{"config.json", model},
       {"m/config.json", model},
       {"n.yaml", fuzz::source_text("tests/io/fixtures/nxdt/hf_llama3_8B_config.yaml")},
       {"g.yaml", fuzz::source_text("tests/io/fixtures/nxdt/megatron_llama_70b_config.yaml")},
       {"ls.txt", fuzz::source_text("tests/io/fixtures/neuron-ls-trn1.32xlarge.txt")},
       {"ls.json", fuzz::source_text("tests/io/fixtures/neuron-ls-trn1.32xlarge.json")},
       {"hp.json", fuzz::source_text("tests/io/fixtures/cluster/hyperpod.json")},
       {"pc.yaml", fuzz::source_text("tests/io/fixtures/cluster/two-queues.yaml")},
       {"si.txt", fuzz::source_text("tests/io/fixtures/cluster/sinfo-nodes.txt")}});
}

}  // namespace

void fuzz::job_target(const std::uint8_t* data, std::size_t size) {
  static fuzz::InMemory files = named_files();
  files.put("job.yaml", fuzz::text_of(data, size));
  fuzz::refusable([&] {
    const io::JobReading reading = io::read_job("job.yaml", fuzz::catalog(), files);
    for (const std::string& note : reading.notes)
      fuzz::ensure(fuzz::is_printable(note), "a note is safe to print");
    planner::rule_violations(reading.job, planner::default_strategy(reading.job));
  });
}
