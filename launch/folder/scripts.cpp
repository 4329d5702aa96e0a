#include "launch/folder/scripts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>

#include "io/output/emit_cluster.h"
#include "io/output/emit_kubernetes.h"
#include "launch/folder/cluster_kinds.h"
#include "launch/folder/script_parts.h"
#include "launch/folder/templates.h"
#include "launch/health/health.h"
#include "models/framework/strategy_words.h"
#include "text/sha256.h"

namespace trnplan::launch {

namespace {

constexpr std::size_t kNameLength = 40;
constexpr int kDefaultBucketMb = models::Strategy{}.bucket_mb;

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

bool plain_path(std::string_view text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_.-+@";
  return text.starts_with('/') && text.find_first_not_of(kPlain) == std::string_view::npos;
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

std::string cluster_name(const models::Job& job) {
  return ("trnplan-" + dns_name(job.architecture.name)).substr(0, kNameLength);
}

std::string pod_folder(const std::string& cluster) {
  return std::string(io::kSharedVolume) + "/trnplan/" + cluster;
}

std::string about(const ScriptContext& c) {
  return fmt::format(
      "# Plan: {}\n# Predicted: {:.1f} s a step ({:.1f} to {:.1f} s with 90 % confidence).\n# {}",
      models::strategy_words(c.plan.strategy), c.plan.report.step.value, c.plan.report.low.value,
      c.plan.report.high.value, c.target.support_on(c.job.cluster.instance.traits));
}

std::string comments(const std::vector<std::string>& remarks) {
  std::string text;
  for (const std::string& remark : remarks) text += "# " + remark + '\n';
  if (!text.empty()) text.pop_back();
  return text;
}

namespace {

/// Lines that export the variables of this plan alone; the last one without its end.
std::string environment(const ScriptContext& c, const planner::TrainCommand& command) {
  std::string text;
  const topology::Instance& instance = c.job.cluster.instance;
  const bool gpus = instance.traits.accelerator == topology::Accelerator::gpu;
  // GPUs: multinode_trainer.slurm of pytorch/torchtitan@b5bcd76; buffers and protocols are the AWS plugin's own choice.
  // NCCL handles networks other than EC2's.
  if (gpus && hosts_of_plan(c) > 1 && instance.nics > 0 && !instance.ec2_type.empty())
    text += "export FI_PROVIDER=efa FI_EFA_SET_CUDA_SYNC_MEMOPS=0\n";
  if (!gpus && hosts_of_plan(c) > 1)
    text += "export FI_PROVIDER=efa FI_EFA_USE_DEVICE_RDMA=1 FI_EFA_FORK_SAFE=1\n";
  if (instance.traits.logical_cores && instance.core.lnc == 1) {
    text += "export NEURON_LOGICAL_NC_CONFIG=1   # must agree with the compiler's --logical-nc-config\n";
  }
  if (c.plan.strategy.bucket_mb != kDefaultBucketMb) {
    text += fmt::format("export ALL_GATHER_REDUCE_SCATTER_BUCKET_CAP_MB={}   # NxD's own is {}\n",
                        c.plan.strategy.bucket_mb, kDefaultBucketMb);
  }
  for (const std::string& variable : command.environment) {
    const std::size_t equals = variable.find('=');
    // As in NxDT, a value that is already set takes precedence.
    text += fmt::format("export {0}=\"${{{0}:-{1}}}\"\n", variable.substr(0, equals),
                        variable.substr(equals + 1));
  }
  if (!text.empty()) text.pop_back();
  return text;
}

/// Words of the command, one per line except values of options. None of our arguments contains quotes, backticks
/// or backslashes.
std::string arguments(const planner::TrainCommand& command) {
  std::string text;
  for (std::size_t i = 0; i < command.arguments.size(); ++i) {
    const std::string& word = command.arguments[i];
    const bool value = !word.starts_with("--") && i > 0 && command.arguments[i - 1].starts_with("--") &&
                       command.arguments[i - 1].find('=') == std::string::npos;
    text += (value ? " \"" : " \\\n    \"") + word + '"';
  }
  return command.again.checkpoints.empty() ? text : text + " \\\n    \"${again[@]}\"";
}

/// Words of a bash array.
std::string array_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "\"" : " \"") + word + '"';
  return "(" + text + ")";
}

/// Lines of run() that set the words of a first start or of a later one; the last one without its end.
std::string again_lines(const planner::StartAgain& again) {
  if (again.checkpoints.empty()) return "";
  return fmt::format(
      "  # The program does not find out by itself whether there is a checkpoint to go on from.\n"
      "  local again={}\n"
      "  if compgen -G \"$results/{}\" >/dev/null; then again={}; fi",
      array_of(again.first), again.checkpoints, array_of(again.later));
}

std::string weights_line(const planner::TrainCommand& command) {
  if (command.weights_link.empty()) return "";
  return fmt::format("  ln -sfn -- \"$TRNPLAN_WEIGHTS\" \"$results/{}\"   # where the program looks for them",
                     command.weights_link);
}

/// Remarks of the command, and settings of the job without effect in it.
std::vector<std::string> remarks(const ScriptContext& c, const planner::TrainCommand& command) {
  std::vector<std::string> all = command.remarks;
  const std::vector<planner::PersonValue> asked = c.target.asked_for(c.job);
  const bool read = std::any_of(asked.begin(), asked.end(), [](const planner::PersonValue& v) {
    return v.stated == &models::RunFiles::tokenizer;
  });
  if (!c.job.run.tokenizer.empty() && !read)
    all.emplace_back("The job's tokenizer has no effect here: the data set is tokenised beforehand.");
  return all;
}

std::string reserved_ports(const planner::TrainCommand& command) {
  std::string text = fmt::to_string(command.port);
  for (const int port : command.reserved_ports) text += fmt::format(",{}", port);
  return text;
}

/// Lines that set the variables of a mode of node_run.sh, except the cache: $steps if the command uses it (an
/// orchestrator may read COMPILE and TRAIN_ITERS itself), and all others that differ between modes. The last line
/// has no end.
std::string mode_lines(const planner::TrainCommand& command, bool compiling) {
  std::string text;
  if (command.steps > 0) {
    text += compiling ? fmt::format("  steps={}\n", command.compile_steps)
                      : fmt::format("  steps=${{TRAIN_ITERS:-{}}}\n", command.steps);
  }
  for (const planner::ModeVariable& v : command.by_mode)
    text += fmt::format("  {}={}\n", v.name, compiling ? v.compiling : v.training);
  if (compiling) {
    for (const std::string& variable : command.compile_environment) text += "  export " + variable + "\n";
  }
  if (!text.empty()) text.pop_back();
  return text;
}

/// Words ' "${NAME:?fill in settings.env}"', one per name.
std::string asked_checks(const ScriptContext& c) {
  std::string text;
  const auto check = [&](const std::string& name) {
    text += fmt::format(" \"${{{}:?fill in settings.env}}\"", name);
  };
  if (c.target.reads_data(c.job)) check("TRNPLAN_DATA");
  for (const planner::PersonValue& v : c.target.asked_for(c.job)) check(v.name);
  return text;
}

/// Line of submit.sh, with an alternative fix at its end.
constexpr const char* kDataFault =
    "[[ -n \"$TRNPLAN_DATA\" && ( -e \"$TRNPLAN_DATA\" || -e \"$TRNPLAN_DATA.bin\" ) ]] || fault "
    "\"TRNPLAN_DATA ($TRNPLAN_DATA) does not exist\" \"set TRNPLAN_DATA in settings.env to the data "
    "set{}\"\n";

/// Lines of submit.sh that check the values that settings.env has to state.
std::string asked_faults(const ScriptContext& c) {
  std::string text;
  if (c.target.reads_data(c.job)) {
    const bool made = !c.target.preparation(c.job, c.plan.strategy).data_made.empty();
    text = fmt::format(kDataFault, made ? ", or make one: bash prepare.sh data" : "");
  }
  for (const planner::PersonValue& v : c.target.asked_for(c.job)) {
    text += fmt::format(
        "[[ -n \"${0}\"{1} ]] || fault \"{0} (${0}) is not {2}\" \"set {0} in settings.env\"\n", v.name,
        v.is_path ? fmt::format(" && -e \"${}\"", v.name) : "", v.is_path ? "there" : "set");
  }
  if (!text.empty()) text.pop_back();
  return text;
}

std::string exported(const std::vector<std::string>& variables) {
  std::string text = variables.empty() ? "" : "export";
  for (const std::string& variable : variables) text += " " + variable;
  return text;
}

std::string python_path(const planner::TrainCommand& command) {
  if (command.imports_plan) return "export PYTHONPATH=\"$plan${PYTHONPATH:+:$PYTHONPATH}\"";
  if (command.python_path.empty()) return "";
  return fmt::format("export PYTHONPATH=\"$TRNPLAN_CODE/{}${{PYTHONPATH:+:$PYTHONPATH}}\"",
                     command.python_path);
}

bool names_start(const planner::TrainCommand& command) {
  return std::any_of(command.arguments.begin(), command.arguments.end(),
                     [](const std::string& word) { return word.find("$start") != std::string::npos; });
}

constexpr const char* kCopyToLocalCache =
    "  # Looking up graphs on the shared file system stalls clusters of this size.\n"
    "  cache=$TRNPLAN_LOCAL_CACHE\n"
    "  mkdir -p \"$cache\"\n"
    "  cp -au -- \"$TRNPLAN_CACHE/.\" \"$cache/\"";

/// Rounds of pairs of nodes as words of a bash array: "0,1 2,3" "1,2 3,0".
std::string round_words(int nodes) {
  std::string text;
  for (const auto& round : pair_rounds(nodes)) {
    std::string pairs;
    for (const auto& [first, second] : round)
      pairs += fmt::format("{}{},{}", pairs.empty() ? "" : " ", first, second);
    text += fmt::format("{}\"{}\"", text.empty() ? "" : " ", pairs);
  }
  return text;
}

std::string sbatch(const ScriptContext& c, std::string_view script) {
  return filled(script, {{"model", plain_name(c.job.architecture.name)},
                         {"after", c.target.compiles_ahead() ? ", after compile.sbatch" : ""},
                         {"nodes", fmt::to_string(hosts_of_plan(c))},
                         {"about", about(c)}});
}

/// Program that is started on each device.
std::string started(const planner::TargetCode& code) {
  return code.module.empty() ? code.script : "-m " + code.module;
}

std::string starter_words(const planner::ProcessStarter& starter) {
  return std::string(starter.program) + (starter.words.empty() ? "" : " ") + std::string(starter.words);
}

std::string launcher(const planner::TrainCommand& command) {
  std::string text;
  for (const std::string& word : command.launcher) text += word + ' ';
  return text;
}

}  // namespace

bool has_health(const ScriptContext& c) {
  return c.target.compiles_ahead() ||
         (c.job.cluster.instance.traits.accelerator == topology::Accelerator::gpu &&
          cluster_kinds(c.job.cluster.instance, c.target, c.job.run.scheduler).slurm);
}

std::string run_identity(const ScriptContext& c) {
  models::Job job = c.job;
  job.architecture.name = "model";  // the name does not change the training, and may hold anything
  const planner::TrainCommand command = c.target.command(job, c.plan.strategy);
  Sha256 all;
  const models::Architecture& m = job.architecture;
  for (const std::int64_t size :
       {std::int64_t{m.layers}, std::int64_t{m.hidden}, std::int64_t{m.intermediate}, std::int64_t{m.heads},
        std::int64_t{m.kv_heads}, std::int64_t{m.vocabulary}, std::int64_t{m.experts}})
    all.add(fmt::format("{}\n", size));
  for (const std::string& word : command.arguments) all.add(word + '\n');
  for (const std::string& variable : command.environment) all.add(variable + '\n');
  for (const planner::ModeVariable& v : command.by_mode) all.add(v.name + '=' + v.training + '\n');
  for (const planner::ConfigFile& f : c.target.emit(job, c.plan.strategy, {})) all.add(f.text);
  return fmt::format("{}, {}, batch {}, {}", c.target.name(), describe(c.plan.strategy),
                     job.training.global_batch, all.digits().substr(0, 16));
}

namespace {

/// Lines by which the hosts of a node find each other; "" if a node is one host.
std::string join_lines(const ScriptContext& c) {
  const topology::Instance& machine = machine_of(c);
  if (machine.hosts == 1) return "";
  return filled("join_hosts.sh", {{"hosts", fmt::to_string(machine.hosts)},
                                  {"mode", fmt::to_string(machine.ultraserver_mode)},
                                  {"machine", plain_name(machine.name)},
                                  // torchrun's own rendezvous would number the hosts by their addresses.
                                  {"numbered", c.target.compiles_ahead() ? "" : "numbered=1"}});
}

}  // namespace

std::string node_run_sh(const ScriptContext& c) {
  const planner::TargetCode code = c.target.code_for(c.job, c.plan.strategy);
  const planner::TrainCommand command = c.target.command(c.job, c.plan.strategy);
  return filled(form_of(c, "node_run.sh", "eager_node_run.sh"),
                {{"about", about(c)},
                 {"nodes", fmt::to_string(hosts_of_plan(c))},
                 {"join", join_lines(c)},
                 {"port", fmt::to_string(command.port)},
                 {"asked", asked_checks(c)},
                 {"fixed", exported(command.fixed)},
                 {"python_path", python_path(command)},
                 {"start", names_start(command) ? "start=$(date -u +%Y%m%d-%H%M%S)" : ""},
                 {"identity", run_identity(c)},
                 {"remarks", comments(remarks(c, command))},
                 {"environment", environment(c, command)},
                 {"folder", code.folder},
                 {"cores", fmt::to_string(machine_of(c).host_cores())},
                 {"starter", starter_words(c.target.starter())},
                 {"launcher", launcher(command)},
                 {"script", started(code)},
                 {"arguments", arguments(command)},
                 {"again", again_lines(command.again)},
                 {"weights", weights_line(command)},
                 {"reserved_ports", reserved_ports(command)},
                 {"compile_mode", mode_lines(command, true)},
                 {"train_mode", mode_lines(command, false)},
                 {"local_cache", local_cache(c) ? kCopyToLocalCache : ""}});
}

std::string health_sh(const ScriptContext& c) {
  const bool joined = machine_of(c).hosts > 1;
  return filled(
      form_of(c, "health.sh", "eager_health.sh"),
      {{"about", about(c)},
       {"nodes", fmt::to_string(hosts_of_plan(c))},
       {"cores", fmt::to_string(machine_of(c).host_cores())},
       {"pairs",
        joined ? "No pairs: the links between the hosts of a node are not predicted for two hosts alone."
               : "Disjoint pairs of nodes, one round each."},
       {"rounds", joined ? "" : round_words(c.plan.nodes)},
       {"port", fmt::to_string(kMasterPort)},
       {"instance", plain_name(c.job.cluster.instance.name)}});
}

std::string mpi_launch_sh(const ScriptContext& c) {
  const bool joined = machine_of(c).hosts > 1;
  return filled(
      "mpi_launch.sh",
      {{"about", about(c)},
       {"nodes", fmt::to_string(hosts_of_plan(c))},
       {"start",
        joined ? "TRNPLAN_START=$(date +%s)-$RANDOM   # under which its hosts meet\nexport TRNPLAN_START"
               : ""},
       {"passed", joined ? "-x TRNPLAN_START " : ""}});
}

std::string compile_sbatch(const ScriptContext& c) {
  return sbatch(c, "compile.sbatch");
}

std::string train_sbatch(const ScriptContext& c) {
  return sbatch(c, "train.sbatch");
}

std::string submit_sh(const ScriptContext& c) {
  const planner::TargetCode code = c.target.code_for(c.job, c.plan.strategy);
  return filled(form_of(c, "submit.sh", "eager_submit.sh"),
                {{"about", about(c)},
                 {"folder", code.folder},
                 {"script", code.script},
                 {"program", std::string(c.target.starter().program)},
                 {"clone", code.clone},
                 {"asked", asked_faults(c)},
                 {"identity", run_identity(c)},
                 {"nodes", fmt::to_string(hosts_of_plan(c))},
                 {"machine", io::machine_type(c.job.cluster.instance)}});
}

}  // namespace trnplan::launch
