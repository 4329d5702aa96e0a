// check --target torchtitan: TOMLs and modules with faults, and what is not modelled.
#include <algorithm>

#include "models/framework/framework.h"
#include "targets/registry.h"
#include "tests/catch.h"
#include "tests/faults.h"

using namespace trnplan;

namespace {

const std::string kToml =
    "[model]\nname = \"llama3\"\nflavor = '8B'\n[training]\nlocal_batch_size = 1\nseq_len = 8_192\n"
    "[activation_checkpoint]\nmode = \"full\"\n";

planner::RunReading titan(const std::string& more, int ranks = 16) {
  return *targets::find("torchtitan")->read_run({"job.toml", kToml + more}, ranks);
}

std::string titan_refused(const std::string& more, int ranks = 16) {
  return refusal_of([&] { (void)titan(more, ranks); });
}

}  // namespace

TEST_CASE("a TOML of TorchTitan is read with what it leaves to the cluster", "[targets]") {
  const planner::RunReading run = titan("");
  CHECK(run.config.strategy.data_parallel == 16);
  CHECK(run.config.strategy.sharding == models::Sharding::parameters);
  CHECK(run.config.strategy.recompute.full);
  CHECK(run.config.training.global_batch == 16);
  CHECK(run.config.training.sequence == 8192);
  const planner::RunReading hybrid =
      titan("[parallelism]\ndata_parallel_replicate_degree = 2\ntensor_parallel_degree = 2\n");
  CHECK(hybrid.config.strategy.data_parallel == 8);
  CHECK(hybrid.config.strategy.shard_ranks == 4);
  // One layer less in the first and the last of four stages of 32 layers: 34 are shared out.
  const planner::RunReading stages = titan("[parallelism]\npipeline_parallel_degree = 4\n");
  CHECK(stages.config.strategy.pipeline_cuts == std::vector<int>{7, 16, 24});
  // torch.distributed.pipelining takes names in any case.
  const planner::RunReading small =
      titan("[parallelism]\npipeline_parallel_degree = 4\npipeline_parallel_schedule = \"gpipe\"\n");
  CHECK(small.config.not_modelled.empty());
  CHECK(small.config.strategy.schedule == models::Schedule::gpipe);
}

// Both values of compile.enable gave one prediction, that of a compiled model, but v0.2.2 runs eagerly by default.
TEST_CASE("a TOML of TorchTitan says how the model is run", "[targets]") {
  const auto loop = [](const std::string& more) { return titan(more).config.strategy.framework; };
  const std::string async =
      "[parallelism]\nenable_async_tensor_parallel = true\ntensor_parallel_degree = 2\n";
  CHECK(loop("") == "fsdp-eager");
  CHECK(loop("[compile]\nenable = false\n") == "fsdp-eager");
  CHECK(loop("[compile]\nenable = true\n") == "fsdp");
  CHECK(loop("[compile]\nenable = true\ncomponents = [\"loss\"]\n") == "fsdp-eager");
  CHECK(loop("[compile]\nenable = true\ncomponents = [\"model\"]\n") == "fsdp");
  CHECK(loop(async + "[compile]\nenable = true\n") == "fsdp-async-tp");
  CHECK(titan("[compile]\nenable = true\ncomponents = [\"model\"]\n").notes.size() == 1);
  CHECK(titan("[compile]\nenable = true\nbackend = \"aot_eager\"\n").config.not_modelled.size() == 1);
  CHECK(titan("[compile]\nenable = true\nbackend = \"neuron\"\n").config.not_modelled.empty());
}

// Each of them changes a step, and was read as if it did not stand there.
TEST_CASE("settings of a TOML that nothing here predicts are named", "[targets]") {
  const auto unmodelled = [](const std::string& more) { return titan(more).config.not_modelled; };
  const std::string tp = "[parallelism]\ntensor_parallel_degree = 2\n";
  CHECK(unmodelled(tp).empty());
  CHECK(unmodelled(tp + "disable_loss_parallel = true\n").size() == 1);
  CHECK(unmodelled("[parallelism]\ndisable_loss_parallel = true\n").empty());  // nothing to share the logits
  CHECK(unmodelled("[optimizer]\nearly_step_in_backward = true\n").size() == 1);
  CHECK(unmodelled("[parallelism]\ncontext_parallel_degree = 2\ncontext_parallel_load_balancer = \"ptrr\"\n")
            .size() == 1);
  CHECK(unmodelled("[fault_tolerance]\nenable = true\n").size() == 1);
  const planner::RunReading apart =
      titan("[fault_tolerance]\nenable = true\nsemi_sync_method = \"diloco\"\n");
  CHECK(apart.config.not_modelled.empty());
  CHECK(apart.notes.size() == 1);
}

