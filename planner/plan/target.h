// What trains a plan: a stack of software with its config or flags. The planner asks through this interface;
// the rooms of targets/ implement it, and targets/registry.h lists them.
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

/// Where a target's own program lies.
struct TargetCode {
  std::string clone;   ///< the repository to clone
  std::string folder;  ///< within the clone, where the script is started
  std::string script;
  std::string module;  ///< as which Python starts that file: "torchtitan.train"; "" = as a script
};

/// A variable of node_run.sh that has one value while graphs are collected and another in training.
struct ModeVariable {
  std::string name, compiling, training;
};

/// What only a person knows, beside the environment, the clone and the data set that every target needs: a
/// variable of settings.env.
struct PersonValue {
  std::string name;                                 ///< "TRNPLAN_TOKENIZER"
  std::string meaning;                              ///< one sentence, a comment above it
  bool is_path = true;                              ///< of something that is there
  std::string models::RunFiles::*stated = nullptr;  ///< where a job may state it
};

/// How a start that goes on differs from the first, for a script that does not find out by itself: words behind
/// the others.
struct StartAgain {
  std::string checkpoints;                ///< pattern of names in $results; "" = every start is alike
  std::vector<std::string> first, later;  ///< where none is there, and where one is
};

/// What is done once before a plan runs: lines of a shell script that has the variables of settings.env. Empty
/// where the target's publisher gives no such commands for the job.
struct Preparation {
  std::string tag;     ///< of the clone that is checked out; "" = as it comes
  std::string python;  ///< the interpreter that the versions are for: "python3.12"
  std::string image;   ///< of AWS's deep learning containers, without its registry
  /// Modules of the software, where the image may hold all of it for its own Python: a Python that finds them is taken as it is,
  /// and nothing is installed.
  std::vector<std::string> modules;
  std::vector<std::string> install;    ///< into the environment, which is active, beside the clone
  std::vector<std::string> tokenizer;  ///< fetches the model's tokenizer alone
  std::vector<std::string> data;       ///< fetches and tokenises a data set, in a scratch folder
  std::string data_made;  ///< what TRNPLAN_DATA is then, "./..." in the folder; "" = the lines say it
  std::string data_is;    ///< what TRNPLAN_DATA has to be, one sentence; "" = a data set
  std::vector<PersonValue> values;   ///< that these lines need and the run does not; in settings.env
  std::vector<std::string> from_hf;  ///< a checkpoint of Hugging Face at $from into shards below $to
  std::vector<std::string> to_hf;    ///< shards at $from into a checkpoint at $to
  std::vector<std::string> remarks;  ///< a sentence each
};

/// What a target does where a job leaves it open.
struct TargetDefaults {
  models::Precision precision = models::Precision::mixed_precision;
  bool zero1 = true;                  ///< shards the optimizer's state
  bool dropout = false;               ///< on attention probabilities, whatever config.json says
  std::int64_t checkpoints_kept = 2;  ///< of a run; models::kAllCheckpoints = none is removed
};

/// What a command or config writes of learning where it comes from a recipe of the target's own.
struct WrittenLearning {
  double peak_rate = 0;           ///< of learning
  std::int64_t warmup_steps = 0;  ///< until it is reached
  std::string source;             ///< of the recipe: repository, commit and path; "" = not told
};

/// How the script is started. Arguments are words of a bash array. A word may use $plan (the folder of the
/// plan), $results (logs and checkpoints), $steps (how many to run: few while compiling or in a smoke test),
/// $start (another word at every start), $TRNPLAN_DATA, $cache, those of `by_mode` and of asked(),
/// always in double quotes.
struct TrainCommand {
  std::vector<std::string> arguments;
  std::int64_t steps = 0;  ///< of the whole training, where $steps is used; 0: the target counts them itself
  WrittenLearning learning;
  /// Variables, as NAME=value, that the target's own shell script would export; empty where a config holds
  /// them. What is set already goes first.
  std::vector<std::string> environment;
  /// Variables, as NAME=value, of the host's processes; they hold whatever is set already.
  std::vector<std::string> fixed = {"HYDRA_FULL_ERROR=1", "MALLOC_ARENA_MAX=128",
                                    "XLA_DISABLE_FUNCTIONALIZATION=0"};
  /// Variables, as NAME=value, only while graphs are collected.
  std::vector<std::string> compile_environment;
  std::int64_t compile_steps = 10;    ///< in which every graph is met, where $steps is used
  int port = 41000;                   ///< where ranks meet
  std::vector<int> reserved_ports;    ///< others that nothing else of the node may take
  std::vector<std::string> launcher;  ///< further words of Target::starter()
  std::string python_path;    ///< a folder within the clone whose modules the script imports; "" = none
  bool imports_plan = false;  ///< it imports a module of the plan's folder
  std::vector<ModeVariable> by_mode;
  StartAgain again;
  /// Name in $results under which the script looks for $TRNPLAN_WEIGHTS; "" = it is told or needs none.
  std::string weights_link;
  /// What the script does otherwise than its flags say, a sentence each: comments above the command.
  std::vector<std::string> remarks;
};

