#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

#include "io/input/cluster_files.h"
#include "io/input/job_input.h"
#include "io/input/job_keys.h"
#include "io/input/job_space.h"
#include "targets/nxdt/nxdt_yaml.h"
#include "io/input/readers.h"

namespace trnplan::io {

namespace {

namespace fs = std::filesystem;
using models::Pin;

constexpr int sequence_most = 1 << 24;
constexpr int nodes_most = topology::kMostNodes;
constexpr int degree_most = 1'000'000;

std::string join(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

// ---- model names ----

/// "meta-llama/Meta-Llama-3.1-8B", "Llama-3.1-8B" and "llama3.1-8b" are one model.
std::string folded_model(std::string_view name) {
  if (const std::size_t slash = name.rfind('/'); slash != std::string_view::npos)
    name.remove_prefix(slash + 1);
  std::string out = folded_name(name);
  if (out.starts_with("metallama")) out.erase(0, 4);
  if (out.ends_with("hf")) out.erase(out.size() - 2);
  return out;
}

std::optional<std::string> catalogue_name(const std::string& wanted, const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), wanted) != known.end()) return wanted;
  const auto same = [&](const std::string& k) { return folded_model(k) == folded_model(wanted); };
  const auto found = std::find_if(known.begin(), known.end(), same);
  if (found == known.end()) return std::nullopt;
  return *found;
}

// ---- the reader ----

class JobReader {
 public:
  JobReader(Node root, const fs::path& path, const Catalog& catalog, const Files& files)
      : path_(path), catalog_(catalog), files_(files), root_(std::move(root)) {}

  JobReading read() {
    if (root_.is_null()) {
      fail({path_.string()}, "", "the job is empty",
           "write at least model, training and cluster; see examples/");
    }
    MapReader map(root_, "", faults_);
    read_model(map);
    read_training(map);
    read_cluster(map);
    read_software(map);
    settle(map);
    read_goal(map, job());
    read_pin(map);
    remember_places("training");
    remember_places("pin");
    refuse_not_modelled(map);
    map.finish();
    check_devices();
    note_positions();
    std::stable_sort(faults_.begin(), faults_.end(), [](const Diagnostic& a, const Diagnostic& b) {
      return std::tie(a.at.file, a.at.line) < std::tie(b.at.file, b.at.line);
    });
    if (!faults_.empty()) throw InputError(std::move(faults_));
    return std::move(reading_);
  }

 private:
  void add(const SourcePos& at, std::string key, std::string problem, std::string fix) {
    faults_.push_back({at, std::move(key), std::move(problem), std::move(fix)});
  }
  [[noreturn]] static void fail(const SourcePos& at, std::string key, std::string problem, std::string fix) {
    throw InputError(Diagnostic{at, std::move(key), std::move(problem), std::move(fix)});
  }
  void note(std::string text) { reading_.notes.push_back(std::move(text)); }

  /// Runs `step`, keeping its faults with ours, so that one bad file does not hide the others' faults.
  template <class Step>
  void collect(const Step& step) {
    try {
      step();
    } catch (const InputError& e) {
      faults_.insert(faults_.end(), e.faults().begin(), e.faults().end());
    }
  }

  Node document(const fs::path& file) const { return parse_document(files_.text(file), file.string()); }
  fs::path beside_job(const std::string& name) const { return path_.parent_path() / name; }

  void unsupported(MapReader& map, std::string_view key, const std::string& what, std::string fix) {
    if (map.raw(key) != nullptr) map.fault(key, what + " is not supported yet", std::move(fix));
  }

  // -- model --

