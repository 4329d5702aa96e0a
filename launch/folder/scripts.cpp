#include "launch/folder/scripts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>

#include "io/output/emit_cluster.h"
#include "launch/folder/templates.h"

namespace trnplan::launch {

namespace {

constexpr std::size_t kNameLength = 40;
constexpr int kDefaultBucketMb = models::Strategy{}.bucket_mb;
/// Steps in which every graph is met: NxDT's own number while COMPILE=1
/// (aws-neuron/neuronx-distributed-training@9169aa0 examples/training_orchestrator.py).
constexpr int kCompileSteps = 10;

}  // namespace

std::string plain_name(const std::string& name) {
  std::string safe;
  for (const char c : name.substr(0, kNameLength)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    safe += plain || c == '.' || c == '_' || c == '-' ? c : '-';
  }
  safe.erase(0, std::min(safe.find_first_not_of("-."), safe.size()));
  return safe.empty() ? "model" : safe;
}

std::string dns_name(const std::string& name) {
  std::string safe = plain_name(name);
  for (char& c : safe) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (c == '.' || c == '_') c = '-';
  }
  if (safe[0] < 'a' || safe[0] > 'z') safe.insert(0, "m-");
  safe = safe.substr(0, kNameLength);
  safe.erase(safe.find_last_not_of('-') + 1);
  return safe;
}

std::string script_body(const std::string& text) {
  std::string body;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view row = std::string_view(text).substr(at, end - at);
    at = end + 1;
    while (!row.empty() && (row.back() == ' ' || row.back() == '\t' || row.back() == '\r'))
      row.remove_suffix(1);
    const std::size_t first = row.find_first_not_of(" \t");
    if (first == std::string_view::npos || row[first] == '#') continue;
    body.append(row).append("\n");
  }
  return body;
}

namespace {

bool local_cache(const ScriptContext& c) {
  return c.plan.nodes >= kLocalCacheNodes;
}

/// Lines that begin every script, behind what it is for; the last one without its end.
std::string about(const ScriptContext& c) {
  return fmt::format(
      "# Plan: {}\n# Predicted: {:.1f} s a step ({:.1f} to {:.1f} s with 90 % confidence).\n# {}",
      describe(c.plan.strategy), c.plan.report.step.value, c.plan.report.low.value, c.plan.report.high.value,
      c.target.support());
}

/// What only this plan exports, a line each; the last one without its end.
std::string environment(const ScriptContext& c, const planner::TrainCommand& command) {
  std::string text;
  if (c.plan.nodes > 1) text += "export FI_PROVIDER=efa FI_EFA_USE_DEVICE_RDMA=1 FI_EFA_FORK_SAFE=1\n";
  const topology::Instance& instance = c.job.cluster.instance;
  if (instance.traits.logical_cores && instance.core.lnc == 1) {
    text += "export NEURON_LOGICAL_NC_CONFIG=1   # must agree with the compiler's --logical-nc-config\n";
  }
  if (c.plan.strategy.bucket_mb != kDefaultBucketMb) {
    text += fmt::format("export ALL_GATHER_REDUCE_SCATTER_BUCKET_CAP_MB={}   # NxD's own is {}\n",
                        c.plan.strategy.bucket_mb, kDefaultBucketMb);
  }
  for (const std::string& variable : command.environment) {
    const std::size_t equals = variable.find('=');
    // As NxDT does: what is set already goes first.
    text += fmt::format("export {0}=\"${{{0}:-{1}}}\"\n", variable.substr(0, equals),
                        variable.substr(equals + 1));
  }
  if (!text.empty()) text.pop_back();
  return text;
}

/// The words of the command, a line each but for the value of an option. Every argument of ours is free of
/// quotes, backticks and backslashes.
std::string arguments(const planner::TrainCommand& command) {
  std::string text;
  for (std::size_t i = 0; i < command.arguments.size(); ++i) {
    const std::string& word = command.arguments[i];
    const bool value = !word.starts_with("--") && i > 0 && command.arguments[i - 1].starts_with("--") &&
                       command.arguments[i - 1].find('=') == std::string::npos;
    text += (value ? " \"" : " \\\n    \"") + word + '"';
  }
  return text;
}

/// Sets $steps in a mode of node_run.sh; NxDT's orchestrator reads COMPILE and TRAIN_ITERS by itself.
std::string steps_line(const planner::TrainCommand& command, const std::string& value) {
  return command.steps > 0 ? "  steps=" + value : "";
}

constexpr const char* kCopyToLocalCache =
    "  # Looking graphs up through the shared file system stalls clusters of this size.\n"
    "  cache=$TRNPLAN_LOCAL_CACHE\n"
    "  mkdir -p \"$cache\"\n"
    "  cp -au -- \"$TRNPLAN_CACHE/.\" \"$cache/\"";

std::string sbatch(const ScriptContext& c, std::string_view script) {
  return filled(script, {{"model", plain_name(c.job.architecture.name)},
                         {"nodes", fmt::to_string(c.plan.nodes)},
                         {"about", about(c)}});
}

}  // namespace

std::string setup_env_sh(const ScriptContext& c) {
  return filled("setup_env.sh",
                {{"about", about(c)},
                 {"clone", c.target.code().clone},
                 {"local", local_cache(c) ? " Graphs are copied to it before training: this cluster is large."
                                          : " Not used: this cluster is small enough to share."}});
}

std::string node_run_sh(const ScriptContext& c) {
  const planner::TargetCode code = c.target.code();
  const planner::TrainCommand command = c.target.command(c.job, c.plan.strategy);
  return filled("node_run.sh",
                {{"about", about(c)},
                 {"nodes", fmt::to_string(c.plan.nodes)},
                 {"port", fmt::to_string(kMasterPort)},
                 {"environment", environment(c, command)},
                 {"folder", code.folder},
                 {"cores", fmt::to_string(c.job.cluster.instance.cores())},
                 {"script", code.script},
                 {"arguments", arguments(command)},
                 {"compile_steps", steps_line(command, fmt::to_string(kCompileSteps))},
                 {"train_steps", steps_line(command, fmt::format("${{TRAIN_ITERS:-{}}}", command.steps))},
                 {"local_cache", local_cache(c) ? kCopyToLocalCache : ""}});
}

std::string mpi_launch_sh(const ScriptContext& c) {
  return filled("mpi_launch.sh", {{"about", about(c)}, {"nodes", fmt::to_string(c.plan.nodes)}});
}

std::string compile_sbatch(const ScriptContext& c) {
  return sbatch(c, "compile.sbatch");
}

std::string train_sbatch(const ScriptContext& c) {
  return sbatch(c, "train.sbatch");
}

std::string submit_sh(const ScriptContext& c) {
  const planner::TargetCode code = c.target.code();
  return filled("submit.sh", {{"about", about(c)},
                              {"folder", code.folder},
                              {"script", code.script},
                              {"clone", code.clone},
                              {"nodes", fmt::to_string(c.plan.nodes)},
                              {"machine", io::machine_type(c.job.cluster.instance)}});
}

}  // namespace trnplan::launch
