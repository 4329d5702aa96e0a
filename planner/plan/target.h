// Software that trains a plan: a stack with its config or flags. The planner asks through this interface; the
// rooms of targets/ implement it, and targets/registry.h lists them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/job/job.h"
#include "models/job/strategy.h"
#include "planner/plan/plan.h"
#include "text/diagnostic.h"
#include "text/document.h"

namespace trnplan::planner {

/// Place of a target's own program.
struct TargetCode {
  std::string clone;   ///< the repository to clone
  std::string folder;  ///< folder within the clone in which the script is started
  std::string script;
  std::string module;  ///< as which Python starts that file: "torchtitan.train"; "" = as a script
};

/// Variable of node_run.sh with one value while graphs are collected and another in training.
struct ModeVariable {
  std::string name, compiling, training;
};

/// Variable of settings.env with a value that only a person knows, besides the environment, the clone and the
/// data set that every target needs.
struct PersonValue {
  std::string name;                                 ///< "TRNPLAN_TOKENIZER"
  std::string meaning;                              ///< one sentence, the comment above the variable
  bool is_path = true;                              ///< path of an existing file or folder
  std::string models::RunFiles::*stated = nullptr;  ///< member by which a job may state it
};

/// Words behind the others that distinguish a resumed start from the first one, for a script that does not
/// detect it.
struct StartAgain {
  std::string checkpoints;                ///< pattern of names in $results; "" = all starts are the same
  std::vector<std::string> first, later;  ///< words without, and with, such a checkpoint
};

/// Steps before the first run of a plan: lines of a shell script that has the variables of settings.env.
/// Empty if the target's publisher gives no such commands for the job.
struct Preparation {
  std::string tag;     ///< tag of the clone that is checked out; "" = the default
  std::string python;  ///< the interpreter that the versions are for: "python3.12"
  std::string image;   ///< name among AWS's deep learning containers, without its registry
  /// Modules of the software, if the image may hold all of it for its own Python: a Python that finds them is
  /// used as it is, and nothing is installed.
  std::vector<std::string> modules;
  std::vector<std::string> install;    ///< for the active environment, in addition to the clone
  std::vector<std::string> tokenizer;  ///< fetches only the model's tokenizer
  std::vector<std::string> data;       ///< fetches and tokenises a data set, in a scratch folder
  std::string data_made;             ///< resulting TRNPLAN_DATA, "./..." in the folder; "" = the lines say it
  std::string data_is;               ///< meaning of TRNPLAN_DATA, one sentence; "" = a data set
  std::vector<PersonValue> values;   ///< needed by these lines but not by the run; in settings.env
  std::vector<std::string> from_hf;  ///< converts a checkpoint of Hugging Face at $from into shards below $to
  std::vector<std::string> to_hf;    ///< converts shards at $from into a checkpoint at $to
  std::vector<std::string> remarks;  ///< one sentence each
};

/// Defaults of a target for values that a job leaves open.
struct TargetDefaults {
  models::Precision precision = models::Precision::mixed_precision;
  bool zero1 = true;                  ///< shards the optimizer's state
  bool dropout = false;               ///< on attention probabilities, whatever config.json says
  std::int64_t checkpoints_kept = 2;  ///< number kept per run
};

/// Learning settings of a command or config if they come from a recipe of the target's own.
struct WrittenLearning {
  double peak_rate = 0;           ///< peak learning rate
  std::int64_t warmup_steps = 0;  ///< steps until it is reached
  std::string source;             ///< of the recipe: repository, commit and path; "" = not known
};

/// Start of the script. Arguments are words of a bash array. A word may use $plan (the folder of the plan),
/// $results (logs and checkpoints), $steps (how many to run: few while compiling or in a smoke test), $start
/// (another word at every start), $TRNPLAN_DATA, $cache, those of `by_mode` and of asked(), always in double
/// quotes.
struct TrainCommand {
  std::vector<std::string> arguments;
  std::int64_t steps = 0;  ///< of the whole training, if $steps is used; 0: the target counts them itself
  WrittenLearning learning;
  /// Variables, as NAME=value, that the target's own shell script would export; empty if a config holds them.
  /// A value that is already set has priority.
  std::vector<std::string> environment;
  /// Variables, as NAME=value, of the host's processes; they override values that are already set.
  std::vector<std::string> fixed = {"HYDRA_FULL_ERROR=1", "MALLOC_ARENA_MAX=128",
                                    "XLA_DISABLE_FUNCTIONALIZATION=0"};
  /// Variables, as NAME=value, that are set only while graphs are collected.
  std::vector<std::string> compile_environment;
  std::int64_t compile_steps = 10;    ///< steps that meet every graph, if $steps is used
  int port = 41000;                   ///< rendezvous port of the ranks
  std::vector<int> reserved_ports;    ///< further ports that nothing else on the node may take
  std::vector<std::string> launcher;  ///< further words of Target::starter()
  std::string python_path;    ///< folder within the clone with modules that the script imports; "" = none
  bool imports_plan = false;  ///< it imports a module of the plan's folder
  std::vector<ModeVariable> by_mode;
  StartAgain again;
  /// Name in $results under which the script looks for $TRNPLAN_WEIGHTS; "" = the script gets it otherwise or
  /// needs none.
  std::string weights_link;
  /// Differences between the script's behaviour and its flags, one sentence each: comments above the command.
  std::vector<std::string> remarks;
};

/// Program that starts a process on every device of a host: a program of the Python environment, and its
/// first arguments.
struct ProcessStarter {
  std::string_view program, words = {};
};
inline constexpr ProcessStarter kTorchrun{"torchrun"};
/// torchrun if the environment sees the PyTorch of its image and so has no program of that name.
inline constexpr ProcessStarter kTorchrunModule{"python3", "-m torch.distributed.run"};

/// A config file of the target, as text.
struct ConfigFile {
  std::string name, text;
  /// Start of a script: the number of hosts on which the caller starts it, 0 = not known, and variables of
  /// the environment.
  int hosts = 0;
  std::map<std::string, std::string, std::less<>> environment = {};
};

/// Options for writing a config file.
struct ConfigUse {
  std::string heading;          ///< one line, a comment at the top, below the software it needs
  bool log_every_step = false;  ///< for short runs that are measured
};

/// Contents of a target's config.
struct ConfigReading {
  models::Training training;
  models::Strategy strategy;
  int nodes = 1;  ///< hosts, of which a node of the catalogue may be several
  int ranks_per_node = 1;
  models::Software software;              ///< stack for which it is written
  std::vector<std::string> not_modelled;  ///< features the simulator does not cover: "mixture of experts"
};

/// Contents of a run's own files: a config, or the script or line that starts it.
struct RunReading {
  models::Architecture architecture;  ///< vocabulary 0: only the tokenizer knows it
  ConfigReading config;
  std::vector<std::string> notes;  ///< one sentence each
  std::vector<Diagnostic> doubts;  ///< settings that may be misspelt
  std::size_t not_judged = 0;      ///< settings that nothing is known of, those of `doubts` included
  /// Words for the file's model if no such model is modelled: "a TorchTitan config of flux, an image model".
  /// Then nothing else is read.
  std::string unmodelled;
};

/// Fault of a file that a framework refuses at its start, before the first step.
struct StartFault {
  std::string rule;  ///< an id of api/rules
  std::string name;  ///< name of one assertion, of which a rule may have several
  Diagnostic what;
  std::string source;     ///< of the assertion: repository, commit and path
  bool doubtful = false;  ///< it runs, but not as the file says
  /// True if it is refused but can mean only one thing; read_run() reads it as that.
  bool understood = false;
};

/// A key of a file, and its position.
struct KeyPlace {
  std::string key;
  SourcePos at;
};

/// Settings of a target's own config against a failure, as advice; "" where there are none.
struct TargetAdvice {
  std::string_view host_memory;  ///< the host's memory is too small
  std::string_view time_limit;   ///< a graph takes longer than it may
};

/// Objects without state; all functions may be called from any thread.
class Target {
 public:
  virtual ~Target() = default;