  void read_model(MapReader& map) {
    const std::string name = map.required_text("model");
    const Node* node = root_.find("model");
    if (node == nullptr || name.empty()) return;
    const std::vector<std::string> known = catalog_.models();
    if (const auto entry = catalogue_name(name, known); entry && !files_.has(beside_job(name))) {
      collect([&] { job().architecture = catalog_.architecture(*entry); });
      return;
    }
    fs::path file = beside_job(name);
    if (files_.has(file / "config.json")) file /= "config.json";
    if (files_.has(file)) {
      collect([&] { read_model_file(file); });
      return;
    }
    const std::string near = nearest(name, known);
    add(node->at, "model", in_quotes(name) + " is neither a known model nor a file",
        (near.empty() ? "" : "did you mean \"" + near + "\"? ") + "Known models: " + join(known) +
            "; or give the path of a config.json or NxDT YAML, relative to the job");
  }

  void read_model_file(const fs::path& file) {
    const Node node = document(file);
    if (targets::looks_like_nxdt(node)) {
      read_nxdt_model(file);
      return;
    }
    ArchitectureReading reading = read_hf_config(file, files_);
    job().architecture = std::move(reading.architecture);
    take_notes(file, reading.notes);
  }

  void take_notes(const fs::path& file, const std::vector<std::string>& notes) {
    for (const std::string& n : notes) note(file.string() + ": " + n);
  }

  void read_nxdt_model(const fs::path& file) {
    from_nxdt_ = true;
    const targets::NxdtConfig config = targets::read_nxdt(file, files_);
    ArchitectureReading reading = architecture_of_nxdt(config, catalog_, files_);
    take_notes(file, reading.notes);
    const targets::NxdtReading said = targets::interpret(config, reading.architecture);
    job().architecture = std::move(reading.architecture);
    job().training = said.training;
    job().cluster.nodes = std::min(said.nodes, nodes_most);
    job().software.framework = "nxdt";
    job().software.in_flight = said.in_flight;
    job().pin = pins_of(said.strategy);
    devices_ = said.devices;
    logical_cores_ = targets::describes_trn2(config);
    for (const std::string& feature : said.not_modelled) {
      add({file.string()}, "", feature + " is not modelled yet, so a plan would be of another job",
          "use trnplan check on this file, or describe plain pre-training in a job.yaml");
    }
    note(file.string() +
         ": its whole strategy is pinned; to search around it, name its model and training in a job.yaml");
    if (!said.strategy.pipeline_cuts.empty()) note(file.string() + ": pipeline_cuts are not pinned");
  }

  /// Data parallel follows from the cluster, which the job may change.
  static Pin pins_of(const models::Strategy& s) {
    Pin pin;
    pin.tensor_parallel = s.tensor_parallel;
    pin.pipeline_parallel = s.pipeline_parallel;
    pin.virtual_pipeline = s.virtual_pipeline;
    pin.context_parallel = s.context_parallel;
    pin.expert_parallel = s.expert_parallel;
    pin.micro_batch = s.micro_batch;
    pin.kv_replicator = s.kv_replicator;
    pin.sequence_parallel = s.sequence_parallel;
    pin.zero1 = s.zero1;
    pin.flash_attention = s.flash_attention;
    pin.recompute = s.recompute;
    return pin;
  }

  // -- training --

  void read_training(MapReader& map) {
    const Node* node = map.raw("training");
    if (node == nullptr || node->is_null()) {
      if (!from_nxdt_) {
        map.fault("training", "this key is missing", "add training: {sequence: 8192, global_batch: 1024}");
      }
      return;
    }
    MapReader fields(*node, "training", faults_);
    models::Training& t = job().training;
    t.sequence = whole_count(fields, "sequence", t.sequence, sequence_most);
    note_thousands(*node, t.sequence);
    read_global_batch(fields);
    if (fields.raw("per_node") != nullptr)
      fields.fault("per_node", "this key belongs into global_batch", "write global_batch: {per_node: 32}");
    if (fields.has("tokens")) {
      const std::size_t before = faults_.size();
      t.tokens = fields.count("tokens", 0);
      if (faults_.size() == before && t.tokens < 1) {
        fields.fault("tokens", "a run of less than one token", "write for example 15T, or leave the key out");
      }
    } else {
      fields.ignore({"tokens"});
    }
    read_precision(fields);
    refuse_not_modelled(fields);
    fields.finish();
  }

