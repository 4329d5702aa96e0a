// Parts that the linter's rules share: input of a rule (Context), its output (Report), and the sources. Private
// to the linter. To add a rule, write a function in the file of its theme and add its line to the table at
// that file's end.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/architecture/architecture.h"
#include "targets/nxdt/nxdt_config.h"
#include "targets/nxdt/nxdt_schema.h"
#include "text/diagnostic.h"

namespace trnplan::targets {

inline constexpr std::string_view kTp = "distributed_strategy.tensor_model_parallel_size";
inline constexpr std::string_view kPp = "distributed_strategy.pipeline_model_parallel_size";
inline constexpr std::string_view kVpp = "distributed_strategy.virtual_pipeline_model_parallel_size";
inline constexpr std::string_view kCp = "distributed_strategy.context_parallel_size";
inline constexpr std::string_view kEp = "distributed_strategy.expert_model_parallel_size";
inline constexpr std::string_view kZero1 = "distributed_strategy.zero1";
inline constexpr std::string_view kReplicator = "distributed_strategy.kv_replicator";
inline constexpr std::string_view kSequence = "model.encoder_seq_length";
inline constexpr std::string_view kFlash = "model.fusions.flash_attention";
inline constexpr std::string_view kRing = "model.fusions.ring_attention";
inline constexpr std::string_view kRecompute = "model.activations_checkpoint_recompute";
inline constexpr std::string_view kGranularity = "model.activations_checkpoint_granularity";
inline constexpr std::string_view kGlobalBatch = "data.global_batch_size";

struct Context {
  const NxdtConfig& config;
  models::Architecture given;    ///< as the caller handed it over
  models::Architecture trained;  ///< with the config's own overrides
  NxdtReading reading;
  bool megatron = false;
  bool moe = false;
  bool alignment = false;
  bool trn2 = false;
  bool recipe = false;  ///< a HyperPod recipe, written for an older NxDT
  std::string release;  ///< Neuron SDK release the config runs on, "" = not known
  std::string version;  ///< of NxDT, likewise
  std::int64_t world = 1;

  const models::Strategy& strategy() const { return reading.strategy; }
  bool hf_llama() const { return !megatron && !moe; }
  bool has(std::string_view key) const { return config.find(key) != nullptr; }
  /// The key is there and not null.
  bool states(std::string_view key) const { return !config.text(key).empty(); }
  bool is_true(std::string_view key) const { return config.boolean(key).value_or(false); }
  bool is_false(std::string_view key) const { return !config.boolean(key).value_or(true); }
  bool contains(std::string_view key, std::string_view part) const {
    return config.text(key).find(part) != std::string::npos;
  }
  /// The text in quotes, safe to print.
  std::string shown(std::string_view key) const {
    return fmt::format("\"{}\"", printable(config.text(key), 60));
  }
  /// Logical NeuronCore size; NxDT's default on trn2 is 2.
  int lnc() const { return config.whole("trainer.lnc").value_or(2); }
};

/// Finding of a rule about one key.
struct Remark {
  std::string_view key;
  std::string message;
  std::string fix;
  std::string source = {};  ///< when it is not the first of the rule's (api/rules/4_nxdt.yaml)
  SourcePos at = {};        ///< where, when it is not the key's own place
};

/// Collects findings; the name of the running rule is set by lint().
class Report {
 public:
  explicit Report(const NxdtConfig& config) : config_(&config) {}

  void rule(std::string_view name) { rule_ = name; }
  void error(Remark r) { add(Severity::error, std::move(r)); }
  void warning(Remark r) { add(Severity::warning, std::move(r)); }
  void note(Remark r) { add(Severity::note, std::move(r)); }
  void add(Severity severity, Remark r) {
    findings_.push_back({std::string(rule_), severity, std::string(r.key),
                         r.at.line > 0 ? std::move(r.at) : place_of(r.key), std::move(r.message),
                         std::move(r.fix), std::move(r.source)});
  }
  std::vector<Finding> take() { return std::move(findings_); }

 private:
  /// Place of the key; for a missing key the first leaf of its nearest section; else the file.
  SourcePos place_of(std::string_view key) const {
    if (const NxdtKey* leaf = config_->find(key)) return leaf->at;
    for (; !key.empty(); key = parent_of(key)) {
      for (const NxdtKey& k : config_->keys) {
        if (under(k.key, key)) return k.at;
      }
    }
    return {config_->file, 0, 0};
  }

  const NxdtConfig* config_;
  std::string_view rule_;
  std::vector<Finding> findings_;
};

struct Rule {
  std::string_view name;
  void (*judge)(const Context&, Report&);
};

/// Keys and values by themselves (nxdt_lint_schema.cpp).
std::span<const Rule> schema_rules();
/// Devices, degrees, shapes (nxdt_lint_parallel.cpp).
std::span<const Rule> parallel_rules();
/// Batch, sequence, attention (nxdt_lint_batch.cpp).
std::span<const Rule> batch_rules();
/// Precision, optimizer, recompute, runtime (nxdt_lint_training.cpp).
std::span<const Rule> training_rules();
/// Megatron, MoE, alignment, trn2, end of support (nxdt_lint_kinds.cpp).
std::span<const Rule> kind_rules();
/// Features that the version of NxDT has (nxdt_lint_versions.cpp).
std::span<const Rule> version_rules();

// Sources: repository@commit:path, with lines where they are known. Where the place is not known, the
// repository alone.
inline constexpr const char* kNxdt = "aws-neuron/neuronx-distributed-training@9169aa03";
inline constexpr const char* kNxd = "aws-neuron/neuronx-distributed@fbac349";
inline constexpr const char* kSdk = "aws-neuron/aws-neuron-sdk@81ce03ae";
inline constexpr const char* kKnownIssues =
    "aws-neuron/neuronx-distributed-training@9169aa03:docs/general/known_issues.rst";

inline std::string nxdt(std::string_view path) {
  return fmt::format("{}:src/neuronx_distributed_training/{}", kNxdt, path);
}
inline std::string nxdt_examples(std::string_view path) {
  return fmt::format("{}:examples/{}", kNxdt, path);
}
inline std::string modeling_llama(std::string_view lines) {
  return nxdt(fmt::format("models/hf_models/modeling_llama.py:{}", lines));
}
inline std::string nxd(std::string_view path) {
  return fmt::format("{}:src/neuronx_distributed/{}", kNxd, path);
}
inline std::string sdk(std::string_view path) {
  return fmt::format("{}:{}", kSdk, path);
}

inline bool one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

}  // namespace trnplan::targets