// v0.2.2 torchtitan/distributed/utils.py: mixed precision is fully_shard's, or autocast's of DDP and of a single
// device.
TEST_CASE("TP or PP without FSDP or CP are read as FP32", "[targets]") {
  const auto precision = [](const std::string& degrees, int ranks) {
    return titan("[parallelism]\n" + degrees, ranks).config.strategy.precision;
  };
  CHECK(precision("tensor_parallel_degree = 8\n", 8) == models::Precision::fp32);
  CHECK(precision("pipeline_parallel_degree = 4\n", 4) == models::Precision::fp32);
  CHECK(precision("tensor_parallel_degree = 8\n", 16) == models::Precision::mixed_precision);
  CHECK(precision("tensor_parallel_degree = 4\ncontext_parallel_degree = 2\n", 8) ==
        models::Precision::mixed_precision);
  CHECK(precision("data_parallel_replicate_degree = 8\n", 8) == models::Precision::mixed_precision);
  CHECK(precision("", 1) == models::Precision::mixed_precision);
}

// selective_ac_option is "2" where nobody says, as pytorch/torchtitan@v0.2.2 torchtitan/config/job_config.py has it.
TEST_CASE("TorchTitan's activation checkpointing is read in each of its forms", "[targets]") {
  const auto read = [](const std::string& section) {
    std::string text = kToml.substr(0, kToml.find("[activation_checkpoint]")) + section;
    const planner::RunReading run = *targets::find("torchtitan")->read_run({"job.toml", text}, 16);
    CHECK(run.config.not_modelled.empty());
    return to_string(run.config.strategy.recompute);
  };
  const std::string selective = "[activation_checkpoint]\nmode = \"selective\"\n";
  CHECK(read("[activation_checkpoint]\nmode = \"none\"\n") == "none");
  CHECK(read("[activation_checkpoint]\nmode = \"full\"\nselective_ac_option = \"op\"\n") == "full");
  CHECK(read(selective + "selective_ac_option = \"op\"\n") == "SelectiveOp");
  CHECK(read(selective + "selective_ac_option = \"3\"\n") == "full/3");
  CHECK(read(selective + "selective_ac_option = '1'\n") == "full");
  CHECK(read(selective) == "full/2");
  CHECK(read("") == "full/2");
  for (const char* bad : {"ops", "0", "-2", "2.5", ""}) {
    INFO(bad);
    try {
      (void)read(selective + "selective_ac_option = \"" + bad + "\"\n");
      FAIL_CHECK("read");
    } catch (const InputError& e) {
      REQUIRE(e.faults().size() == 1);
      CHECK(contains(to_string(e.faults()[0]), "job.toml:9:"));
      CHECK(contains(to_string(e.faults()[0]), "is neither op nor a number of layers"));
    }
  }
}

TEST_CASE("faults of a TOML of TorchTitan", "[targets]") {
  CHECK(contains(titan_refused("[parallelism]\ntensor_parallel_degre = 2\n"),
                 "job.toml:10:1: parallelism.tensor_parallel_degre"));
  CHECK(
      contains(titan_refused("[parallelism]\ntensor_parallel_degre = 2\n"), "write tensor_parallel_degree"));
  CHECK(contains(titan_refused("[parallelism]\ndata_parallel_shard_degree = 4\n"),
                 "make 4 ranks, the cluster has 16"));
  CHECK(contains(titan_refused("[optimizer]\nlr = fast\n"), "job.toml:10:8: this is not valid TOML"));
  CHECK(contains(titan_refused("[training]\nsteps = 3\n"), "cannot redefine existing table 'training'"));
  CHECK(contains(titan_refused("[optimizer\nlr = 1\n"), "expected ']'"));
  CHECK(contains(titan_refused("[a.b]\nc = [1, 2\n"), "parsing array: encountered end-of-file"));
  CHECK(contains(titan_refused("[debug]\nseed = 1 2\n"), "expected a comment or whitespace, saw '2'"));
  // Values of another kind were values: predicted eagerly, or as compiled by nothing.
  const std::string on = "[compile]\nenable = true\n";
  CHECK(contains(titan_refused(on + "components = \"model\"\n"), "compile.components: is not a list"));
  CHECK(contains(titan_refused(on + "components = [1]\n"),
                 "compile.components: an item of the list is not a text"));
  CHECK(contains(titan_refused(on + "backend = [\"inductor\"]\n"), "compile.backend: is a list"));
  CHECK(contains(titan_refused("[checkpoint]\nkeep_latest_k = [4]\n"), "keep_latest_k: is a list"));
  CHECK(contains(titan_refused("[compile]\nenable = \"true\"\n"), "compile.enable: is a text in quotes"));
  CHECK(
      contains(titan_refused("[checkpoint]\nkeep_latest_k = \"4\"\n"), "keep_latest_k: is a text in quotes"));
  CHECK(contains(titan_refused("[compile.enable]\n"), "compile.enable: is a section"));
}