  /// One word, as in --target and plan.json: "nxdt".
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Supported versions and their end of support, one line; support_on() is for one machine, if they differ
  /// between machines.
  [[nodiscard]] virtual std::string support() const = 0;
  [[nodiscard]] virtual std::string support_on(const topology::Traits&) const { return support(); }
  /// The row of catalog/neuron-releases.json with the release on which the target runs and the end of its
  /// publication; "" = none.
  [[nodiscard]] virtual std::string_view neuron_stack() const { return ""; }
  /// Name that readers of logs give to the stack of a run that prints its output
  /// (logs::StepSample::framework).
  [[nodiscard]] virtual std::string_view log_format() const = 0;

  /// Training loop that its script runs: a name of models/framework, "" = NxD's. A plan for the target that
  /// names no loop gets this one, on a machine on which the target trains.
  [[nodiscard]] virtual std::string_view framework() const { return ""; }
  /// Every training loop that its config can select, framework() first: names of models/framework.
  [[nodiscard]] virtual std::vector<std::string_view> loops() const { return {framework()}; }
  /// Release of the Neuron SDK with the packages that its folders pin for a job: the one that the job states,
  /// else that of its neuron_stack(); "" = its folders pin none.
  [[nodiscard]] virtual std::string neuron_release(const models::Job& job) const;
  /// True if a job collects and compiles its graphs before the one that trains; otherwise there is no such
  /// job, and nothing in a folder is about graphs.
  [[nodiscard]] virtual bool compiles_ahead() const { return true; }
  /// True if PyTorch for the devices comes with the image or the node: the environment sees the packages of
  /// the Python that made it, and is of no use if those lack PyTorch.
  [[nodiscard]] virtual bool system_torch() const { return false; }
  /// Program that starts its ranks.
  [[nodiscard]] ProcessStarter starter() const { return system_torch() ? kTorchrunModule : kTorchrun; }
  /// True if steps and learning rates that a job leaves open come from a recipe shipped with the target, not
  /// from the published training of the model.
  [[nodiscard]] virtual bool has_own_recipe() const { return false; }

