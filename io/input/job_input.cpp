#include "io/input/job_input.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "io/input/instance_names.h"
#include "io/input/job_sections.h"
#include "io/input/measured_network.h"
#include "io/input/plan_file.h"
#include "targets/nxdt/nxdt_yaml.h"
#include "targets/registry.h"
#include "text/figures.h"
#include "text/parse.h"
#include "text/remarks.h"
#include "topology/traits.h"

namespace trnplan::io {

namespace {

/// "repository@commit:path" as two words, since one is wider than a terminal.
std::string in_two_words(std::string source) {
  const std::size_t at = source.find('@'), colon = source.find(':', at == std::string::npos ? 0 : at);
  if (at != std::string::npos && colon != std::string::npos) source.insert(colon + 1, " ");
  return source;
}

/// Word in job_from()'s notes on the strategy of an NxDT YAML.
constexpr std::string_view kPinned = " pinned";

namespace fs = std::filesystem;

/// An option, and the key of the job that it states.
struct Stated {
  const char* option;   ///< "" for what no user states
  const char* section;  ///< "" for the top level
  const char* key;
  std::string JobOptions::*text;
  bool list = false;  ///< commas separate values

  std::string path() const { return *section == '\0' ? key : std::string(section) + "." + key; }
};
constexpr std::array<Stated, 14> kStated = {
    {{"--instance", "cluster", "instance", &JobOptions::instance, true},
     {"--nodes", "cluster", "nodes", &JobOptions::nodes, true},
     {"--all-reduce-gbps", "cluster", "all_reduce_gbps", &JobOptions::all_reduce},
     {"--measured", "cluster", "measured", &JobOptions::measured},
     {"--sequence", "training", "sequence", &JobOptions::sequence},
     {"--global-batch", "training", "global_batch", &JobOptions::global_batch},
     {"--tokens", "training", "tokens", &JobOptions::tokens},
     {"--precision", "training", "precision", &JobOptions::precision},
     {"--release", "software", "release", &JobOptions::release},
     {"", "software", "framework", &JobOptions::framework},
     {"--objective", "", "objective", &JobOptions::objective},
     {"--deadline", "", "deadline", &JobOptions::deadline},
     {"--budget", "", "budget", &JobOptions::budget},
     {"--scheduler", "run", "scheduler", &JobOptions::scheduler}}};

const SourcePos kPlace{kCommandLine, 0, 0};

Node scalar(std::string text) {
  Node node;
  node.kind = Node::Kind::scalar;
  node.scalar = std::move(text);
  node.at = kPlace;
  return node;
}

Node map_node() {
  Node node;
  node.kind = Node::Kind::map;
  node.at = kPlace;
  return node;
}

/// "4", or the list of "4,8".
Node value_node(const std::string& text, bool list) {
  if (!list || text.find(',') == std::string::npos) return scalar(text);
  Node node;
  node.kind = Node::Kind::sequence;
  node.at = kPlace;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    node.items.push_back(scalar(text.substr(at, comma - at)));
    at = comma + 1;
  }
  return node;
}

/// The entry of that key, created if it is missing. Requires: `map` is a map.
Node& entry(Node& map, const char* key) {
  for (Node::Entry& e : map.entries) {
    if (e.key == key) return e.value;
  }
  map.entries.push_back({key, kPlace, Node{}});
  map.entries.back().value.at = map.at;
  return map.entries.back().value;
}

/// A person's text, on one line.
std::string shown(const Node& node) {
  if (node.kind == Node::Kind::scalar) return printable(node.scalar, 60);
  std::string all;
  if (node.kind == Node::Kind::sequence) {
    for (const Node& item : node.items) all += (all.empty() ? "" : ",") + printable(item.scalar, 60);
  } else {
    for (const Node::Entry& e : node.entries)
      all += (all.empty() ? "" : ", ") + printable(e.key, 60) + ": " + printable(e.value.scalar, 60);
  }
  return all;
}

/// Writes the nodes of the job, if they are one number, behind an all-reduce that was measured on them, before an
/// option replaces them.
void keep_measured_nodes(Node& cluster, const Node& nodes) {
  const bool alone = nodes.kind == Node::Kind::sequence && nodes.items.size() == 1;
  const Node& one = alone ? nodes.items.front() : nodes;
  if (one.kind != Node::Kind::scalar || !parse_whole(one.scalar)) return;
  for (Node::Entry& e : cluster.entries) {
    if (e.key != "all_reduce_gbps") continue;
    const auto stated = parse_all_reduce(e.value.scalar);
    if (stated && !stated->nodes) e.value.scalar += "@" + one.scalar;
  }
}

/// Removes what was measured on the network of the job's machine; false if nothing was.
bool drop_measured(Node& cluster) {
  return std::erase_if(cluster.entries, [](const Node::Entry& e) {
           return (e.key == "all_reduce_gbps" || e.key == "measured") && !e.value.is_null();
         }) > 0;
}

/// What options did to a job.
struct Overridden {
  std::string said;           ///< the values that they replace, if different: "--nodes 4 (job: 1)"
  bool lost_network = false;  ///< a network was measured on the machine that they replace
};

/// Puts the options into the job. A machine and nodes that are the job's already stay the job's, and so does what was
/// measured there; what was measured on another machine is dropped.
Overridden override_keys(Node& root, const JobOptions& options) {
  Overridden done;
  std::string& said = done.said;
  for (const Stated& s : kStated) {
    const std::string& text = options.*s.text;
    if (text.empty() || !(root.is_map() || root.is_null())) continue;
    if (root.is_null()) root.kind = Node::Kind::map;
    Node& section = *s.section == '\0' ? root : entry(root, s.section);
    if (section.is_null()) section.kind = Node::Kind::map;
    if (!section.is_map()) continue;  // its fault says so
    Node& value = entry(section, s.key);
    const bool stated = !value.is_null(), same = stated && shown(value) == text;
    const bool measured = !options.all_reduce.empty() || !options.measured.empty();
    const bool nodes = s.text == &JobOptions::nodes;
    if (same && (nodes || s.text == &JobOptions::instance)) continue;
    if (stated && nodes && !measured) keep_measured_nodes(section, Node(value));
    const bool one_machine =
        s.text == &JobOptions::instance && text.find(',') == std::string::npos && text != "any";
    if (stated && !same)
      said += std::string(said.empty() ? "" : ", ") + s.option + " " + printable(text, 60) +
              " (job: " + shown(value) + ")";
    value = value_node(text, s.list);
    if (stated && one_machine && !measured) done.lost_network = drop_measured(section);
  }
  return done;
}

/// True for an HF config.json, which has no key of a job.
bool looks_like_hf_config(const Node& root) {
  if (!root.is_map()) return false;
  for (const char* key : {"model", "training", "cluster"}) {
    if (root.find(key) != nullptr) return false;
  }
  for (const char* key : {"model_type", "architectures", "hidden_size", "num_hidden_layers", "n_embd"}) {
    if (root.find(key) != nullptr) return true;
  }
  return false;
}

/// The catalogue's model with the same program; "" if there is none.
std::string same_shape(const models::Architecture& a, const Catalog& catalog) {
  const auto shape = [](const models::Architecture& m) {
    return std::array<int, 13>{static_cast<int>(m.mlp),
                               static_cast<int>(m.norm),
                               m.causal ? 1 : 0,
                               m.sliding_window,
                               models::windowed_layers(m),
                               m.hidden,
                               m.layers,
                               m.intermediate,
                               m.heads,
                               m.kv_heads,
                               m.vocabulary,
                               m.max_positions,
                               m.experts};
  };
  for (const std::string& name : catalog.models()) {
    if (shape(catalog.architecture(name)) == shape(a)) return name;
  }
  return {};
}

/// The job of a model alone, under construction.
class ModelInput {
 public:
  ModelInput(std::string model, JobOptions options, const Catalog& catalog)
      : model_(std::move(model)), options_(std::move(options)), catalog_(catalog) {
    root_ = map_node();
    entry(root_, "model") = scalar(model_);
  }

