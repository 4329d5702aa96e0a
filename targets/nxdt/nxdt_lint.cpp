// The linter: runs the rules of all themes. The rules are in
// nxdt_lint_{schema,parallel,training,kinds,versions}.cpp, each file with its own table.
#include "targets/nxdt/nxdt_lint_rules.h"

namespace trnplan::targets {

namespace {

Context context_of(const NxdtConfig& config, const models::Architecture& architecture,
                   const std::string& release, const std::string& version) {
  Context x{config, architecture, trained_architecture(config, architecture), {}};
  x.release = release;
  x.version = version;
  x.reading = interpret(config, x.trained);
  x.megatron = config.text("model_source") == "megatron";
  x.moe = config.has_section("model.moe") || x.trained.experts > 0 ||
          (!x.megatron && x.contains("name", "mixtral"));
  x.alignment = config.has_section("model_alignment_strategy");
  x.trn2 = describes_trn2(config);
  x.recipe = config.has_section("run");
  x.world = static_cast<std::int64_t>(x.reading.devices) * x.reading.nodes;
  return x;
}

}  // namespace

std::vector<Finding> lint(const NxdtConfig& config, const models::Architecture& architecture,
                          const std::string& release, const std::string& version) {
  const Context context = context_of(config, architecture, release, version);
  Report report(config);
  std::vector<std::span<const Rule>> themes{schema_rules(), training_rules(), kind_rules(), version_rules()};
  // Without a degree, the rules on degrees would judge a default that the user never wrote.
  if (unresolved_degree(config) == nullptr)
    themes.insert(themes.begin() + 1, {parallel_rules(), batch_rules()});
  for (const std::span<const Rule> theme : themes) {
    for (const Rule& rule : theme) {
      report.rule(rule.name);
      rule.judge(context, report);
    }
  }
  return report.take();
}

}  // namespace trnplan::targets