  [[nodiscard]] virtual TargetAdvice advice() const { return {}; }

  /// True if it trains on such machines. On others a plan is not for it, and its rules and words do not
  /// apply.
  [[nodiscard]] virtual bool trains_on(const topology::Traits& machine) const {
    return machine.accelerator == topology::Accelerator::neuron_core;
  }
  /// True if it trains encoders, whose tokens also see those after them; else it trains causal decoders.
  [[nodiscard]] virtual bool trains_encoders() const { return false; }

  /// Every rule of the target's own that the strategy breaks: settings that neither config nor flags can
  /// express, with the fix for the job. Rules of planner/check/rules.h are not among them. Cost:
  /// microseconds.
  [[nodiscard]] virtual std::vector<Violation> violations(const models::Job& job,
                                                          const models::Strategy& strategy) const = 0;

  /// True if there are no violations. Cost: nanoseconds for a target with a function of its own; a search
  /// calls it for every strategy.
  [[nodiscard]] virtual bool expresses(const models::Job& job, const models::Strategy& strategy) const {
    return violations(job, strategy).empty();
  }

  /// Rules about numbers that the target has in addition to those of planner/check/rules.h, by ids of
  /// api/rules. Cost: less than a microsecond if none is broken.
  [[nodiscard]] virtual std::vector<Violation> rules(const models::Job&, const models::Strategy&) const {
    return {};
  }

  [[nodiscard]] virtual TargetCode code() const = 0;
  [[nodiscard]] virtual TargetDefaults defaults() const { return {}; }
  /// Values that its command may take from settings.env besides those of every target; asked_for() returns
  /// those for a job.
  [[nodiscard]] virtual std::vector<PersonValue> asked() const { return {}; }
  [[nodiscard]] virtual std::vector<PersonValue> asked_for(const models::Job&) const { return asked(); }
  /// True if its command takes $TRNPLAN_DATA; otherwise it fetches a data set itself, and nobody is asked for
  /// one.
  [[nodiscard]] virtual bool reads_data(const models::Job&) const { return true; }
  /// The script that a strategy needs, if the clone has several. Requires: no violations.
  [[nodiscard]] virtual TargetCode code_for(const models::Job&, const models::Strategy&) const {
    return code();
  }
  /// Requires: no violations.
  [[nodiscard]] virtual TrainCommand command(const models::Job& job,
                                             const models::Strategy& strategy) const = 0;