  /// Sets values that no option states. `published`: model with the training to use, "" = none. `positions`:
  /// the model's own number.
  void assume_training(const std::string& published, int positions) {
    constexpr int kUsualSequence = 8192, kUsualBatch = 1024;  // of NxDT's shipped configs
    const auto training = published.empty() ? std::nullopt : catalog_.training(published);
    std::vector<Diagnostic> faults;
    std::string taken;
    const auto take = [&](std::string& text, const std::string& option, int value, int example) {
      if (!text.empty()) return;
      if (value > 0) {
        text = std::to_string(value);
        taken += (taken.empty() ? "" : " ") + option + " " + text;
        return;
      }
      faults.push_back({kPlace, option,
                        "is not stated, and no published training of " + printable(model_, 60) + " is known",
                        "add for example " + option + " " + std::to_string(example)});
    };
    const bool sequence = options_.sequence.empty(), batch = options_.global_batch.empty();
    assumes_batch_ = batch;
    take(options_.sequence, "--sequence", training ? training->sequence : 0,
         positions > 0 ? std::min(positions, kUsualSequence) : kUsualSequence);
    take(options_.global_batch, "--global-batch", training ? training->global_batch : 0, kUsualBatch);
    if (!faults.empty()) throw InputError(std::move(faults));
    if (taken.empty()) return;
    tell(taken);
    taken_ = sequence && batch ? "sequence and batch" : sequence ? "sequence" : "batch";
    source_ = " as in " + in_two_words(printable(training->source, 200));
  }

