#include <fmt/format.h>

#include "io/output/emit_cluster.h"
#include "launch/folder/script_parts.h"
#include "launch/folder/templates.h"

namespace trnplan::launch {

std::vector<PrepareMode> prepare_modes(const planner::Preparation& p) {
  std::vector<PrepareMode> modes;
  if (!p.install.empty())
    modes.push_back({"environment", "", "the clone and the Python environment that settings.env names"});
  if (!p.tokenizer.empty())
    modes.push_back({"tokenizer", "", "the model's tokenizer, fetched from Hugging Face"});
  if (!p.data.empty())
    modes.push_back(
        {"data", "", p.values.empty() ? "a data set, fetched and tokenised" : "your own texts, tokenised"});
  if (!p.from_hf.empty())
    modes.push_back({"from-hf", " FROM TO", "a checkpoint of Hugging Face into the shards of this plan"});
  if (!p.to_hf.empty()) {
    modes.push_back({"to-hf", " FROM TO",
                     "the reverse; FROM is the folder with the shards of the weights, TO that of the model"});
  }
  return modes;
}

std::string mode_names(const std::vector<PrepareMode>& modes) {
  std::string text;
  for (std::size_t i = 0; i < modes.size(); ++i) {
    const bool last = i + 1 == modes.size();
    text += fmt::format("{}{}{}{}",
                        i == 0              ? ""
                        : modes.size() == 2 ? " "
                                            : ", ",
                        last && i > 0 ? "or " : "", modes[i].name, modes[i].arguments);
  }
  return text;
}

namespace {

/// Lines of the comment that heads prepare.sh; the last one without its end.
std::string mode_comments(const std::vector<PrepareMode>& modes) {
  std::string text;
  for (const PrepareMode& m : modes)
    text += fmt::format("#   prepare.sh {:<17}{}\n", std::string(m.name) + std::string(m.arguments), m.what);
  if (!text.empty()) text.pop_back();
  return text;
}

/// Lines of prepare.sh that stop without PyTorch, as the environment is of no use then; the last one without
/// its end.
constexpr const char* kNeedTorch =
    "  python3 -c 'import torch' || {\n"
    "    echo \"prepare.sh: PyTorch cannot be imported with $TRNPLAN_VENV/bin/python3\" >&2\n"
    "    echo \"  fix: remove $TRNPLAN_VENV and run this where PyTorch for the devices is installed: in the "
    "image of the jobs, or on a node whose image has it (srun --nodes=1 bash prepare.sh environment); or set "
    "TRNPLAN_VENV in settings.env to an environment that has it\" >&2\n"
    "    return 1\n"
    "  }";

/// Lines of prepare.sh for software that the image may hold; the last one without its end.
std::string held_lines(const planner::Preparation& p) {
  if (p.modules.empty()) return "";
  std::string names;
  for (const std::string& module : p.modules) names += (names.empty() ? "\"" : ", \"") + module + '"';
  return fmt::format(
      "  # An image may have all of it in its own Python, which is used then.\n"
      "  if python3 -c 'import importlib.util as u; raise SystemExit(None in [u.find_spec(m) for m in "
      "({})])' 2>/dev/null; then\n"
      "    [[ -d \"$TRNPLAN_VENV\" ]] || python3 -m venv --system-site-packages \"$TRNPLAN_VENV\"\n"
      "    local program\n"
      "    for program in torchrun neuron_parallel_compile; do\n"
      "      [[ -e \"$TRNPLAN_VENV/bin/$program\" ]] || ln -s -- \"$(command -v \"$program\")\" "
      "\"$TRNPLAN_VENV/bin/$program\"\n"
      "    done\n"
      "    return\n"
      "  fi",
      names);
}

/// Lines of a function of prepare.sh.
std::string body_of(const std::vector<std::string>& lines) {
  if (lines.empty()) return "  nothing";
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "  " : "\n  ") + line;
  return text;
}

/// A function of prepare.sh that only some targets have, and the empty line after it.
std::string tokenizer_function(const planner::Preparation& p) {
  if (p.tokenizer.empty()) return "";
  return "tokenizer() {\n  activate\n" + body_of(p.tokenizer) + "\n}\n";
}

}  // namespace

std::string prepare_sh(const ScriptContext& c) {
  const planner::Preparation p = c.target.preparation(c.job, c.plan.strategy);
  const std::vector<PrepareMode> modes = prepare_modes(p);
  return filled("prepare.sh", {{"about", about(c)},
                               {"modes", mode_comments(modes)},
                               {"names", mode_names(modes)},
                               {"packages", c.target.system_torch() ? "--system-site-packages " : ""},
                               {"torch", c.target.system_torch() ? kNeedTorch : ""},
                               {"tokenizer", tokenizer_function(p)},
                               {"tokenizer_mode", p.tokenizer.empty() ? "" : "  tokenizer) tokenizer ;;"},
                               {"remarks", comments(p.remarks)},
                               {"clone", c.target.code_for(c.job, c.plan.strategy).clone},
                               {"branch", p.tag.empty() ? "" : "--branch " + p.tag + " "},
                               {"python", p.python.empty() ? "python3" : p.python},
                               {"held", held_lines(p)},
                               {"install", body_of(p.install)},
                               {"data", body_of(p.data)},
                               {"from_hf", body_of(p.from_hf)},
                               {"to_hf", body_of(p.to_hf)}});
}

std::string install_neuron_sh(const ScriptContext& c) {
  const models::NeuronRelease* release = planner::pinned_release(c.target, c.job);
  std::string packages;
  for (const char* name :
       {"aws-neuronx-dkms", "aws-neuronx-runtime-lib", "aws-neuronx-collectives", "aws-neuronx-tools"}) {
    const std::string version = models::package_version(release, name);
    packages +=
        fmt::format("{}'{}={}*'", packages.empty() ? "" : " \\\n  ", name, version.empty() ? "2." : version);
  }
  // For an interpreter with a number; Debian's plain python3 is always there.
  const std::string python = c.target.preparation(c.job, c.plan.strategy).python;
  if (python.find('.') != std::string::npos) packages += fmt::format(" \\\n  {0} {0}-dev {0}-venv", python);
  const std::string versions =
      release == nullptr
          ? "The newest versions are installed: it is not known which ones the plan's software needs."
          : fmt::format("The versions are those of Neuron SDK {}.", release->release);
  return filled("install_neuron.sh", {{"about", about(c)}, {"packages", packages}, {"versions", versions}});
}

std::string dockerfile(const ScriptContext& c) {
  const std::string image = c.target.preparation(c.job, c.plan.strategy).image, set(io::kSetMe);
  return filled(
      form_of(c, "Dockerfile", "eager_Dockerfile"),
      {{"about", about(c)}, {"image", image.empty() ? set + "-image" : set + "-registry/" + image}});
}

}  // namespace trnplan::launch
