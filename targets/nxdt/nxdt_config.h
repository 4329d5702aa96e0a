// An NxDT training config as plain data: keys with their positions, and what it says about model and
// strategy.
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

/// What the framework is called: as a target, and in models::Software.
inline constexpr std::string_view kNxdtName = "nxdt";

/// One leaf of the YAML: its dotted key ("trainer.num_nodes"), its text (interpolations resolved, "null" for
/// null, lists as "[a, b]" with items in quotes where the file has them), and where it stands. `quoted`: a
/// string written in quotes, so '32' is text and 32 a number; `text` is then without the quotes.
struct NxdtKey {
  std::string key;
  std::string text;
  bool quoted = false;
  SourcePos at;
};

/// A line of the file with the text "devices:", comments included, and the second word there: train.sh greps
/// for the one and takes the other.
struct GreppedLine {
  SourcePos at;
  std::string second_word;
};

/// The file, leaf by leaf, in file order.
struct NxdtConfig {
  std::string file;
  std::vector<NxdtKey> keys;
  std::optional<std::vector<GreppedLine>> devices_lines = std::nullopt;  ///< unless made in memory

  const NxdtKey* find(std::string_view key) const;
  /// Text of a key, or `fallback` when it is missing or null.
  std::string text(std::string_view key, std::string_view fallback = "") const;
  /// Whole number of a key, possibly negative; nullopt when missing, null, in quotes or no whole number.
  std::optional<int> whole(std::string_view key) const;
  /// Finite number of a key, whole or not; nullopt when missing, null, in quotes or no number.
  std::optional<double> number(std::string_view key) const;
  /// True for True/true, false for False/false, else nullopt (also for text in quotes, which Python takes for
  /// true).
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

/// Training and strategy an NxDT config describes, for the given architecture (from its model_config or the
/// catalogue). Values that are missing or malformed fall back to NxDT's own defaults; lint() reports them.
struct NxdtReading {
  models::Training training;
  models::Strategy strategy;
  int nodes = 1;              ///< hosts, of which a node of the catalogue may be several
  int devices = 32;           ///< ranks per host
  models::Software software;  ///< NxDT, of a release that no config states
  std::vector<std::string>
      not_modelled;  ///< features the simulator does not cover: "mixture of experts", ...
};
NxdtReading interpret(const NxdtConfig& config, const models::Architecture& architecture);

/// `base` with what the config itself states: HF configs override layers, hidden size, positions and
/// rope_theta of their config.json; Megatron configs state the whole shape but the vocabulary. Applying it
/// twice changes nothing.
models::Architecture trained_architecture(const NxdtConfig& config, models::Architecture base);

/// A key of the strategy, batch or cluster that holds an interpolation nobody can resolve here: then its
/// rules have nothing to judge. nullptr when all are known.
const NxdtKey* unresolved_degree(const NxdtConfig& config);

/// True when devices or lnc are those of trn2.
bool describes_trn2(const NxdtConfig& config);

/// Every rule on keys and their values that needs no cluster: schema, order-independent traps, divisibility.
/// `architecture` is what the config trains; `release` the Neuron SDK release it runs on, such as "2.28", and
/// `version` that of NxDT, such as "1.4"; "" when not known.
std::vector<Finding> lint(const NxdtConfig& config, const models::Architecture& architecture,
                          const std::string& release = "", const std::string& version = "");

/// Where a finished run is to live; texts are written into the YAML as they are.
struct NxdtPaths {
  std::string model_config = "config.json";
  std::string train_dir = "/fsx/data/train";
  std::string compiler_cache = "/fsx/neuron_cache";
};

/// The config of `strategy` for `job`, leaf by leaf in NxDT's shipped order (HF Llama form). Literal
/// integers, no interpolation. Throws std::invalid_argument for an architecture NxDT's HF path cannot express
/// (GPT-3, BERT, MoE).
///
/// Why it cannot, or "". Cost: nanoseconds where there is no reason.
std::string why_inexpressible(const models::Architecture& architecture, int sequence);
NxdtConfig to_nxdt(const models::Job& job, const models::Strategy& strategy, const NxdtPaths& paths = {});

}  // namespace trnplan::targets