  void assume_cluster() {
    if (options_.instance.empty()) {
      options_.instance =
          options_.first_instance.empty() ? catalog_.default_instance() : options_.first_instance;
      if (!options_.own_instances) tell("--instance " + options_.instance);
    }
    if (options_.nodes.empty()) {
      options_.nodes = "1";
      if (!options_.own_nodes) tell("--nodes 1");
    }
  }

  JobReading read(const Files& files) {
    override_keys(root_, options_);
    JobReading reading = job_from(std::move(root_), "", catalog_, files, options_.target);
    if (assumed_.empty()) return reading;
    std::string said = printable(model_, 200) + ": assumed " + assumed_;
    if (assumes_batch_) said += undivided(reading.job);
    if (!source_.empty()) {
      const planner::Target* named = targets::find(options_.target);
      const planner::Target& target = named != nullptr ? *named : targets::of(reading.job);
      said += "; " + (target.has_own_recipe() ? taken_ : "training") + source_;
    }
    reading.notes.push_back(with_id(std::move(said), "assumed"));
    return reading;
  }

 private:
  /// Words on a factor of the cluster that the batch does not have, so that no data parallelism can use it.
  static std::string undivided(const models::Job& job) {
    const int batch = job.training.global_batch, cores = job.cluster.cores();
    if (batch <= 0 || !job.space.nodes.empty() || !job.space.instances.empty()) return "";
    int factor = cores;
    for (int common = 0; (common = std::gcd(factor, batch)) > 1;) factor /= common;
    if (factor == 1) return "";
    const int like = std::gcd(cores, batch) * factor, near = std::max(1, (batch + like / 2) / like) * like;
    return fmt::format("; DP cannot use the factor {} of {} with this batch{}", factor,
                       counted(cores, topology::device_word(job.cluster.instance.traits.accelerator)),
                       near <= 2 * batch ? fmt::format(", with --global-batch {} it can", near) : "");
  }

  void tell(const std::string& what) { assumed_ += (assumed_.empty() ? "" : ", ") + what; }

