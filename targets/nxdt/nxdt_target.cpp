#include "targets/nxdt/nxdt_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "models/framework/framework.h"
#include "targets/hf/hf_rules.h"
#include "targets/hf/nxd_preparation.h"
#include "targets/nxdt/nxdt_recipe.h"
#include "targets/nxdt/nxdt_versions.h"
#include "targets/nxdt/nxdt_yaml.h"

namespace trnplan::targets {

namespace {

constexpr const char* kConfig = "nxdt.yaml";

bool is_its_loop(const models::Strategy& s) {
  return s.framework.empty() && models::framework_of(s).runs(models::effective_schedule(s));
}

bool loses_its_recompute(const models::Strategy& s) {
  return !s.flash_attention && s.recompute == models::Recompute{};
}

/// Features for which the job's version of NxDT is too old.
std::string lacking_version(const models::Job& job, const models::Strategy& s) {
  const bool autocast = s.precision == models::Precision::autocast;
  if (!autocast && s.context_parallel == 1) return "";
  const NxdtVersion* version = version_of(job.software);
  if (version == nullptr) return "";
  const std::string context = s.context_parallel > 1 ? lacks(*version, kContextParallel) : "";
  return context.empty() && autocast ? lacks(*version, kAutocast) : context;
}

constexpr std::string_view kNewestPython = "3.11", kApexTag = "25.07";

/// "==1.7.0": the version that comes with the release, or that the job states; "" if unknown.
std::string pinned_version(const models::Job& job, const models::NeuronRelease* release) {
  const NxdtVersion* version = find_version(job.software.version);
  if (version == nullptr && release != nullptr) version = version_of_release(release->release);
  return version == nullptr ? "" : "==" + std::string(version->package);
}

bool learns(const models::Job& job, const models::Strategy& s) {
  static const models::Learning kNothing;
  static const models::RunFiles kNoFiles;
  if (job.learning == kNothing && job.run == kNoFiles) return true;
  std::vector<planner::Violation> broken;
  need_learning(job, nxdt_recipe(job.architecture), nxdt_learnable(s), broken);
  return broken.empty();
}

class Nxdt : public planner::Target {
 public:
  std::string_view name() const override { return kNxdtName; }
  std::string_view log_format() const override { return kNxdtName; }

  /// aws-neuron/aws-neuron-sdk@81ce03ae
  /// about-neuron/announcements/neuron2.x/announce-maintenance-nxdt-nxd-core-training.rst and
  /// announcement-end-of-support-nxdt-nxd-core.rst.
  std::string support() const override {
    return "Needs NxDT 1.6 or 1.7: stay on Neuron SDK 2.28 with PyTorch 2.9. NxDT has been in maintenance "
           "since Neuron 2.30 and is no longer supported from 2.32 on.";
  }
  std::string_view neuron_stack() const override { return kXlaStack; }
  planner::TargetAdvice advice() const override {
    return {"write save_xser: True and async_checkpointing: False", "raise neuron_rt_exec_timeout"};
  }

  /// Refuses what NxDT cannot train or state: models outside its HF Llama path, training loops other than
  /// NxD's, and plain attention without recompute. Without a list of classes it recomputes CoreAttention
  /// (lightning_modules/model/hf_models/llama_model.py).
  std::vector<planner::Violation> violations(const models::Job& job,
                                             const models::Strategy& strategy) const override {
    std::vector<planner::Violation> broken;
    std::string model = why_inexpressible(job.architecture, job.training.sequence);
    if (!model.empty()) broken.push_back({"target", std::move(model), ""});
    if (!is_its_loop(strategy))
      broken.push_back({"target", "a training loop or schedule that NxD does not have",
                        "leave framework and schedule out"});
    if (loses_its_recompute(strategy)) {
      broken.push_back({"target", "plain attention without recompute",
                        "pin recompute to CoreAttention or flash_attention to true in the job"});
    }
    need_learning(job, nxdt_recipe(job.architecture), nxdt_learnable(strategy), broken);
    std::string version = lacking_version(job, strategy);
    if (!version.empty())
      broken.push_back(
          {"target", std::move(version), "state a newer software.version, or release, in the job"});
    return broken;
  }
  bool expresses(const models::Job& job, const models::Strategy& s) const override {
    if (!is_its_loop(s) || loses_its_recompute(s) || !lacking_version(job, s).empty()) return false;
    return learns(job, s) && why_inexpressible(job.architecture, job.training.sequence).empty();
  }

  /// Its own rules and those of NxD's HF models. Processes:
  /// src/neuronx_distributed_training/patches/lightning_neuron_patch.py.
  std::vector<planner::Violation> rules(const models::Job& job,
                                        const models::Strategy& strategy) const override {
    std::vector<planner::Violation> broken = hf_rules(job, strategy);
    constexpr std::array kProcesses = {1, 2, 8, 32, 64, 128};
    const int cores = job.cluster.instance.host_cores();
    if (std::find(kProcesses.begin(), kProcesses.end(), cores) == kProcesses.end()) {
      broken.push_back({"devices",
                        fmt::format("NxDT starts 1, 2, 8, 32, 64 or 128 processes a node, not {}", cores),
                        "use an instance type with one of these core counts"});
    }
    return broken;
  }