/// What starts a process on every device of a host: a program of the Python environment, and what it is told first.
struct ProcessStarter {
  std::string_view program, words = {};
};
inline constexpr ProcessStarter kTorchrun{"torchrun"};
/// The same where the environment sees the PyTorch of its image and so has no program of that name.
inline constexpr ProcessStarter kTorchrunModule{"python3", "-m torch.distributed.run"};

/// A config file of the target, as text.
struct ConfigFile {
  std::string name, text;
  /// Of a script: on how many hosts it is started, as the caller has it; 0 = not known. And variables of the environment
  /// that it is started in.
  int hosts = 0;
  std::map<std::string, std::string, std::less<>> environment = {};
};

/// What a config file is written for.
struct ConfigUse {
  std::string heading;          ///< one line, put at the top as a comment, below the software it needs
  bool log_every_step = false;  ///< for short runs that are measured
};

/// What a config of the target describes.
struct ConfigReading {
  models::Training training;
  models::Strategy strategy;
  int nodes = 1;  ///< hosts, of which a node of the catalogue may be several
  int ranks_per_node = 1;
  models::Software software;              ///< that it is written for
  std::vector<std::string> not_modelled;  ///< features the simulator does not cover: "mixture of experts"
  /// Why the memory that is predicted is more than the run's, a clause; "" = it is the run's.
  std::string loose_memory;
};

/// What a run's own words describe: a config, or the script or line that starts it.
struct RunReading {
  models::Architecture architecture;  ///< vocabulary 0: only the tokenizer knows it
  ConfigReading config;
  std::vector<std::string> notes;  ///< a sentence each
  /// In words what the file is of, where no such model is modelled: "a TorchTitan config of flux, an image model". Then
  /// nothing else is read.
  std::string unmodelled;
};

/// What a framework refuses of a file at its start, before the first step.
struct StartFault {
  std::string rule;  ///< an id of api/rules
  std::string name;  ///< of the one assertion, of which a word may have several
  Diagnostic what;
  std::string source;     ///< of the assertion: repository, commit and path
  bool doubtful = false;  ///< it runs, but not as the file says
  /// Refused, but there is one thing that it can mean, as which read_run() takes it.
  bool understood = false;
};

/// A key of a file, and where it stands.
struct KeyPlace {
  std::string key;
  SourcePos at;
};

/// Objects without state; all functions may be called from any thread.
class Target {
 public:
  virtual ~Target() = default;

  /// One word, as --target and plan.json have it: "nxdt".
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Versions that run it and how long they are supported, one line; on one machine, where they differ between machines.
  [[nodiscard]] virtual std::string support() const = 0;
  [[nodiscard]] virtual std::string support_on(const topology::Traits&) const { return support(); }
  /// The row of catalog/neuron-releases.json that says which release it is run on and until when that is published; "" = none.
  [[nodiscard]] virtual std::string_view neuron_stack() const { return ""; }
  /// As readers of logs name the stack of a run that prints its output (logs::StepSample::framework).
  [[nodiscard]] virtual std::string_view log_format() const = 0;

  /// Whose training loop its script runs: a name of models/framework, "" = NxD's. Of the targets for a machine that is the
  /// one of a plan that names none.
  [[nodiscard]] virtual std::string_view framework() const { return ""; }
  /// Every training loop that its config can say, that one first: names of models/framework.
  [[nodiscard]] virtual std::vector<std::string_view> loops() const { return {framework()}; }
  /// Release of the Neuron SDK whose packages its folders pin for a job: the one that the job states, else that of its neuron_stack();
  /// "" = its folders pin none.
  [[nodiscard]] virtual std::string neuron_release(const models::Job& job) const;
  /// Its graphs are collected and compiled by a job before the one that trains; else there is no such job, and nothing of
  /// a folder is about graphs.
  [[nodiscard]] virtual bool compiles_ahead() const { return true; }
  /// PyTorch for the devices comes with the image or the node: the environment sees the packages of the Python that it is
  /// made with, and is of no use where those lack PyTorch.
  [[nodiscard]] virtual bool system_torch() const { return false; }
  /// What starts its ranks.
  [[nodiscard]] ProcessStarter starter() const { return system_torch() ? kTorchrunModule : kTorchrun; }
  /// Steps and learning rates that a job leaves open come from a recipe that is shipped with it, not from the published
  /// training of the model.
  [[nodiscard]] virtual bool has_own_recipe() const { return false; }

  /// It trains on such machines. On others a plan is not for it, and its rules and words do not hold.
  [[nodiscard]] virtual bool trains_on(const topology::Traits& machine) const {
    return machine.accelerator == topology::Accelerator::neuron_core;
  }

