// An NxDT YAML, read and written, its model found, linted and, when it is small, judged.
#include <cstdint>

#include "io/input/readers.h"
#include "models/parameters/profile.h"
#include "targets/nxdt/nxdt_yaml.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/judged.h"
#include "tests/fuzz/targets.h"

using namespace trnplan;

namespace {

const models::Profile& profile() {
  static const models::Profile shipped = fuzz::catalog().profile("trn1-datasheet");
  return shipped;
}

const topology::Instance* instance_of(const targets::NxdtReading& reading) {
  static const topology::Instance trn1 = fuzz::catalog().instance("trn1.32xlarge");
  static const topology::Instance small = fuzz::catalog().instance("trn1.2xlarge");
  static const topology::Instance trn2 = fuzz::catalog().instance("trn2.48xlarge");
  if (reading.devices == 2 && reading.nodes == 1) return &small;
  return reading.devices == 32 ? &trn1 : reading.devices == 64 ? &trn2 : nullptr;
}

void judge(const targets::NxdtReading& reading, const models::Architecture& architecture) {
  const topology::Instance* instance = instance_of(reading);
  if (instance == nullptr || reading.nodes > topology::kMostNodes) return;
  models::Job job;
  job.architecture = architecture;
  job.training = reading.training;
  job.cluster.instance = *instance;
  job.cluster.nodes = reading.nodes;
  fuzz::judge_job(job, reading.strategy, profile());
}

/// The writer's text can be read; what it holds stays. Texts that would form an interpolation only once they
/// stand together are left out.
void write_and_read(const targets::NxdtConfig& config) {
  const std::string text = targets::nxdt_yaml(config);
  if (text.find("${") != std::string::npos) return;
  try {
    const targets::NxdtConfig back = targets::nxdt_from(parse_document(text, "back.yaml"));
    fuzz::ensure(back.keys.size() == config.keys.size(), "no key is lost in " + text);
    fuzz::ensure(targets::nxdt_yaml(back) == text, "written again it is the same: " + text);
  } catch (const InputError& e) {
    fuzz::ensure(false, e.what() + (" in " + text));
  }
}

}  // namespace

void fuzz::nxdt_target(const std::uint8_t* data, std::size_t size) {
  static fuzz::InMemory files(
      {{"config.json", io::hf_config_json(fuzz::catalog().architecture("llama3-8b"))}});
  files.put("config.yaml", fuzz::text_of(data, size));
  fuzz::refusable([&] {
    const targets::NxdtConfig config = targets::read_nxdt("config.yaml", files);
    write_and_read(config);
    const io::ArchitectureReading model = io::architecture_of_nxdt(config, fuzz::catalog(), files);
    const targets::NxdtReading reading = targets::interpret(config, model.architecture);
    for (const targets::Finding& finding : targets::lint(config, model.architecture)) {
      fuzz::ensure(fuzz::is_printable(finding.message), "a finding is safe to print: " + finding.message);
    }
    if (targets::unresolved_degree(config) == nullptr) judge(reading, model.architecture);
  });
}