  std::string model_;
  JobOptions options_;
  const Catalog& catalog_;
  Node root_;
  std::string assumed_;
  bool assumes_batch_ = false;
  std::string taken_;   ///< values taken from the published training: "sequence and batch"
  std::string source_;  ///< a long path: last, so that it breaks no line of words
};

/// Refuses an argument that is neither a file nor a model; for a path with the message of a missing file.
[[noreturn]] void refuse_unknown(const std::string& argument, const Catalog& catalog, const Files& files) {
  const bool path = argument.empty() || argument.find('/') != std::string::npos ||
                    argument.ends_with(".yaml") || argument.ends_with(".yml") || argument.ends_with(".json");
  if (path) files.text(argument);
  const std::vector<std::string> known = catalog.models();
  const std::string near = nearest(argument, known);
  throw InputError({kPlace, in_quotes(argument), "this is neither a file nor a known model",
                    near.empty()
                        ? "give a job.yaml, a config.json, a folder of plan --out or a model that trnplan "
                          "models lists"
                        : "did you mean " + near + "?"});
}

/// The argument, or the config.json in the folder that it names.
std::string file_of(const std::string& argument, const Files& files) {
  const fs::path config = fs::path(argument) / "config.json";
  return !argument.empty() && !files.has(argument) && files.has(config) ? config.string() : argument;
}

/// True for a folder of plan --out, whose plan.json states the job.
bool is_plan_folder(const std::string& argument, const std::string& file, const Files& files) {
  return file != argument && files.has(fs::path(argument) / kPlanFile);
}

JobSource source_of(const Node& root) {
  if (targets::looks_like_nxdt(root)) return JobSource::nxdt;
  return looks_like_hf_config(root) ? JobSource::hf_config : JobSource::job;
}

JobReading read_job_file(Node root, const std::string& file, JobOptions options, const Catalog& catalog,
                         const Files& files) {
  // A question about several machines starts from the first of them where the job states none.
  if (options.own_instances && options.instance.empty() && !states_machine(root))
    options.instance = options.first_instance.empty() ? catalog.default_instance() : options.first_instance;
  const auto [said, lost_network] = override_keys(root, options);
  JobReading reading = job_from(std::move(root), file, catalog, files, options.target);
  if (lost_network)
    reading.notes.push_back(network_is_assumed("the job's machine", reading.job.cluster.instance.name));
  if (!said.empty() && !options.expected)
    reading.notes.push_back("options replace values of the job: " + said);
  if (known_model(file, catalog))
    reading.notes.push_back(printable(file) +
                            " is a file here and is read as a job, not as the name of the model");
  return reading;
}

/// Removes the pins of an NxDT YAML, and the notes on them.
void free_strategy(JobReading& reading, const std::string& file) {
  reading.job.pin = {};
  reading.job.software.in_flight = 0;
  std::erase_if(reading.notes,
                [](const std::string& note) { return note.find(kPinned) != std::string::npos; });
  reading.notes.push_back(
      with_id(printable(file) + ": what it runs is the baseline, and the search is not restricted; model: " +
                  printable(file) + " in a job.yaml pins its strategy",
              "baseline"));
}

JobInput read_file(const std::string& file, const JobOptions& options, const Catalog& catalog,
                   const Files& files) {
  Node root = parse_document(files.text(file), file);
  const JobSource source = source_of(root);
  if (source == JobSource::job)
    return {read_job_file(std::move(root), file, options, catalog, files), source};
  ModelInput input(file, options, catalog);
  if (source == JobSource::hf_config) {
    const models::Architecture a = read_hf_config(file, files).architecture;
    input.assume_training(same_shape(a, catalog), a.max_positions);
    input.assume_cluster();
  }
  JobInput read{input.read(files), source};
  if (options.free_strategy && source == JobSource::nxdt) free_strategy(read.reading, file);
  return read;
}

/// The job that a folder of plan --out was written for, on its cluster.
JobInput read_plan_folder(const fs::path& folder, const JobOptions& options, const Catalog& catalog,
                          const Files& files) {
  const fs::path file = folder / kPlanFile;
  const PlanFile plan = read_plan_file(file, catalog, files);
  const models::Training& training = plan.job.training;
  JobOptions planned;
  planned.instance = plan.job.cluster.instance.name;
  planned.nodes = std::to_string(plan.job.cluster.nodes);
  planned.sequence = std::to_string(training.sequence);
  planned.global_batch = std::to_string(training.global_batch);
  if (training.tokens > 0) planned.tokens = fmt::format("{:.0f}", training.tokens);
  planned.precision = to_string(plan.strategy.precision);
  planned.release = plan.job.software.release;
  Node root = map_node();
  entry(root, "model") = scalar("config.json");
  planned.framework = plan.job.software.framework;
  override_keys(root, planned);
  JobReading reading = read_job_file(std::move(root), file.string(), options, catalog, files);
  reading.job.architecture.name = plan.job.architecture.name;  // config.json has none
  if (options.all_reduce.empty() && options.measured.empty()) reading.job.all_reduce = plan.job.all_reduce;
  if (topology::Instance& type = reading.job.cluster.instance; type.name == plan.job.cluster.instance.name)
    type.chosen = plan.job.cluster.instance.chosen;
  reading.notes.push_back(
      printable(file.string(), 200) +
      " states the job, without the pins and limits that it was planned with" +
      (plan.job.cluster.instance.chosen ? ", at its price where its type is asked about alone" : ""));
  return {std::move(reading), JobSource::job};
}

JobInput read_any(const std::string& argument, const JobOptions& options, const Catalog& catalog,
                  const Files& files) {
  const std::string file = file_of(argument, files);
  if (is_plan_folder(argument, file, files)) return read_plan_folder(argument, options, catalog, files);
  if (files.has(file)) return read_file(file, options, catalog, files);
  const auto model = known_model(argument, catalog);
  if (!model) refuse_unknown(argument, catalog, files);
  ModelInput input(argument, options, catalog);  // a file may have the catalogue's name
  input.assume_training(*model, catalog.architecture(*model).max_positions);
  input.assume_cluster();
  return {input.read(files), JobSource::catalogue_model};
}

}  // namespace

JobSource job_source(const std::string& argument, const Catalog& catalog, const Files& files) {
  const std::string file = file_of(argument, files);
  if (is_plan_folder(argument, file, files)) return JobSource::job;
  if (files.has(file)) return source_of(parse_document(files.text(file), file));
  if (!known_model(argument, catalog)) refuse_unknown(argument, catalog, files);
  return JobSource::catalogue_model;
}

std::string option_of(std::string_view key) {
  for (const Stated& s : kStated) {
    if (s.path() == key) return s.option;
  }
  return {};
}

JobInput read_job_input(const std::string& argument, const JobOptions& options, const Catalog& catalog,
                        const Files& files) {
  try {
    JobOptions whole = options;
    std::vector<std::string> notes;
    whole.instance = whole_names(options.instance, catalog, notes);
    JobInput read = read_any(argument, whole, catalog, files);
    read.reading.notes.insert(read.reading.notes.end(), notes.begin(), notes.end());
    return read;
  } catch (const InputError& e) {
    std::vector<Diagnostic> faults = e.faults();
    for (Diagnostic& f : faults) {
      if (f.at.file != kCommandLine) continue;
      if (const std::string option = option_of(f.key); !option.empty()) f.key = option;
    }
    throw InputError(std::move(faults));
  }
}

}  // namespace trnplan::io
