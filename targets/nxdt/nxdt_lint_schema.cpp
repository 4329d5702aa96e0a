// Lint rules on single keys: missing and unknown keys, types, and values of which NxDT accepts only some.
#include <fmt/format.h>

#include <set>

#include "targets/nxdt/nxdt_lint_rules.h"

namespace trnplan::targets {

namespace {

void required_keys(const Context& x, Report& report) {
  for (const std::string_view key : required_at_top()) {
    if (x.has(key) || x.config.has_section(key)) continue;
    const bool sic = key.starts_with("aync");
    report.error({key, "missing, but the orchestrator reads it",
                  sic ? "write aync_exec_max_inflight_requests: 5 (NxDT spells the key without the s)"
                      : fmt::format("add `{}`", key),
                  nxdt_examples("training_orchestrator.py")});
  }
}

struct RequiredValue {
  std::string_view key;
  bool hf_only;
  const char* why;
  const char* fix;
  std::string_view path;  ///< in NxDT's sources
};

constexpr RequiredValue kRequiredValues[] = {
    {kGlobalBatch, false, "missing", "state the global batch in sequences", "lightning_modules/data/base.py"},
    {"data.micro_batch_size", false, "missing", "write micro_batch_size: 1",
     "lightning_modules/data/base.py"},
    {kSequence, false, "missing, but every batch is checked against it", "state the sequence length",
     "lightning_modules/model/base.py:196"},
    {"model.model_config", true, "missing, but HF models take their shape from this config.json",
     "give the path of the HF config.json", "lightning_modules/model/hf_models/llama_model.py"},
    {kFlash, true, "missing, but HF models read it without a default",
     "write flash_attention: True under model.fusions", "lightning_modules/model/hf_models/llama_model.py"},
};

/// Keys without a default, in sections that are present; a missing section is reported as a whole.
void required_values(const Context& x, Report& report) {
  for (const RequiredValue& r : kRequiredValues) {
    const bool needed = !(r.hf_only && x.megatron) && x.config.has_section(r.key.substr(0, r.key.find('.')));
    if (needed && !x.has(r.key)) report.error({r.key, r.why, r.fix, nxdt(r.path)});
  }
}

/// Known key above this one that takes a value; "" if there is none.
std::string value_above(const std::string& key) {
  for (std::size_t dot = key.rfind('.'); dot != std::string::npos && dot > 0; dot = key.rfind('.', dot - 1)) {
    if (look_up(key.substr(0, dot)).known == Known::yes) return key.substr(0, dot);
  }
  return "";
}

void unknown_key(Report& report, const NxdtKey& leaf) {
  if (const std::string above = value_above(leaf.key); !above.empty()) {
    report.error({leaf.key, fmt::format("{} is a value, not a section", above),
                  fmt::format("write {} on the line of its key", wanted(look_up(above).kind))});
    return;
  }
  const std::string near = most_like(leaf.key);
  const std::string fix = near.empty() ? "remove it" : fmt::format("did you mean {}?", near);
  if (under(leaf.key, "trainer")) {
    report.error({leaf.key, "unknown key; the trainer's constructor raises TypeError", fix,
                  nxdt_examples("training.py:61")});
  } else if (under(leaf.key, "exp_manager")) {
    report.error({leaf.key, "unknown key; merging with the structured schema raises", fix,
                  nxdt("utils/exp_manager.py:183-189")});
  } else if (home_of(last_of(leaf.key)) == nullptr) {  // else looked_up_anywhere() reports it
    report.warning(
        {leaf.key, "unknown key; NxDT ignores it silently", fix, nxdt_examples("training_orchestrator.py")});
  }
}

void unknown_keys(const Context& x, Report& report) {
  constexpr int most = 100;  // a file full of foreign keys needs no complete list
  int unknown = 0;
  for (const NxdtKey& leaf : x.config.keys) {
    if (look_up(leaf.key).known != Known::no) continue;
    if (++unknown <= most) unknown_key(report, leaf);
  }
  if (unknown > most) {
    report.warning({"", fmt::format("{} more unknown keys", unknown - most), "is this an NxDT config?",
                    nxdt_examples("training_orchestrator.py")});
  }
}

void value_kind(Report& report, const NxdtKey& leaf, Kind kind) {
  if (!leaf.quoted && leaf.text.find("${") != std::string::npos) {
    report.warning(
        {leaf.key, fmt::format("{} cannot be resolved here; its default is judged", printable(leaf.text, 60)),
         fmt::format("write {}", wanted(kind))});
    return;
  }
  const std::string shown =
      leaf.quoted ? fmt::format("\"{}\" in quotes", printable(leaf.text, 60)) : printable(leaf.text, 60);
  std::string fix = fmt::format("write {}", wanted(kind));
  if (leaf.quoted && kind != Kind::list) fix += " without quotes";
  const Severity severity = kind == Kind::count ? Severity::error : Severity::warning;
  report.add(severity, {leaf.key, fmt::format("{} was expected, not {}", wanted(kind), shown), fix});
}

void value_kinds(const Context& x, Report& report) {
  for (const NxdtKey& leaf : x.config.keys) {
    const auto [known, kind] = look_up(leaf.key);
    if (known == Known::section) {
      const bool empty = leaf.text == "{}" || leaf.text == "null" || leaf.text.empty();
      if (!empty) {
        report.error({leaf.key, "a section was expected, not a value", "write its keys below it, indented"});
      }
      continue;
    }
    if (known != Known::yes || !x.states(leaf.key)) continue;
    if (!fits(x.config, leaf.key, kind)) value_kind(report, leaf, kind);
  }
}

void source_and_seed(const Context& x, Report& report) {
  if (x.states("model_source") && !one_of(x.config.text("model_source"), {"hf", "megatron"})) {
    report.error({"model_source", x.shown("model_source") + " is neither hf nor megatron",
                  "write hf or megatron", nxdt_examples("training.py:82-91")});
  }
  if (x.has("seed") && x.config.whole("seed").value_or(0) <= 0) {
    report.error({"seed", "must be a whole number above 0", "write seed: 1234",
                  nxdt("lightning_modules/model/megatron_init.py:75")});
  }
}

void trainer_values(const Context& x, Report& report) {
  const std::string source = nxdt("lightning_modules/nlp_overrides.py:890-938");
  if (x.states("trainer.accumulate_grad_batches") &&
      x.config.text("trainer.accumulate_grad_batches") != "1") {
    report.error({"trainer.accumulate_grad_batches", "values above 1 raise ValueError",
                  "remove it; accumulation follows from global and micro batch", source});
  }
  if (x.is_true("trainer.enable_model_summary")) {
    report.error({"trainer.enable_model_summary", "True raises", "write False", source});
  }
  if (x.states("trainer.gradient_clip_algorithm")) {
    report.error({"trainer.gradient_clip_algorithm", "must be null", "write null", source});
  }
  if (x.megatron && x.states("trainer.precision") && !x.contains("trainer.precision", "32")) {
    report.error({"trainer.precision", "must be 32 for Megatron models", "remove it; see the precision block",
                  source});
  }
  if (x.is_true("exp_manager.log_local_rank_0_only") && x.is_true("exp_manager.log_global_rank_0_only")) {
    report.error({"exp_manager.log_global_rank_0_only", "both rank_0_only switches are True: ValueError",
                  "keep log_local_rank_0_only", nxdt("utils/exp_manager.py")});
  }
}

void validation_values(const Context& x, Report& report) {
  const bool whole_limit = x.config.whole("trainer.limit_val_batches").has_value();
  if (x.megatron && !whole_limit && x.config.number("trainer.limit_val_batches").value_or(0) > 1.0) {
    report.error({"trainer.limit_val_batches", "a fraction must be at most 1.0", "write 1 or 0.0"});
  }
  const bool per_epoch =
      !x.has("trainer.check_val_every_n_epoch") || x.states("trainer.check_val_every_n_epoch");
  if (per_epoch && x.config.whole("trainer.val_check_interval")) {
    report.warning({"trainer.check_val_every_n_epoch",
                    "not null: val_check_interval above the number of batches of an epoch raises ValueError",
                    "write check_val_every_n_epoch: null", nxdt("lightning_modules/nlp_overrides.py")});
  }
}

void looked_up_anywhere(const Context& x, Report& report) {
  constexpr std::size_t most = 20;
  std::set<std::string_view> seen;
  for (const NxdtKey& leaf : x.config.keys) {
    for (std::string_view path = leaf.key; !path.empty(); path = parent_of(path)) {
      const std::string_view* home = home_of(last_of(path));
      if (home == nullptr || parent_of(path) == *home) continue;
      if (seen.size() >= most || !seen.insert(path).second) continue;
      report.warning({path,
                      fmt::format("NxDT finds `{}` by its bare name anywhere in the file", last_of(path)),
                      home->empty() ? "move it to the top level or rename it"
                                    : fmt::format("move it under {} or rename it", *home)});
    }
  }
}

void model_name(const Context& x, Report& report) {
  if (x.megatron || !x.states("name")) return;
  const bool mixtral = x.contains("name", "mixtral");
  if (!mixtral && (x.trained.experts > 0 || x.config.has_section("model.moe"))) {
    report.warning({"name", "without `mixtral` in the name this model is built as a dense Llama",
                    "write name: hf_mixtral"});
  } else if (!mixtral && !x.contains("name", "llama")) {
    report.note({"name", "a name without `mixtral` is built as Llama", "write name: hf_llama"});
  }
}

void shape_overrides(const Context& x, Report& report) {
  const auto compare = [&](std::string_view key, int given, int trained) {
    if (given <= 0 || given == trained) return;
    report.note({key,
                 fmt::format("trains {}, not the {} of {}", trained, given,
                             x.given.name.empty() ? "the model" : printable(x.given.name, 80)),
                 "check that this is meant"});
  };
  compare("model.num_layers", x.given.layers, x.trained.layers);
  compare("model.hidden_size", x.given.hidden, x.trained.hidden);
}

/// Dialect of models: NxDT's HF path has Llama's attention, in which a token attends to every token before
/// it.
void hidden_by_a_window(const Context& x, Report& report) {
  const int window = x.trained.sliding_window, sequence = x.reading.training.sequence;
  if (x.megatron || !models::has_window(x.trained, sequence)) return;
  report.warning({"model.model_config",
                  fmt::format("NxDT's HF path has no sliding window: in a sequence of {}, tokens will see "
                              "more than the {} before them",
                              sequence, window),
                  fmt::format("train sequences of at most {}, which the window does not cut, or set "
                              "sliding_window to null in config.json",
                              window),
                  nxdt("models/hf_models/modeling_llama.py")});
}

// clang-format off
constexpr Rule kSchemaRules[] = {
    {"schema", required_keys},
    {"schema", required_values},
    {"schema", unknown_keys},
    {"schema", value_kinds},
    {"schema", source_and_seed},
    {"schema", trainer_values},
    {"validation", validation_values},
    {"lookup", looked_up_anywhere},
    {"name", model_name},
    {"architecture", shape_overrides},
    {"architecture", hidden_by_a_window},
};
// clang-format on

}  // namespace

std::span<const Rule> schema_rules() {
  return kSchemaRules;
}

}  // namespace trnplan::targets
