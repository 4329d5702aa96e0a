// The configs nearest to one that does not fit, and the lines that lead to them.
#include "targets/nxdt/nearest.h"

#include <algorithm>

#include <fmt/format.h>

#include "io/input/job_input.h"
#include "io/input/nxdt_edit.h"
#include "io/input/readers.h"
#include "models/memory/memory.h"
#include "planner/check/judge.h"
#include "planner/plan/space.h"
#include "targets/nxdt/nxdt_yaml.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/models/setup.h"
#include "text/document.h"

using namespace trnplan;
using targets::Change;

namespace {

const std::string kFile = TRNPLAN_SOURCE_DIR "/tests/planner/fixtures/oom.yaml";

/// A config and the job it is of.
struct Given {
  std::string text;
  targets::NxdtConfig config;
  models::Architecture trained;
  targets::NxdtReading reading;
  models::Job job;
};

Given given(const std::string& text) {
  Given g;
  g.text = text;
  g.config = targets::nxdt_from(parse_document(text, "oom.yaml"));
  g.trained = io::architecture_of_nxdt(g.config, test_catalog()).architecture;
  g.reading = targets::interpret(g.config, g.trained);
  g.job.architecture = g.trained;
  g.job.training = g.reading.training;
  g.job.cluster = {test_catalog().instance("trn1.32xlarge"), g.reading.nodes};
  return g;
}

std::vector<targets::NearConfig> near(const Given& g, int most = 3) {
  return targets::nearest_that_fit(g.job, g.reading.strategy, g.config, g.trained, datasheet(),
                                   {.most = most, .threads = 1});
}

io::NxdtEdit edited(const Given& g, const std::vector<Change>& changes) {
  auto edit = io::edit_nxdt(g.text, g.config, changes);
  REQUIRE(edit);
  return *edit;
}

}  // namespace

TEST_CASE("the nearest configs fit, keep the rules, and read back from the edited file", "[planner]") {
  const std::string oom = read_text(kFile);
  for (const std::string& text :
       {oom, replaced(oom, "tensor_model_parallel_size: 8", "tensor_model_parallel_size: 16"),
        replaced(oom, "num_nodes: 1", "num_nodes: 4")}) {
    const Given g = given(text);
    const auto all = near(g);
    REQUIRE(all.size() == 3);
    std::size_t keys = 1;
    bool warned = false;
    for (const targets::NearConfig& n : all) {
      CHECK(n.fit_probability >= 0.9);
      const io::NxdtEdit edit = edited(g, n.changes);
      const Given there = given(edit.text);
      CHECK((!warned || !n.warnings.empty()));  // those that lose precision last
      if (!warned && !n.warnings.empty()) keys = 1;
      warned = !n.warnings.empty();
      CHECK(warned == (g.reading.strategy.zero1 && !there.reading.strategy.zero1));
      if (warned) CHECK(n.warnings.front().find("turns off master weights") != std::string::npos);
      CHECK(edit.changed.size() >= keys);  // fewest first
      keys = edit.changed.size();
      CHECK(models::canonical(there.reading.strategy) == models::canonical(n.plan.strategy));
      CHECK(there.reading.training.global_batch == g.reading.training.global_batch);
      const auto judged = planner::judge(there.job, models::canonical(there.reading.strategy), datasheet());
      CHECK(judged.broken.empty());
      REQUIRE(judged.plan);
      CHECK(judged.plan->report.step.value == n.plan.report.step.value);
      // The diff has each changed line once, and nothing else.
      CHECK(std::count(edit.diff.begin(), edit.diff.end(), '\n') >=
            static_cast<std::ptrdiff_t>(2 + 2 * edit.changed.size()));
      CHECK(edit.diff.find("--- oom.yaml\n+++ oom.yaml\n@@ -") == 0);
    }
  }
}

TEST_CASE("no single key that fits is faster than the one that is named first", "[planner]") {
  const Given g = given(replaced(read_text(kFile), "micro_batch_size: 4", "micro_batch_size: 2"));
  const auto named = near(g, 1);
  REQUIRE(named.size() == 1);
  CHECK(edited(g, named[0].changes).changed.size() == 1);
  double best = 1e9;
  const auto offer = [&](models::Strategy s) {
    s = models::canonical(s);
    if (s == models::canonical(g.reading.strategy)) return;
    const auto judged = planner::judge(g.job, s, datasheet());
    if (!judged.plan || !judged.broken.empty() || judged.memory->fit_probability < 0.9 ||
        judged.memory->worst().peak() > judged.memory->limit)
      return;
    best = std::min(best, judged.plan->report.step.value);
  };
  for (int m = 1; m <= 256; m *= 2) {
    models::Strategy s = g.reading.strategy;
    s.micro_batch = m;
    offer(s);
  }
  for (int classes = 0; classes < 16; ++classes) {
    models::Strategy s = g.reading.strategy;
    s.recompute = {false, true, (classes & 1) != 0, (classes & 2) != 0, (classes & 4) != 0};
    offer(s);
  }
  const auto on_all_cores = [&](models::Strategy s) {
    s.data_parallel = static_cast<int>(32 / s.model_parallel());
    offer(s);
  };
  for (const int degree : {1, 2, 4, 8, 16, 32}) {
    models::Strategy s = g.reading.strategy;
    s.pipeline_parallel = degree;
    if (degree <= 4) on_all_cores(s);
    s = g.reading.strategy;
    s.tensor_parallel = degree;
    if (degree <= 8) on_all_cores(s);  // beyond, the KV heads need copies: a second key
  }
  for (const bool flag : {true, false}) {
    models::Strategy s = g.reading.strategy;
    s.zero1 = flag;
    offer(s);
    s = g.reading.strategy;
    s.sequence_parallel = flag;
    offer(s);
    s = g.reading.strategy;
    s.recompute = {.full = flag};
    offer(s);
  }
  CHECK(named[0].plan.report.step.value == best);
}