  void read_global_batch(MapReader& fields) {
    if (read_free_batch(fields, job(), faults_)) return;
    int& value = job().training.global_batch;
    value = whole_count(fields, "global_batch", value, kMostBatch);
  }

  /// A whole number, also written 1K; required unless an NxDT file gave `fallback`.
  int whole_count(MapReader& fields, std::string_view key, int fallback, int most) {
    if (!fields.has(key)) {
      fields.ignore({key});
      if (fallback < 1)
        fields.fault(key, "this key is missing",
                     "add it, with a whole number from 1 to " + std::to_string(most));
      return fallback;
    }
    const Node* node = fields.raw(key);
    const bool suffix = node->kind == Node::Kind::scalar && !node->scalar.empty() &&
                        std::isalpha(static_cast<unsigned char>(node->scalar.back())) != 0;
    if (!suffix) return fields.whole(key, fallback, 1, most);
    const std::size_t before = faults_.size();
    const double value = fields.count(key, 1);
    if (faults_.size() != before) return fallback;
    if (value >= 1 && value <= most && std::floor(value) == value) return static_cast<int>(value);
    fields.fault(key, in_quotes(node->scalar) + " is not a whole number from 1 to " + std::to_string(most),
                 "write a whole number, for example 1024");
    return fallback;
  }

  /// People who write 8K for a sequence usually mean 8192.
  void note_thousands(const Node& training, int sequence) {
    const Node* node = training.find("sequence");
    if (node == nullptr || node->scalar.empty() || (node->scalar.back() != 'K' && node->scalar.back() != 'k'))
      return;
    note("training.sequence: " + printable(node->scalar, 20) + " means " + std::to_string(sequence) +
         " tokens (K is 1000)");
  }

  void read_precision(MapReader& fields) {
    if (!fields.has("precision")) {
      fields.ignore({"precision"});
      return;
    }
    const std::string text = fields.text("precision", "");
    if (text == "any") {
      job().space.precision = true;
      return;
    }
    if (const auto precision = models::precision_from(text)) {
      job().training.precision = *precision;
    } else if (!text.empty()) {
      const std::vector<std::string> known{"mixed_precision", "autocast", "bf16SR", "fp32", "manual"};
      const std::string near = nearest(text, known);
      fields.fault("precision", "unknown precision " + in_quotes(text),
                   near.empty() ? "use one of: " + join(known) + ", any" : "did you mean \"" + near + "\"?");
    }
  }

  // -- cluster --

  void read_cluster(MapReader& map) {
    const Node* node = map.raw("cluster");
    if (node == nullptr || node->is_null()) {
      if (from_nxdt_) {
        instance_of_nxdt(map);
      } else {
        map.fault("cluster", "this key is missing", "add cluster: {instance: trn1.32xlarge, nodes: 1}");
      }
      return;
    }
    MapReader fields(*node, "cluster", faults_);
    const int stated = job().cluster.nodes;
    const bool nodes_stated = fields.has("nodes");
    if (!read_free_nodes(fields, job(), faults_))
      job().cluster.nodes = fields.whole("nodes", stated, 1, nodes_most);
    const bool any_instance = read_free_instances(fields, catalog_, job(), faults_);
    std::string instance = any_instance ? "" : fields.text("instance", "");
    const std::string listing = fields.text("neuron_ls", "");
    const bool file = read_cluster_file(fields, instance, nodes_stated);
    if (any_instance) {
      if (file || !listing.empty())
        fields.fault("instance", "several types are stated beside a file that describes one",
                     "leave the file or instance out");
    } else if (!listing.empty()) {
      read_listing(fields, listing, instance);
    } else if (!instance.empty()) {
      read_instance(fields, instance);
    } else if (from_nxdt_ && !file) {
      instance_of_nxdt(map);
    } else if (node->is_map() && !file) {
      fields.fault("instance", "this key is missing",
                   "add instance: trn1.32xlarge, or neuron_ls, hyperpod, parallelcluster or sinfo: FILE");
    }
    fields.finish();
  }