  /// Requires: no violations.
  [[nodiscard]] virtual Preparation preparation(const models::Job&, const models::Strategy&) const {
    return {};
  }

  /// Names of the config files that the script reads besides config.json of the model; empty for a script
  /// with flags only.
  [[nodiscard]] virtual std::vector<std::string> config_names() const { return {}; }
  /// Contents of those files. Requires: no violations.
  [[nodiscard]] virtual std::vector<ConfigFile> emit(const models::Job&, const models::Strategy&,
                                                     const ConfigUse&) const {
    return {};
  }
  /// Words that identify a script or a Python program of this target: the names of the programs it starts.
  [[nodiscard]] virtual std::vector<std::string_view> programs() const { return {}; }
  /// True if a document is a config of this target.
  [[nodiscard]] virtual bool recognises(const Node&) const { return false; }
  /// Reads such a document, for a model of that architecture. Throws InputError if it cannot be read; nullopt
  /// for a target without config files.
  [[nodiscard]] virtual std::optional<ConfigReading> interpret(const Node&,
                                                               const models::Architecture&) const {
    return std::nullopt;
  }
  /// Reads a file of the target for a run on so many ranks: its config, or the script or line that starts it.
  /// `model`: the contents of the config.json next to it, for programs that read one; nullptr if there is
  /// none. Throws InputError with every fault of the file; nullopt for a target without such a reader.
  [[nodiscard]] virtual std::optional<RunReading> read_run(const ConfigFile&, int /*ranks*/,
                                                           const models::Architecture* /*model*/) const {
    return std::nullopt;
  }
  [[nodiscard]] std::optional<RunReading> read_run(const ConfigFile& file, int ranks) const {
    return read_run(file, ranks, nullptr);
  }
  /// Faults for which the framework, at its start on such machines, refuses a file that read_run() takes.
  /// Throws InputError if the file is none of the target's.
  [[nodiscard]] virtual std::vector<StartFault> start_faults(const ConfigFile&,
                                                             const topology::Cluster&) const {
    return {};
  }
  /// The key of such a file to which a rule on strategies refers.
  [[nodiscard]] virtual KeyPlace place_of(const ConfigFile& file, std::string_view /*rule*/) const {
    return {"", {file.name, 0, 0}};
  }
  /// Number of nodes, that is hosts, on which the launch line in a file that read_run() takes starts its
  /// ranks; nullopt if the file has no such line, or if only the shell knows the number.
  [[nodiscard]] virtual std::optional<int> nodes_of(const ConfigFile&) const { return std::nullopt; }
};

/// The release with the packages that a folder pins: Target::neuron_release() or, if the catalogue lacks it,
/// the nearest; nullptr if none is pinned. It belongs to the job, and lives as long.
[[nodiscard]] const models::NeuronRelease* pinned_release(const Target& target, const models::Job& job);

/// Sentence that says that another release than the requested one is pinned; "" if it is the same.
[[nodiscard]] std::string release_doubt(const Target& target, const models::Job& job);

/// Sentence that says that the target's software is no longer published, and what replaces it on such a
/// machine; "" while it is published.
[[nodiscard]] std::string ending_of(const Target& target, const topology::Traits& machine,
                                    const models::NeuronReleases& known);

/// True if no other strategy removes the obstacle that keeps the target from training the strategy: there is
/// no fix.
[[nodiscard]] bool beyond_mending(const Target& target, const models::Job& job,
                                  const models::Strategy& strategy);

/// All obstacles that keep the target from training the strategy, with the fix for the job, or that nothing
/// would help; nullopt: none.
[[nodiscard]] std::optional<std::string> inexpressible(const Target& target, const models::Job& job,
                                                       const models::Strategy& strategy);

}  // namespace trnplan::planner