  /// Every rule of the target's own that the strategy breaks: what neither config nor flags can say, with
  /// what to write in the job instead. Rules of planner/check/rules.h are not
  /// among them. Cost: microseconds.
  [[nodiscard]] virtual std::vector<Violation> violations(const models::Job& job,
                                                          const models::Strategy& strategy) const = 0;

  /// There are no violations. Cost: nanoseconds for a target whose own this is; a search asks it of every strategy.
  [[nodiscard]] virtual bool expresses(const models::Job& job, const models::Strategy& strategy) const {
    return violations(job, strategy).empty();
  }

  /// Rules about numbers that the target has of its own beside those of planner/check/rules.h, by ids of
  /// api/rules. Cost: less than a microsecond where none is broken.
  [[nodiscard]] virtual std::vector<Violation> rules(const models::Job&, const models::Strategy&) const {
    return {};
  }

  [[nodiscard]] virtual TargetCode code() const = 0;
  [[nodiscard]] virtual TargetDefaults defaults() const { return {}; }
  /// What its command may take from settings.env besides what every target needs, and what it takes for a job.
  [[nodiscard]] virtual std::vector<PersonValue> asked() const { return {}; }
  [[nodiscard]] virtual std::vector<PersonValue> asked_for(const models::Job&) const { return asked(); }
  /// Its command takes $TRNPLAN_DATA; else it fetches a data set by itself, and nobody is asked for one.
  [[nodiscard]] virtual bool reads_data(const models::Job&) const { return true; }
  /// The script that a strategy needs, where the clone has several. Requires: no violations.
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

  /// Names of the config files that the script reads besides config.json of the model; none for a script of
  /// flags.
  [[nodiscard]] virtual std::vector<std::string> config_names() const { return {}; }
  /// Those files. Requires: no violations.
  [[nodiscard]] virtual std::vector<ConfigFile> emit(const models::Job&, const models::Strategy&,
                                                     const ConfigUse&) const {
    return {};
  }
  /// Words by which a script or a program of Python is known to be one of this target's: the names of what it starts.
  [[nodiscard]] virtual std::vector<std::string_view> programs() const { return {}; }
  /// Whether a document is a config of this target.
  [[nodiscard]] virtual bool recognises(const Node&) const { return false; }
  /// What such a document describes, for a model of that architecture. Throws InputError where it cannot be
  /// read; nullopt for a target without config files.
  [[nodiscard]] virtual std::optional<ConfigReading> interpret(const Node&,
                                                               const models::Architecture&) const {
    return std::nullopt;
  }
  /// What a file of the target describes on so many ranks: its config, or the script or line that starts it. `model`: what the
  /// config.json beside it says, for programs that read one; nullptr where none is there. Throws InputError with every fault
  /// of it; nullopt for a target that has no such reader.
  [[nodiscard]] virtual std::optional<RunReading> read_run(const ConfigFile&, int /*ranks*/,
                                                           const models::Architecture* /*model*/) const {
    return std::nullopt;
  }
  [[nodiscard]] std::optional<RunReading> read_run(const ConfigFile& file, int ranks) const {
    return read_run(file, ranks, nullptr);
  }
  /// What the framework refuses at its start of a file that read_run() takes, on such machines. Throws InputError where the
  /// file is none of the target.
  [[nodiscard]] virtual std::vector<StartFault> start_faults(const ConfigFile&,
                                                             const topology::Cluster&) const {
    return {};
  }
  /// The key of such a file that a rule of strategies is about.
  [[nodiscard]] virtual KeyPlace place_of(const ConfigFile& file, std::string_view /*rule*/) const {
    return {"", {file.name, 0, 0}};
  }
  /// On how many nodes, that is hosts, the launch line in a file that read_run() takes starts its ranks; nullopt where it has none, or
  /// says so by something that only the shell knows.
  [[nodiscard]] virtual std::optional<int> nodes_of(const ConfigFile&) const { return std::nullopt; }
};

/// The release whose packages a folder pins: Target::neuron_release() or, where the catalogue lacks it, the nearest; nullptr
/// where none is pinned. It is the job's, and lives as long.
[[nodiscard]] const models::NeuronRelease* pinned_release(const Target& target, const models::Job& job);

/// That another release is pinned than the one asked for, a sentence; "" where it is the one.
[[nodiscard]] std::string release_doubt(const Target& target, const models::Job& job);

/// That what the target needs is published no longer, and what follows it on such a machine: a sentence; "" while it is.
[[nodiscard]] std::string ending_of(const Target& target, const topology::Traits& machine,
                                    const models::NeuronReleases& known);

/// Something that keeps the target from training the strategy is mended by no other strategy: no fix goes with it.
[[nodiscard]] bool beyond_mending(const Target& target, const models::Job& job,
                                  const models::Strategy& strategy);

/// All that keeps the target from training the strategy, with what to write in the job, or that nothing would help;
/// nullopt: nothing.
[[nodiscard]] std::optional<std::string> inexpressible(const Target& target, const models::Job& job,
                                                       const models::Strategy& strategy);

}  // namespace trnplan::planner