  /// Takes type and number of nodes from a file that describes the cluster. True when one is named, be it
  /// good or not.
  bool read_cluster_file(MapReader& fields, std::string& instance, bool nodes_stated) {
    using Reader = ClusterReading (*)(const fs::path&, const Catalog&, const std::string&, const Files&);
    const std::pair<const char*, Reader> kinds[] = {
        {"hyperpod", read_hyperpod}, {"parallelcluster", read_parallelcluster}, {"sinfo", read_sinfo}};
    const std::string group = fields.text("group", "");
    std::string key;
    for (const auto& [kind, reads] : kinds) {
      if (!fields.has(kind)) {
        fields.ignore({kind});
        continue;
      }
      const std::string name = fields.text(kind, "");
      if (!key.empty()) {
        fields.fault(kind, key + " is stated as well", "keep one file that describes the cluster");
        continue;
      }
      key = kind;
      if (name.empty()) continue;  // no text: a fault already
      const fs::path file = beside_job(name);
      if (!files_.has(file)) {
        fields.fault(kind, in_quotes(name) + " is no file", "give the path relative to the job");
        continue;
      }
      collect([&, read = reads] {
        take_cluster(fields, read(file, catalog_, group, files_), key, instance, nodes_stated);
      });
    }
    if (key.empty() && !group.empty())
      fields.fault("group", "there is no file to take a group from",
                   "add hyperpod, parallelcluster or sinfo: FILE");
    return !key.empty();
  }

  void take_cluster(MapReader& fields, const ClusterReading& read, const std::string& key,
                    std::string& instance, bool nodes_stated) {
    for (const std::string& n : read.notes) note("cluster." + key + ": " + n);
    if (!instance.empty() && !read.instance.empty() && instance != read.instance) {
      fields.fault("instance", in_quotes(instance) + " is stated, but the file says " + read.instance,
                   "remove instance, or name another group");
    } else if (instance.empty() && read.instance.empty()) {
      fields.fault(key, "the file does not say of which type its nodes are",
                   "add instance: trn1.32xlarge beside it");
    }
    if (instance.empty()) instance = read.instance;
    if (!nodes_stated) {
      job().cluster.nodes = read.nodes;
    } else if (job().cluster.nodes > read.nodes && fields.raw("nodes")->at.file != kCommandLine) {
      fields.fault("nodes",
                   std::to_string(job().cluster.nodes) + " nodes are stated, but " + in_quotes(read.group) +
                       " has " + std::to_string(read.nodes),
                   "write nodes: " + std::to_string(read.nodes) + " or fewer, or remove the key");
    }
  }

  bool known_instance(MapReader& fields, const std::string& name) {
    const std::vector<std::string> known = catalog_.instances();
    if (std::find(known.begin(), known.end(), name) != known.end()) return true;
    const std::string near = nearest(name, known);
    fields.fault("instance", "unknown instance type " + in_quotes(name),
                 (near.empty() ? "" : "did you mean \"" + near + "\"? ") + "Known: " + join(known));
    return false;
  }

  void read_instance(MapReader& fields, const std::string& name) {
    if (known_instance(fields, name)) collect([&] { job().cluster.instance = catalog_.instance(name); });
  }

  void read_listing(MapReader& fields, const std::string& listing, const std::string& instance) {
    if (!instance.empty() && !known_instance(fields, instance)) return;
    const fs::path file = beside_job(listing);
    if (!files_.has(file)) {
      fields.fault("neuron_ls", in_quotes(listing) + " is no file", "give the path relative to the job");
      return;
    }
    collect([&] { job().cluster.instance = read_neuron_ls(file, catalog_, instance, files_); });
    const std::string& printed = job().cluster.instance.name;
    if (!instance.empty() && !printed.empty() && printed != instance) {
      fields.fault("instance", in_quotes(instance) + " is stated, but the neuron-ls file shows a " + printed,
                   "remove instance, or give the file of that machine");
    }
  }

