#include "io/input/job_learning.h"

#include "tests/catch.h"
#include "tests/faults.h"

using namespace trnplan;

namespace {

struct Sections {
  models::Learning learning;
  models::RunFiles run;
};

Sections sections_of(const std::string& text) {
  const Node root = parse_document(text, "job.yaml");
  std::vector<Diagnostic> faults;
  MapReader map(root, "", faults);
  Sections s;
  io::read_learning(map, s.learning, faults);
  io::read_run_files(map, s.run, faults);
  map.finish();
  if (!faults.empty()) throw InputError(faults);
  return s;
}

/// What is said of a job with one thing wrong.
std::string said(const std::string& text) {
  const std::vector<Diagnostic> faults = faults_in([&] { sections_of(text); });
  REQUIRE(faults.size() == 1);
  CHECK_FALSE(faults[0].fix.empty());
  CHECK(faults[0].at.line > 0);
  return faults[0].key + ": " + faults[0].problem;
}

}  // namespace

TEST_CASE("a job states what a run learns with and where its files lie", "[io]") {
  const Sections s = sections_of(
      "learning: {optimizer: adamw, learning_rate: 3.0e-4, min_learning_rate: 3e-5, schedule: cosine, "
      "warmup_steps: 2000, constant_steps: 100, betas: [0.9, 0.95], weight_decay: 0.1, gradient_clip: 0.5, "
      "seed: 7}\n"
      "run: {checkpoint_steps: 500, checkpoints_kept: 3, log_steps: 5, data: /fsx/data, tokenizer: /fsx/tok, "
      "log_dir: /fsx/logs, start_from: hf, weights: /fsx/shards}\n");
  const models::Learning& l = s.learning;
  CHECK(l.optimizer == "adamw");
  CHECK(l.learning_rate == 3e-4);
  CHECK(l.min_learning_rate == 3e-5);
  CHECK(l.schedule == models::Decay::cosine);
  CHECK(l.warmup_steps == 2000);
  CHECK(l.constant_steps == 100);
  CHECK(l.beta1 == 0.9);
  CHECK(l.beta2 == 0.95);
  CHECK(l.weight_decay == 0.1);
  CHECK(l.gradient_clip == 0.5);
  CHECK(l.seed == 7);
  CHECK(s.run.checkpoint_steps == 500);
  CHECK(s.run.checkpoints_kept == 3);
  CHECK(s.run.log_steps == 5);
  CHECK(s.run.data == "/fsx/data");
  CHECK(s.run.tokenizer == "/fsx/tok");
  CHECK(s.run.log_dir == "/fsx/logs");
  CHECK(s.run.start_from == models::StartFrom::hf);
  CHECK(s.run.weights == "/fsx/shards");
  CHECK(sections_of("run: {checkpoints_kept: all}\n").run.checkpoints_kept == models::kAllCheckpoints);
  // Nothing is stated where nothing is said.
  const Sections none = sections_of("learning: {seed: 7}\n");
  CHECK_FALSE(none.learning.learning_rate.has_value());
  CHECK(none.learning.optimizer.empty());
  CHECK(none.run == models::RunFiles{});
}

TEST_CASE("learning that no run can mean is reported", "[io]") {
  CHECK(contains(said("learning: {learning_rates: 1}\n"), "learning.learning_rates"));
  CHECK(contains(said("learning: {learning_rate: fast}\n"), "learning.learning_rate"));
  CHECK(contains(said("learning: {learning_rate: 0}\n"), "learning.learning_rate"));
  CHECK(contains(said("learning: {learning_rate: 1e-5, min_learning_rate: 1e-4}\n"),
                 "above the learning rate"));
  CHECK(contains(said("learning: {schedule: step}\n"), "learning.schedule: unknown schedule"));
  // Targets know whether their linear schedule has a minimum: Megatron's and TorchTitan's have one.
  CHECK(sections_of("learning: {schedule: linear, min_learning_rate: 1e-5}\n").learning.min_learning_rate ==
        1e-5);
  CHECK(sections_of("learning: {schedule: linear, constant_steps: 5}\n").learning.constant_steps == 5);
  CHECK(sections_of("run: {scheduler: eks}\n").run.scheduler == models::SubmitBy::eks);
  CHECK(contains(said("run: {scheduler: pbs}\n"), "run.scheduler: unknown scheduler"));
  CHECK(contains(said("learning: {optimizer: sgd}\n"), "learning.optimizer: unknown optimizer"));
  CHECK(contains(said("learning: {betas: [0.9]}\n"), "learning.betas"));
  CHECK(contains(said("learning: {betas: [0.9, 1]}\n"), "learning.betas"));
  CHECK(contains(said("learning: {warmup_steps: -1}\n"), "learning.warmup_steps"));
  CHECK(contains(said("learning: {seed: 0}\n"), "learning.seed"));
  CHECK(contains(said("learning: {weight_decay: -0.1}\n"), "learning.weight_decay"));
  CHECK(contains(said("run: {checkpoint_steps: 0}\n"), "run.checkpoint_steps"));
  CHECK(contains(said("run: {checkpoints_kept: none}\n"), "run.checkpoints_kept"));
  CHECK(contains(said("run: {data: relative/data}\n"), "run.data"));
  CHECK(contains(said("run: {log_dir: \"/a b\"}\n"), "run.log_dir"));
  CHECK(contains(said("run: {tokenizer: \"/$(touch x)\"}\n"), "run.tokenizer"));
  CHECK(contains(said("run: {learning_rate: 1}\n"), "run.learning_rate"));
  CHECK(contains(said("run: {start_from: checkpoint, weights: w}\n"), "run.weights"));
  CHECK(contains(said("run: {start_from: scratch, weights: /w}\n"), "reads no weights"));
  CHECK(contains(said("run: {weights: /w}\n"), "their origin is not stated"));
}
