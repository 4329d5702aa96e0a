#include "io/input/job_learning.h"
#include "io/input/job_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "io/input/job_sections.h"

namespace trnplan::io {

namespace {

constexpr int kMostSteps = std::numeric_limits<int>::max();

std::optional<double> number_in(MapReader& fields, std::string_view key, double least, double most) {
  if (!fields.has(key)) {
    fields.ignore({key});
    return std::nullopt;
  }
  return fields.number(key, least, least, most);
}

std::optional<std::int64_t> whole_in(MapReader& fields, std::string_view key, int least) {
  if (!fields.has(key)) {
    fields.ignore({key});
    return std::nullopt;
  }
  return fields.whole(key, least, least, kMostSteps);
}

/// The index of the word among those that are known.
std::optional<std::size_t> word_in(MapReader& fields, std::string_view key,
                                   std::span<const std::string_view> known) {
  if (!fields.has(key)) {
    fields.ignore({key});
    return std::nullopt;
  }
  const std::string text = fields.text(key, "");
  const auto found = std::find(known.begin(), known.end(), text);
  if (found != known.end()) return static_cast<std::size_t>(found - known.begin());
  if (!text.empty()) {
    fields.fault(key, "unknown " + std::string(key) + " " + in_quotes(text),
                 "use one of: " + joined({known.begin(), known.end()}));
  }
  return std::nullopt;
}

/// betas: [0.9, 0.95]
void read_betas(MapReader& fields, models::Learning& l) {
  const Node* node = fields.raw("betas");
  if (node == nullptr || node->is_null()) return;
  const auto beta = [&](std::size_t i) {
    return i < node->items.size() ? number_of(node->items[i]) : std::nullopt;
  };
  const auto fits = [](std::optional<double> b) { return b && *b >= 0 && *b < 1; };
  if (node->items.size() == 2 && fits(beta(0)) && fits(beta(1))) {
    l.beta1 = beta(0);
    l.beta2 = beta(1);
  } else {
    fields.fault("betas", "Adam's betas are two numbers from 0 to below 1", "write for example [0.9, 0.95]");
  }
}

void refuse_contradictions(MapReader& fields, const models::Learning& l, double steps) {
  const auto within = static_cast<double>(l.warmup_steps.value_or(0) + l.constant_steps.value_or(0));
  if (steps > 0 && within > steps) {
    const char* key = l.warmup_steps ? "warmup_steps" : "constant_steps";
    fields.fault(key,
                 fmt::format("warm-up and constant steps are {:.0f}, the whole run {:.0f}", within, steps),
                 "write fewer, or more training.tokens");
  }
  if (l.learning_rate && l.min_learning_rate && *l.min_learning_rate > *l.learning_rate) {
    fields.fault("min_learning_rate", "is above the learning rate", "write at most what learning_rate says");
  }
}

/// What scripts and configs may hold: Hydra takes , = { } [ ] ( ) $ and quotes for its own.
std::string path_in(MapReader& fields, std::string_view key) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_.-+@";
  if (!fields.has(key)) {
    fields.ignore({key});
    return "";
  }
  const std::string path = fields.text(key, "");
  if (path.starts_with('/') && path.find_first_not_of(kPlain) == std::string::npos) return path;
  if (!path.empty()) {
    fields.fault(key, in_quotes(path) + " is no absolute path of letters, digits and / _ . - + @",
                 "write for example /fsx/data");
  }
  return "";
}

/// A whole number, or all.
std::optional<std::int64_t> kept_in(MapReader& fields) {
  const Node* node = fields.raw("checkpoints_kept");
  if (node != nullptr && node->kind == Node::Kind::scalar && node->scalar == "all")
    return models::kAllCheckpoints;
  return whole_in(fields, "checkpoints_kept", 1);
}

}  // namespace

void read_learning(MapReader& map, models::Learning& l, std::vector<Diagnostic>& faults, double steps) {
  const Node* node = map.raw("learning");
  if (node == nullptr || node->is_null()) return;
  MapReader fields = job_section(*node, "learning", faults);
  if (const auto name = word_in(fields, "optimizer", models::kOptimizerNames))
    l.optimizer = models::kOptimizerNames[*name];
  l.learning_rate = number_in(fields, "learning_rate", 1e-12, 10);
  l.min_learning_rate = number_in(fields, "min_learning_rate", 0, 10);
  if (const auto decay = word_in(fields, "schedule", models::kDecayNames))
    l.schedule = static_cast<models::Decay>(*decay);
  l.warmup_steps = whole_in(fields, "warmup_steps", 0);
  l.constant_steps = whole_in(fields, "constant_steps", 0);
  read_betas(fields, l);
  l.weight_decay = number_in(fields, "weight_decay", 0, 10);
  l.gradient_clip = number_in(fields, "gradient_clip", 0, 1e6);
  l.seed = whole_in(fields, "seed", 1);
  refuse_contradictions(fields, l, steps);
  fields.finish();
}

void read_run_files(MapReader& map, models::RunFiles& run, std::vector<Diagnostic>& faults) {
  const Node* node = map.raw("run");
  if (node == nullptr || node->is_null()) return;
  MapReader fields = job_section(*node, "run", faults);
  run.checkpoint_steps = whole_in(fields, "checkpoint_steps", 1);
  run.checkpoints_kept = kept_in(fields);
  run.log_steps = whole_in(fields, "log_steps", 1);
  run.data = path_in(fields, "data");
  run.tokenizer = path_in(fields, "tokenizer");
  run.log_dir = path_in(fields, "log_dir");
  run.weights = path_in(fields, "weights");
  if (const auto start = word_in(fields, "start_from", models::kStartNames))
    run.start_from = static_cast<models::StartFrom>(*start);
  if (const auto by = word_in(fields, "scheduler", models::kSubmitNames))
    run.scheduler = static_cast<models::SubmitBy>(*by);
  if (!run.weights.empty() && run.start_from && !run.begins_with_weights()) {
    fields.fault("weights", "a run that starts from scratch reads no weights",
                 "leave it out, or write start_from: hf or checkpoint");
  } else if (!run.weights.empty() && !run.start_from && !fields.has("start_from")) {
    fields.fault("weights", "it is not said whose they are",
                 "write start_from: hf for converted ones of Hugging Face, checkpoint for those of a run");
  }
  fields.finish();
}

}  // namespace trnplan::io