  /// The smallest machine of logical cores, each of two physical ones as they come.
  std::optional<std::string> smallest_of_pairs() const {
    std::optional<std::string> found;
    int chips = 0;
    for (const std::string& name : catalog_.instances()) {
      const topology::Instance type = catalog_.instance(name);
      if (!type.traits.logical_cores || type.core.lnc != 2 || (found && chips <= type.chips)) continue;
      found = name;
      chips = type.chips;
    }
    return found;
  }

  /// An NxDT file states ranks per node but no instance type.
  void instance_of_nxdt(MapReader& map) {
    if (devices_ == 0) return;  // the file could not be read; its own faults say so
    std::optional<std::string> found;
    if (logical_cores_) {
      found = smallest_of_pairs();
    } else {
      found = catalog_.default_instance();
    }
    if (!found) {
      map.fault("cluster",
                "the instance type is not stated, and none with " + std::to_string(devices_) +
                    " ranks per node is known",
                "add cluster: {instance: ..., nodes: ...}");
      return;
    }
    note("cluster.instance is not stated: " + *found + " assumed");
    collect([&] { job().cluster.instance = catalog_.instance(*found); });
  }

  void check_devices() {
    const int cores = job().cluster.instance.cores();
    if (devices_ == 0 || cores == 0 || devices_ == cores) return;
    note("trainer.devices is " + std::to_string(devices_) + ", " + job().cluster.instance.name + " has " +
         std::to_string(cores) + " cores: all of them are used");
  }

  // -- the rest --

  void read_software(MapReader& map) {
    const Node* node = map.raw("software");
    if (node == nullptr || node->is_null()) return;
    MapReader fields(*node, "software", faults_);
    models::Software& s = job().software;
    s.framework = fields.text("framework", s.framework);
    const std::vector<std::string> known{"nxdt", "nxd", "nemo-megatron"};
    if (!s.framework.empty() && std::find(known.begin(), known.end(), s.framework) == known.end()) {
      fields.fault("framework", "unknown framework " + in_quotes(s.framework), "use one of: " + join(known));
    }
    s.release = fields.text("release", "");
    const bool plain =
        s.release.size() < 20 && s.release.find_first_not_of("0123456789.") == std::string::npos;
    if (!s.release.empty() && (!plain || s.release.find('.') == std::string::npos)) {
      fields.fault("release", in_quotes(s.release) + " is no Neuron SDK release",
                   "write it like \"2.24\", in quotes");
    }
    fields.finish();
  }

  void settle(MapReader& map) {
    const Node* training = map.raw("training");
    if (training == nullptr || !training->is_map()) return;
    MapReader fields(*training, "training", faults_);
    settle_batch(fields, job());
  }

  void note_positions() {
    const models::Architecture& a = job().architecture;
    if (a.learned_positions || a.max_positions == 0 || job().training.sequence <= a.max_positions) return;
    note("sequence " + std::to_string(job().training.sequence) +
         " is beyond the model's max_position_embeddings " + std::to_string(a.max_positions));
  }

  void remember_places(const std::string& section) {
    const Node* node = root_.find(section);
    if (node == nullptr) return;
    for (const Node::Entry& e : node->entries) reading_.places[section + "." + e.key] = e.value.at;
  }

