// An NxDT training config as plain data: its keys with their positions, and the model and strategy that they
// state.
//
// Schema: aws-neuron/neuronx-distributed-training 9169aa0, examples/conf and
// src/neuronx_distributed_training.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/job/job.h"
#include "models/job/strategy.h"
#include "text/diagnostic.h"

namespace trnplan::targets {

/// Name of the framework, as a target and in models::Software.
inline constexpr std::string_view kNxdtName = "nxdt";

/// One leaf of the YAML: its dotted key ("trainer.num_nodes"), its text and its position. `text` has
/// interpolations resolved, "null" for null, and lists as "[a, b]" with items in quotes if the file has them.
/// `quoted`: a string written in quotes, so '32' is text and 32 a number; `text` then lacks the quotes.
struct NxdtKey {
  std::string key;
  std::string text;
  bool quoted = false;
  SourcePos at;
};

/// Line of the file that contains "devices:", comments included, and its second word. train.sh greps for the
/// one and takes the other.
struct GreppedLine {
  SourcePos at;
  std::string second_word;
};

/// The file, leaf by leaf, in file order.
struct NxdtConfig {
  std::string file;
  std::vector<NxdtKey> keys;
  std::optional<std::vector<GreppedLine>> devices_lines = std::nullopt;  ///< absent if made in memory

  const NxdtKey* find(std::string_view key) const;
  /// Text of a key, or `fallback` when it is missing or null.
  std::string text(std::string_view key, std::string_view fallback = "") const;
  /// Whole number of a key, possibly negative; nullopt when missing, null, in quotes or no whole number.
  std::optional<int> whole(std::string_view key) const;
  /// Finite number of a key, whole or not; nullopt when missing, null, in quotes or no number.
  std::optional<double> number(std::string_view key) const;
  /// True for True/true, false for False/false, else nullopt. Text in quotes, which Python takes for true,
  /// also gives nullopt.
  std::optional<bool> boolean(std::string_view key) const;
  /// Items of a flow or block list without their quotes; empty when missing or null. A lone scalar is one
  /// item.
  std::vector<std::string> list(std::string_view key) const;
  /// True when any key lies under `prefix` ("model.moe").
  bool has_section(std::string_view prefix) const;
};

enum class Severity { error, warning, note };
std::string_view to_string(Severity s);

/// One remark of the linter.
struct Finding {
  std::string rule;  ///< one word, e.g. "divisibility", "precision", "checkpoint"
  Severity severity = Severity::note;
  std::string key;  ///< dotted key, "" for the whole file
  SourcePos at;
  std::string message;
  std::string fix;
  std::string source;  ///< repository and path of the rule
};

/// Training and strategy that an NxDT config describes, for the given architecture (from its model_config or
/// the catalogue). Missing or malformed values fall back to NxDT's own defaults; lint() reports them.
struct NxdtReading {
  models::Training training;
  models::Strategy strategy;
  int nodes = 1;              ///< hosts; one node of the catalogue may contain several
  int devices = 32;           ///< ranks per host
  models::Software software;  ///< NxDT, without a release, since no config states one
  /// Features that the simulator does not cover: "mixture of experts", ...
  std::vector<std::string> not_modelled;
};
NxdtReading interpret(const NxdtConfig& config, const models::Architecture& architecture);

/// `base` with the values that the config itself states. HF configs override layers, hidden size, positions
/// and rope_theta of their config.json; Megatron configs state the whole shape except the vocabulary.
/// Idempotent.
models::Architecture trained_architecture(const NxdtConfig& config, models::Architecture base);

/// Key of the number of hosts.
inline constexpr const char* kNumNodes = "trainer.num_nodes";
/// Replaces the number of hosts, as train.sh does.
void set_nodes(NxdtConfig& config, int hosts);

/// Key of the strategy, batch or cluster with an interpolation that cannot be resolved, so that its rules
/// cannot be judged. nullptr if all are known.
const NxdtKey* unresolved_degree(const NxdtConfig& config);

/// True if devices or lnc are those of trn2.
bool describes_trn2(const NxdtConfig& config);

/// Applies every rule on keys and values that needs no cluster: schema, traps that do not depend on order,
/// divisibility. `architecture` is the model that the config trains, `release` the release of the Neuron SDK
/// that it runs on, such as "2.28", and `version` that of NxDT, such as "1.4"; "" if unknown.
std::vector<Finding> lint(const NxdtConfig& config, const models::Architecture& architecture,
                          const std::string& release = "", const std::string& version = "");

/// Paths in a finished run, written into the YAML unchanged.
struct NxdtPaths {
  std::string model_config = "config.json";
  std::string train_dir = "/fsx/data/train";
  std::string compiler_cache = "/fsx/neuron_cache";
};

/// Reason why NxDT's HF path cannot express the architecture (GPT-3, BERT, MoE), or "". Cost: nanoseconds if
/// there is none.
std::string why_inexpressible(const models::Architecture& architecture, int sequence);
/// Config of `strategy` for `job`, leaf by leaf in NxDT's shipped order (HF Llama form). Literal integers, no
/// interpolation. Throws std::invalid_argument for an architecture with a reason in why_inexpressible().
NxdtConfig to_nxdt(const models::Job& job, const models::Strategy& strategy, const NxdtPaths& paths = {});

}  // namespace trnplan::targets
