// Lint rules on the features of the NxDT version with which the config runs.
#include "targets/nxdt/nxdt_lint_rules.h"
#include "targets/nxdt/nxdt_versions.h"

namespace trnplan::targets {

namespace {

models::Software software_of(const Context& x) {
  models::Software s;
  s.release = x.release;
  s.version = x.version;
  return s;
}

/// Unknowns of the version: never an error.
void unknown_version(const Context& x, Report& report) {
  for (std::string& doubt : version_doubts(software_of(x)))
    report.warning({"", std::move(doubt), "run the config's first steps before relying on it"});
  const NxdtVersion* version = version_of(software_of(x));
  if (version == nullptr || version->version == kVersionRead) return;
  report.note({"",
               fmt::format("the rules were read in NxDT {}; of {} only what the release notes date is known",
                           kVersionRead, version->version),
               ""});
}

void dated_features(const Context& x, Report& report) {
  const NxdtVersion* version = version_of(software_of(x));
  if (version == nullptr) return;
  const auto use = [&](bool used, std::string_view key, const DatedFeature& feature, std::string fix) {
    if (!used) return;
    std::string why = lacks(*version, feature);
    if (!why.empty()) report.error({key, std::move(why), std::move(fix)});
  };
  use(x.config.text("precision.type") == "autocast", "precision.type", kAutocast, "write mixed_precision");
  use(x.strategy().context_parallel > 1, "distributed_strategy.context_parallel_size", kContextParallel,
      "write 1");
  use(x.config.has_section("model_alignment_strategy.orpo"), "model_alignment_strategy", kOrpo,
      "use a newer NxDT");
  use(x.config.has_section("model_alignment_strategy.peft"), "model_alignment_strategy", kLora,
      "use a newer NxDT");
  use(x.states("precision.parallel_layers_reduce_dtype"), "precision.parallel_layers_reduce_dtype",
      kReduceDtype, "remove the key");
}

void dropped_flags(const Context& x, Report& report) {
  const NxdtVersion* version = version_of(software_of(x));
  if (version == nullptr || !x.contains("compiler_flags", "llm-training")) return;
  std::string why = lacks(*version, kLlmTraining);
  // The compiler may still accept the flag.
  if (!why.empty())
    report.warning({"compiler_flags", std::move(why), "remove --distribution-strategy=llm-training"});
}

constexpr Rule kVersionsRules[] = {
    {"version", unknown_version},
    {"version", dated_features},
    {"version", dropped_flags},
};

}  // namespace

std::span<const Rule> version_rules() {
  return kVersionsRules;
}

}  // namespace trnplan::targets
