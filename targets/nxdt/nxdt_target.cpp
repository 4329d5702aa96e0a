#include "targets/nxdt/nxdt_target.h"

#include <fmt/format.h>

#include <stdexcept>

#include "targets/nxdt/nxdt_yaml.h"

namespace trnplan::targets {

namespace {

constexpr const char* kConfig = "nxdt.yaml";

class Nxdt : public planner::Target {
 public:
  std::string_view name() const override { return kNxdtName; }
  std::string_view log_format() const override { return kNxdtName; }

  /// aws-neuron/aws-neuron-sdk@81ce03ae
  /// about-neuron/announcements/neuron2.x/announce-maintenance-nxdt-nxd-core-training.rst and
  /// announcement-end-of-support-nxdt-nxd-core.rst.
  std::string support() const override {
    return "Needs NxDT 1.6 or 1.7: stay on Neuron SDK 2.28 with PyTorch 2.9. NxDT is in maintenance since "
           "Neuron 2.30 and no longer supported from 2.32 on.";
  }

  /// What its HF Llama path cannot train; strategies it can express all, but for the planner's own rules.
  std::vector<planner::Violation> violations(const models::Job& job,
                                             const models::Strategy& strategy) const override {
    try {
      static_cast<void>(to_nxdt(job, strategy));
      return {};
    } catch (const std::invalid_argument& e) {
      return {{"target", e.what(), ""}};
    }
  }

  planner::TargetCode code() const override {
    return {"https://github.com/aws-neuron/neuronx-distributed-training", "examples",
            "training_orchestrator.py"};
  }

  planner::TrainCommand command(const models::Job&, const models::Strategy&) const override {
    return {{"--config-path=$plan", "--config-name=nxdt", "model.model_config=$plan/config.json",
             "data.train_dir=$TRNPLAN_DATA", "compiler_cache_url=$cache",
             "exp_manager.explicit_log_dir=$results"},
            0,
            {}};
  }

  std::vector<std::string> config_names() const override { return {kConfig}; }

  std::vector<planner::ConfigFile> emit(const models::Job& job, const models::Strategy& strategy,
                                        const planner::ConfigUse& use) const override {
    NxdtConfig config = to_nxdt(job, strategy);
    for (NxdtKey& key : config.keys) {
      if (use.log_every_step && key.key == "trainer.log_every_n_steps") key.text = fmt::to_string(1);
    }
    return {{kConfig, fmt::format("# {}\n# {}\n", support(), use.heading) + nxdt_yaml(config)}};
  }

  bool recognises(const Node& root) const override { return looks_like_nxdt(root); }

  std::optional<planner::ConfigReading> interpret(const Node& root,
                                                  const models::Architecture& architecture) const override {
    NxdtReading r = targets::interpret(nxdt_from(root), architecture);
    return planner::ConfigReading{r.training, r.strategy, r.nodes,
                                  r.devices,  r.software, std::move(r.not_modelled)};
  }

  std::vector<Diagnostic> config_faults(const planner::ConfigFile& file, const models::Job& job,
                                        const models::Strategy& strategy,
                                        const std::string& anew) const override {
    const Node root = parse_document(file.text, file.name);
    if (!looks_like_nxdt(root)) {
      return {{{file.name, 0, 0},
               "",
               "this is no NxDT config: it has no trainer and no distributed_strategy",
               anew}};
    }
    NxdtConfig config = nxdt_from(root);
    config.devices_lines = devices_lines(file.text, file.name);
    return plan_faults(config, job, strategy, anew);
  }
};

}  // namespace

const planner::Target& nxdt() {
  static const Nxdt target;
  return target;
}

}  // namespace trnplan::targets
