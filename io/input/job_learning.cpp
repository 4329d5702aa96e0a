#include "io/input/job_learning.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "io/format/json_tree.h"
#include "io/input/job_keys.h"
#include "io/input/job_sections.h"

namespace trnplan::io {

namespace {

constexpr int kMostSteps = std::numeric_limits<int>::max();
/// Characters allowed in scripts and configs: Hydra uses , = { } [ ] ( ) $ and quotes itself.
constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_.-+@";

/// Calls `keys` for each key of the section with its member and bounds.
template <class Section, class Keys>
void each_key_of_learning(Section& l, Keys&& keys) {
  keys.word("optimizer", l.optimizer, models::kOptimizerNames);
  keys.number("learning_rate", l.learning_rate, 1e-12, 10);
  keys.number("min_learning_rate", l.min_learning_rate, 0, 10);
  keys.word("schedule", l.schedule, models::kDecayNames);
  keys.steps("warmup_steps", l.warmup_steps, 0);
  keys.steps("constant_steps", l.constant_steps, 0);
  keys.betas(l.beta1, l.beta2);
  keys.number("weight_decay", l.weight_decay, 0, 10);
  keys.number("gradient_clip", l.gradient_clip, 0, 1e6);
  keys.steps("seed", l.seed, 1);
}

template <class Section, class Keys>
void each_key_of_run(Section& run, Keys&& keys) {
  keys.steps("checkpoint_steps", run.checkpoint_steps, 1);
  keys.kept("checkpoints_kept", run.checkpoints_kept);
  keys.steps("log_steps", run.log_steps, 1);
  keys.path("data", run.data);
  keys.path("tokenizer", run.tokenizer);
  keys.path("log_dir", run.log_dir);
  keys.path("weights", run.weights);
  keys.word("start_from", run.start_from, models::kStartNames);
  keys.word("scheduler", run.scheduler, models::kSubmitNames);
}

/// Reads the stated values of a section.
struct ReadKeys {
  MapReader& fields;

  void number(std::string_view key, std::optional<double>& value, double least, double most) const {
    if (fields.has(key)) value = fields.number(key, least, least, most);
  }
  void steps(std::string_view key, std::optional<std::int64_t>& value, int least) const {
    if (fields.has(key)) value = fields.whole(key, least, least, kMostSteps);
  }
  void kept(std::string_view key, std::optional<std::int64_t>& value) const {
    if (fields.has(key) && fields.raw(key)->scalar == "all")
      value = models::kAllCheckpoints;
    else
      steps(key, value, 1);
  }
  template <class Value, std::size_t N>
  void word(std::string_view key, Value& value, const std::array<std::string_view, N>& known) const {
    if (!fields.has(key)) return;
    const std::string text = fields.text(key, "");
    const auto found = std::find(known.begin(), known.end(), text);
    if (found == known.end()) {
      if (!text.empty())
        fields.fault(key, "unknown " + std::string(key) + " " + in_quotes(text),
                     "use one of: " + joined({known.begin(), known.end()}));
    } else if constexpr (std::is_same_v<Value, std::string>) {
      value = text;
    } else {
      value = static_cast<typename Value::value_type>(found - known.begin());
    }
  }
  void path(std::string_view key, std::string& value) const {
    if (!fields.has(key)) return;
    value = fields.text(key, "");
    if (value.empty() || (value.starts_with('/') && value.find_first_not_of(kPlain) == std::string::npos))
      return;
    fields.fault(key, in_quotes(value) + " is not an absolute path of letters, digits and / _ . - + @",
                 "write for example /fsx/data");
    value.clear();
  }
  /// betas: [0.9, 0.95]
  void betas(std::optional<double>& first, std::optional<double>& second) const {
    if (!fields.has("betas")) return;
    const Node* node = fields.raw("betas");
    const auto beta = [&](std::size_t i) {
      return i < node->items.size() ? number_of(node->items[i]) : std::nullopt;
    };
    const auto fits = [](std::optional<double> b) { return b && *b >= 0 && *b < 1; };
    if (node->items.size() == 2 && fits(beta(0)) && fits(beta(1))) {
      first = beta(0);
      second = beta(1);
    } else {
      fields.fault("betas", "Adam's betas are two numbers from 0 to below 1",
                   "write for example [0.9, 0.95]");
    }
  }
};

/// Writes the stated values.
struct WriteKeys {
  Json object = Json::object();

  void number(const char* key, const std::optional<double>& value, double, double) { put(key, value); }
  void steps(const char* key, const std::optional<std::int64_t>& value, int) { put(key, value); }
  void kept(const char* key, const std::optional<std::int64_t>& value) {
    put(key, value);
    if (value == models::kAllCheckpoints) object[key] = "all";
  }
  template <class Value, std::size_t N>
  void word(const char* key, const Value& value, const std::array<std::string_view, N>& known) {
    if constexpr (std::is_same_v<Value, std::string>) {
      path(key, value);
    } else if (value) {
      object[key] = known[static_cast<std::size_t>(*value)];
    }
  }
  void path(const char* key, const std::string& value) {
    if (!value.empty()) object[key] = value;
  }
  void betas(const std::optional<double>& first, const std::optional<double>& second) {
    if (first && second) object["betas"] = {*first, *second};
  }

 private:
  template <class Value>
  void put(const char* key, const std::optional<Value>& value) {
    if (value) object[key] = *value;
  }
};

void refuse_contradictions(MapReader& fields, const models::Learning& l, double steps) {
  const auto within = static_cast<double>(l.warmup_steps.value_or(0) + l.constant_steps.value_or(0));
  if (steps > 0 && within > steps) {
    const char* key = l.warmup_steps ? "warmup_steps" : "constant_steps";
    fields.fault(key,
                 fmt::format("warm-up and constant steps are {:.0f}, the whole run {:.0f}", within, steps),
                 "write fewer, or more training.tokens");
  }
  if (l.learning_rate && l.min_learning_rate && *l.min_learning_rate > *l.learning_rate) {
    fields.fault("min_learning_rate", "is above the learning rate", "write at most learning_rate");
  }
}

}  // namespace

void read_learning(MapReader& map, models::Learning& l, std::vector<Diagnostic>& faults, double steps) {
  const Node* node = map.raw("learning");
  if (node == nullptr || node->is_null()) return;
  MapReader fields = job_section(*node, "learning", faults);
  each_key_of_learning(l, ReadKeys{fields});
  refuse_contradictions(fields, l, steps);
  fields.finish();
}

void read_run_files(MapReader& map, models::RunFiles& run, std::vector<Diagnostic>& faults) {
  const Node* node = map.raw("run");
  if (node == nullptr || node->is_null()) return;
  MapReader fields = job_section(*node, "run", faults);
  each_key_of_run(run, ReadKeys{fields});
  if (!run.weights.empty() && run.start_from && !run.begins_with_weights()) {
    fields.fault("weights", "a run that starts from scratch reads no weights",
                 "leave it out, or write start_from: hf or checkpoint");
  } else if (!run.weights.empty() && !run.start_from && !fields.has("start_from")) {
    fields.fault("weights", "their origin is not stated",
                 "write start_from: hf for converted weights of Hugging Face, checkpoint for those of a run");
  }
  fields.finish();
}

std::string learning_json(const models::Learning& learning) {
  WriteKeys keys;
  each_key_of_learning(learning, keys);
  return keys.object.dump();
}

std::string run_files_json(const models::RunFiles& run) {
  WriteKeys keys;
  each_key_of_run(run, keys);
  return keys.object.dump();
}

}  // namespace trnplan::io