  planner::TargetCode code() const override {
    return {"https://github.com/aws-neuron/neuronx-distributed-training", "examples",
            "training_orchestrator.py"};
  }

  std::vector<planner::PersonValue> asked_for(const models::Job& job) const override {
    std::vector<planner::PersonValue> values;
    ask_for_weights(job, values);
    return values;
  }

  planner::TrainCommand command(const models::Job& job, const models::Strategy&) const override {
    planner::TrainCommand c;
    c.arguments = {
        "--config-path=$plan",          "--config-name=nxdt",        "model.model_config=$plan/config.json",
        "data.train_dir=$TRNPLAN_DATA", "compiler_cache_url=$cache", "exp_manager.explicit_log_dir=$results"};
    // The first start loads weights alone; a resumed run also loads its optimizer.
    if (job.run.begins_with_weights()) {
      c.again = {"checkpoints/*.ckpt",
                 {"exp_manager.resume_from_checkpoint=$TRNPLAN_WEIGHTS", "model.weight_init_only=True"},
                 {}};
    }
    return c;
  }

  /// Release that contains the version of NxDT, for a job that states only that.
  std::string neuron_release(const models::Job& job) const override {
    const NxdtVersion* version = find_version(job.software.version);
    const std::string usual = Target::neuron_release(job);
    if (!job.software.release.empty() || version == nullptr || version == version_of_release(usual))
      return usual;
    return std::string(version->last_release);
  }

  /// aws-neuron/neuronx-distributed-training@9169aa0: README.md, requirements.txt (its numpy supports no
  /// Python after 3.11), install_setup.sh and examples/checkpoint_converter_scripts. The README's apex is
  /// 25.07, as in AWS's image for 2.28 (aws-neuron/deep-learning-containers@67765488
  /// pytorch/training/2.9.0/Dockerfile.neuronx), the guide's 23.05 (aws-neuron/aws-neuron-sdk@81ce03ae
  /// archive/nxd-training/installation_guide.rst). That image has all of it for Python 3.12, with a numpy of
  /// its own.
  planner::Preparation preparation(const models::Job& job, const models::Strategy& s) const override {
    planner::Preparation p;
    put_release(p, *this, job, kNewestPython);
    p.modules = {"neuronx_distributed_training", "nemo", "apex"};
    const models::NeuronRelease* release = planner::pinned_release(*this, job);
    p.install = {
        pip_install() + neuron_packages(release) + " torchvision",
        "pip install Cython packaging setuptools wheel",
        "local apex",
        "apex=$(mktemp -d)/apex",
        "git clone --depth 1 --branch " + std::string(kApexTag) +
            " https://github.com/NVIDIA/apex \"$apex\"   # NeMo imports it; its kernels are not needed",
        "printf '%s\\n' 'from setuptools import find_packages, setup' 'setup(name=\"apex\", "
        "version=\"0.1\", packages=find_packages(include=[\"apex\", \"apex.*\"]))' >\"$apex/setup.py\"",
        "pip install --no-build-isolation -r \"$TRNPLAN_CODE/requirements.txt\" \"$apex\"",
        pip_install() + "neuronx_distributed_training" + pinned_version(job, release),
        "(cd \"$TRNPLAN_CODE\" && bash install_setup.sh)   # builds megatron-core and patches NeMo"};
    put_conversion(p, "examples/checkpoint_converter_scripts/checkpoint_converter.py", job, s);
    p.remarks.emplace_back(
        "Data sets are tokenised by get_dataset.py of neuronx-distributed, "
        "examples/training/llama; its columns are input_ids, attention_mask and labels.");
    return p;
  }

  std::vector<std::string_view> programs() const override { return {"training_orchestrator.py"}; }
  std::vector<std::string> config_names() const override { return {kConfig}; }

  std::vector<planner::ConfigFile> emit(const models::Job& job, const models::Strategy& strategy,
                                        const planner::ConfigUse& use) const override {
    NxdtConfig config = to_nxdt(job, strategy);
    for (NxdtKey& key : config.keys) {
      if (use.log_every_step && key.key == "trainer.log_every_n_steps") key.text = fmt::to_string(1);
    }
    const models::Software& software = job.software;
    const std::string version =
        software.version.empty() ? "" : fmt::format("# Written for NxDT {}.\n", software.version);
    return {{kConfig, fmt::format("# {}\n{}# {}\n", support(), version, use.heading) + nxdt_yaml(config)}};
  }

  bool recognises(const Node& root) const override { return looks_like_nxdt(root); }

  std::optional<planner::ConfigReading> interpret(const Node& root,
                                                  const models::Architecture& architecture) const override {
    NxdtReading r = targets::interpret(nxdt_from(root), architecture);
    return planner::ConfigReading{r.training, r.strategy, r.nodes,
                                  r.devices,  r.software, std::move(r.not_modelled)};
  }
};

}  // namespace

const planner::Target& nxdt() {
  static const Nxdt target;
  return target;
}

}  // namespace trnplan::targets