// Catches: a section that is a value was left out, and the run read with the usual values.
TEST_CASE("a section of TorchTitan is a table", "[targets]") {
  for (const char* value : {"3", "\"x\"", "true", "[1, 2]", "[]"}) {
    INFO(value);
    const std::string text = "parallelism = " + std::string(value) + "\n" + kToml;
    const std::string said = refusal_of([&] {
      (void)targets::find("torchtitan")->read_run({"job.toml", text}, 16);
    });
    CHECK(contains(said, "job.toml:1:15: parallelism: is a section, not a value"));
    CHECK(contains(said, "fix: write its keys below [parallelism]"));
  }
  CHECK(contains(refusal_of([] {
                   (void)targets::find("torchtitan")
                       ->read_run({"job.toml", "model = 3\n[training]\nseq_len = 8192\n"}, 16);
                 }),
                 "job.toml"));
}

// Catches: a dollar in a text of TOML taken for a variable of a shell, so that the usual value stood for it.
TEST_CASE("a text in quotes is what it is", "[targets]") {
  const std::string selective = kToml.substr(0, kToml.find("[activation_checkpoint]"));
  CHECK(contains(refusal_of([&] {
                   (void)targets::find("torchtitan")
                       ->read_run({"job.toml", selective + "[activation_checkpoint]\nmode = \"selective\"\n"
                                                           "selective_ac_option = \"$N\"\n"},
                                  16);
                 }),
                 "\"$N\" is neither op nor a number of layers"));
}

// Python takes any indentation. Recompute was lost behind a tab, and with it memory that the run needs.
TEST_CASE("a module is read the same however it is indented", "[targets]") {
  const std::string text =
      "def trnplan():\n    config = shipped(\"llama3_8b\")\n    put(\n        config.training,\n"
      "        seq_len=8192,\n        local_batch_size=1,\n    )\n"
      "    put(config.parallelism, tensor_parallel_degree=2)\n    config.activation_checkpoint = None\n"
      "    return config\n";
  std::string tabs = text;
  for (std::size_t at = 0; (at = tabs.find("    ", at)) != std::string::npos;) tabs.replace(at, 4, "\t");
  const auto read = [](const std::string& module) {
    return targets::find("torchtitan")->read_run({"trnplan_config.py", module}, 16)->config.strategy;
  };
  CHECK(to_string(read(text).recompute) == "none");
  CHECK(read(text).tensor_parallel == 2);
  CHECK(read(tabs) == read(text));
}

// A setting that a person wrote another way was left out, and the file read as another plan.
TEST_CASE("an assignment of a module that is not followed is refused", "[targets]") {
  const std::string head =
      "def trnplan():\n    config = shipped(\"llama3_8b\")\n    put(config.training, seq_len=8192, "
      "local_batch_size=1)\n    config.activation_checkpoint = None\n";
  topology::Cluster cluster;
  const auto said = [&](const std::string& line) {
    try {
      (void)targets::find("torchtitan")->start_faults({"trnplan_config.py", head + line + "\n"}, cluster);
    } catch (const InputError& e) {
      return to_string(e.faults().at(0));
    }
    return std::string();
  };
  CHECK(said("    return config") == "");
  CHECK(said("    # n = 1") == "");
  CHECK(said("    if config == None: return config") == "");
  CHECK(contains(
      said("    config.parallelism.tensor_parallel_degree = 8"),
      "trnplan_config.py:5:5: config.parallelism.tensor_parallel_degree: an assignment that is not"));
  CHECK(contains(said("    put(config.parallelism, tensor_parallel_degree = 8)"), "is not followed"));
  CHECK(contains(said("\t\ttensor_parallel_degree= 8,"), "trnplan_config.py:5:3: "));
}