TEST_CASE("values are replaced in their lines; comments, lists below and interpolations", "[planner]") {
  const std::string text =
      "# comment\n"
      "trainer:\n"
      "  devices: 32\n"
      "exp_manager:\n"
      "  checkpoint_callback_params:\n"
      "    model_parallel_size: ${multiply:${distributed_strategy.tensor_model_parallel_size}, 2}\n"
      "distributed_strategy:\n"
      "  tensor_model_parallel_size: 8   # of 32\n"
      "data: {micro_batch_size: 2}\n"
      "model:\n"
      "  activations_checkpoint_recompute:\n"
      "    - CoreAttention\n"
      "    # and\n"
      "    - LlamaMLP\n"
      "  last: [1,\n"
      "    2]  # over two lines\n"
      "  name: \"a # b\"\n";
  Given g;
  g.text = text;
  g.config = targets::nxdt_from(parse_document(text, "c.yaml"));
  const std::string tp = "distributed_strategy.tensor_model_parallel_size",
                    list = "model.activations_checkpoint_recompute",
                    parallel = "exp_manager.checkpoint_callback_params.model_parallel_size";
  const io::NxdtEdit edit = edited(g, {{tp, "8", "4", {}},
                                       {parallel, "16", "8", {}},
                                       {list, "", "[LlamaMLP]", {}},
                                       {"model.pipeline_cuts", "null", "[\"model.layers.3\"]", {}}});
  CHECK(edit.changed.size() == 3);  // the interpolation follows
  CHECK(edit.diff ==
        "--- c.yaml\n+++ c.yaml\n"
        "@@ -8,1 +8,1 @@\n"
        "-  tensor_model_parallel_size: 8   # of 32\n"
        "+  tensor_model_parallel_size: 4   # of 32\n"
        "@@ -11,4 +11,1 @@\n"
        "-  activations_checkpoint_recompute:\n"
        "-    - CoreAttention\n"
        "-    # and\n"
        "-    - LlamaMLP\n"
        "+  activations_checkpoint_recompute: [LlamaMLP]\n"
        "@@ -17,0 +15,1 @@\n"
        "+  pipeline_cuts: [\"model.layers.3\"]\n");
  CHECK(edit.text.find("  name: \"a # b\"\n  pipeline_cuts: [\"model.layers.3\"]\n") != std::string::npos);
  // An interpolation that does not follow is replaced.
  CHECK(edited(g, {{parallel, "16", "4", {}}}).diff.find("+    model_parallel_size: 4\n") !=
        std::string::npos);
  CHECK(edited(g, {{"model.last", "", "7", {}}}).diff.find("-    2]  # over two lines\n+  last: 7\n") !=
        std::string::npos);
  // A key in braces with others is not edited, and one without a section is reported as unreachable.
  CHECK_FALSE(io::edit_nxdt(text, g.config, {{"data.micro_batch_size", "2", "1", {}}}));
  CHECK_FALSE(io::edit_nxdt(text, g.config, {{"model.fusions.flash_attention", "null", "True", {}}}));
}

TEST_CASE("a job whose model is an NxDT YAML keeps its KV replication", "[planner]") {
  class OneFile : public Files {
   public:
    explicit OneFile(std::string yaml) : yaml_(std::move(yaml)) {}
    bool has(const std::filesystem::path& path) const override { return path.extension() == ".yaml"; }
    std::string text(const std::filesystem::path& path) const override {
      return path.filename() == "job.yaml" ? "model: n.yaml\n" + more : yaml_;
    }
    std::string more;

   private:
    std::string yaml_;
  };
  const std::string text = replaced(read_text(kFile), "kv_replicator: 1", "kv_replicator: 4");
  const Given g = given(text);
  OneFile files(text);
  const models::Job job = io::read_job("job.yaml", test_catalog(), files).job;
  CHECK(job.pin.kv_replicator == 4);
  const auto peak = [](const models::Job& of, const models::Strategy& s) {
    return models::memory_of(of, models::canonical(s), datasheet()).worst().peak().value;
  };
  const models::Strategy pinned = planner::default_strategy(job);
  CHECK(peak(job, pinned) == peak(g.job, g.reading.strategy));  // what check says
  models::Strategy once = pinned;
  once.kv_replicator = 1;
  CHECK(peak(job, once) < peak(job, pinned));
  // Another TP has another one.
  files.more = "pin: {tensor_parallel: 16}\n";
  CHECK_FALSE(io::read_job("job.yaml", test_catalog(), files).job.pin.kv_replicator);
}

TEST_CASE("plan takes an NxDT YAML for what it trains, and is free to search", "[planner]") {
  io::JobOptions options;
  CHECK(io::read_job_input(kFile, options, test_catalog()).reading.job.pin.tensor_parallel == 8);
  options.free_strategy = true;
  const io::JobInput input = io::read_job_input(kFile, options, test_catalog());
  CHECK(input.source == io::JobSource::nxdt);
  CHECK_FALSE(input.reading.job.pin.tensor_parallel);
  CHECK_FALSE(input.reading.job.pin.recompute);
  CHECK(input.reading.job.training.global_batch == 1024);
  std::string notes;
  for (const std::string& note : input.reading.notes) notes += note + "\n";
  CHECK(notes.find("is the baseline, and the search is not restricted") != std::string::npos);
  CHECK(notes.find("is pinned") == std::string::npos);
}