  void read_pin(MapReader& map) {
    const Node* node = map.raw("pin");
    if (node == nullptr || node->is_null()) return;
    MapReader fields(*node, "pin", faults_);
    Pin& pin = job().pin;
    // That of an NxDT YAML goes with its TP.
    if (fields.has("tensor_parallel") && !fields.has("kv_replicator")) pin.kv_replicator.reset();
    const std::pair<const char*, std::optional<int> Pin::*> degrees[] = {
        {"tensor_parallel", &Pin::tensor_parallel},   {"pipeline_parallel", &Pin::pipeline_parallel},
        {"virtual_pipeline", &Pin::virtual_pipeline}, {"context_parallel", &Pin::context_parallel},
        {"expert_parallel", &Pin::expert_parallel},   {"data_parallel", &Pin::data_parallel},
        {"micro_batch", &Pin::micro_batch},           {"kv_replicator", &Pin::kv_replicator}};
    for (const auto& [key, member] : degrees) {
      if (fields.has(key)) pin.*member = fields.whole(key, 1, 1, degree_most);
      fields.ignore({key});
    }
    const int layers = job().architecture.layers;  // 0: the model could not be read
    if (layers > 0 && pin.virtual_pipeline.value_or(1) > layers) {
      fields.fault("virtual_pipeline", "more chunks than the model's " + std::to_string(layers) + " layers",
                   "write at most " + std::to_string(layers) + ", or leave it out");
    }
    const std::pair<const char*, std::optional<bool> Pin::*> switches[] = {
        {"sequence_parallel", &Pin::sequence_parallel},
        {"zero1", &Pin::zero1},
        {"flash_attention", &Pin::flash_attention}};
    if (const Node* zero1 = fields.raw("zero1"); zero1 != nullptr && zero1->scalar == "any") {
      job().space.zero1 = true;
      pin.zero1.reset();
    }
    for (const auto& [key, member] : switches) {
      if (member == &Pin::zero1 && job().space.zero1) continue;
      if (fields.has(key)) pin.*member = fields.boolean(key, false);
      fields.ignore({key});
    }
    read_recompute(fields, pin);
    refuse_pins(fields);
    refuse_not_modelled(fields);
    fields.finish();
  }

  static void read_recompute(MapReader& fields, Pin& pin) {
    if (!fields.has("recompute")) {
      fields.ignore({"recompute"});
      return;
    }
    const std::string text = fields.text("recompute", "none");
    pin.recompute = models::recompute_from(text);
    if (!pin.recompute) {
      fields.fault("recompute", in_quotes(text) + " names no recompute policy",
                   "write none, full, or classes joined by '+': CoreAttention, LlamaMLP, LlamaRMSNorm, "
                   "ActivationMultiplyMLP");
    }
  }

  /// Keys of the plan's JSON that are no free part of a strategy, or not yet.
  void refuse_pins(MapReader& fields) {
    const std::pair<const char*, const char*> elsewhere[] = {
        {"precision", "write training.precision"},
        {"nodes", "write cluster.nodes"},
        {"instance", "write cluster.instance"},
        {"micro_batches", "it follows from training.global_batch, micro_batch and data_parallel"}};
    for (const auto& [key, fix] : elsewhere) {
      if (fields.raw(key) != nullptr) fields.fault(key, "this cannot be pinned", fix);
    }
    unsupported(fields, "pipeline_cuts", "pinning pipeline_cuts",
                "leave it out; stages are cut automatically");
  }

  models::Job& job() { return reading_.job; }

  fs::path path_;
  const Catalog& catalog_;
  const Files& files_;
  Node root_;
  JobReading reading_;
  std::vector<Diagnostic> faults_;
  bool from_nxdt_ = false;
  bool logical_cores_ = false;
  int devices_ = 0;  ///< ranks per node of the NxDT file
};

}  // namespace

JobReading read_job(const std::filesystem::path& path, const Catalog& catalog, const Files& files) {
  return job_from(parse_document(files.text(path), path.string()), path, catalog, files);
}

JobReading job_from(Node root, const std::filesystem::path& path, const Catalog& catalog,
                    const Files& files) {
  return JobReader(std::move(root), path, catalog, files).read();
}

std::optional<std::string> known_model(const std::string& name, const Catalog& catalog) {
  return catalogue_name(name, catalog.models());
}

}  // namespace trnplan::io
