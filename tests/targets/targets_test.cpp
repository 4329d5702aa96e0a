#include <algorithm>
#include <set>
#include <tuple>

#include "logs/detect/detect.h"
#include "planner/check/rules.h"
#include "planner/plan/space.h"
#include "planner/search/search.h"
#include "targets/registry.h"
#include "targets/stacks.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/models/setup.h"
#include "tests/targets/commands.h"
#include "text/document.h"

using namespace trnplan;

namespace {

/// What each target is: all of it through the interface, by the name that a person writes.
struct TargetRow {
  const char* name;
  const char* model;
  models::Precision precision;
  const char* expressed;  ///< a strategy it can train
  const char* script;
  const char* argument;  ///< one of those that the strategy leads to
  const char* config;    ///< "" for a script of flags
  const char* log;       ///< fixture of what it prints
  const char* release;   ///< of the Neuron SDK to stay on
  int sequence = 4096, batch = 256;
  const char* biased = "linear biases";  ///< what it says of a model with biases of queries, keys and values
  const char* normed = "norms of queries and keys";  ///< and of one with those
  const char* windowed = "sliding window";
  const char* instance = "trn1.32xlarge";
  const char* clone = "https://github.com/aws-neuron/";
};

constexpr TargetRow kTargetRows[] = {
    {"nxdt", "llama3-8b", models::Precision::mixed_precision, "tp=8,recompute=CoreAttention+LlamaMLP",
     "training_orchestrator.py", "--config-name=nxdt", "nxdt.yaml", "nxdt-llama3-70b.txt", "SDK 2.28"},
    {"nxd", "llama3-8b", models::Precision::mixed_precision, "tp=8,pp=2,recompute=full", "run_llama_nxd.py",
     "--pipeline_parallel_size", "", "nxd-llama3-70b.txt", "SDK 2.28"},
    {"nemo-megatron", "llama2-7b", models::Precision::bf16_sr, "tp=8,flash=false,recompute=full",
     "megatron_gpt_pretraining.py", "model.tensor_model_parallel_size=8", "", "nemo-llama2-7b.txt",
     "SDK 2.21"},
    {"bert", "bert-large", models::Precision::bf16_sr, "mbs=16,zero1=false",
     "dp_bert_large_hf_pretrain_hdf5.py", "--grad_accum_usteps", "", "bert-log-lines.txt", "SDK 2.28", 128,
     16384, "bert-large-uncased", "bert-large-uncased", "bert-large-uncased"},
    {"megatron", "llama3-8b", models::Precision::mixed_precision, "tp=2,recompute=full", "pretrain_gpt.py",
     "--tensor-model-parallel-size", "", "megatron-lm-gpu.txt", "core_v0.19.0", 8192, 256, "", "", "",
     "p5.48xlarge", "https://github.com/NVIDIA/"},
    {"torchtitan", "llama3-8b", models::Precision::mixed_precision,
     "tp=2,framework=fsdp,shard=fsdp,recompute=full", "torchtitan/train.py", "--job.config_file",
     "torchtitan.toml", "torchtitan-llama3.txt", "v0.2.2", 8192, 256, "the model is not a Llama 3",
     "the model is not a Llama 3", "sliding window", "p5.48xlarge", "https://github.com/pytorch/"},
};

models::Job job_of_row(const TargetRow& row) {
  models::Job job = job_of(row.model, 4, row.sequence, row.batch);
  job.training.precision = row.precision;
  job.cluster.instance = test_catalog().instance(row.instance);
  if (const auto framework = targets::find(row.name)->framework(); !framework.empty())
    job.pin.framework = framework;
  return job;
}

/// On a machine of the catalogue.
bool trains(const planner::Target& target) {
  const std::vector<std::string> machines = test_catalog().instances();
  return std::any_of(machines.begin(), machines.end(), [&](const std::string& name) {
    return target.trains_on(test_catalog().instance(name).traits);
  });
}

/// Why a target cannot train a strategy; "" when it can.
std::string why_not(const char* target, const models::Job& job, const char* strategy) {
  return planner::inexpressible(*targets::find(target), job, strategy_of(job, strategy)).value_or("");
}

}  // namespace

TEST_CASE("every target, through the interface", "[targets]") {
  for (const planner::Target* target : targets::all()) {
    const auto is = [&](const TargetRow& row) { return target->name() == row.name; };
    INFO(target->name() << " has no row");
    CHECK((!trains(*target) || std::any_of(std::begin(kTargetRows), std::end(kTargetRows), is)));
  }
  for (const TargetRow& row : kTargetRows) {
    INFO(row.name);
    const planner::Target* target = targets::find(row.name);
    REQUIRE(target != nullptr);
    CHECK(target->name() == row.name);
    CHECK(contains(target->support(), row.release));

    const models::Job job = job_of_row(row);
    const models::Strategy strategy = strategy_of(job, row.expressed);
    CHECK_FALSE(planner::inexpressible(*target, job, strategy).has_value());
    CHECK(target->code_for(job, strategy).script == row.script);
    CHECK(target->code().clone.starts_with(row.clone));
    const planner::TrainCommand command = target->command(job, strategy);
    CHECK(has(command.arguments, row.argument));

    // What it prints is read as its own.
    const std::string log =
        read_text(std::string(TRNPLAN_SOURCE_DIR "/tests/calibrate/fixtures/logs/") + row.log);
    const logs::Detected read = logs::detect(log, row.log);
    REQUIRE_FALSE(read.steps.empty());
    CHECK(read.steps[0].framework == target->log_format());

    // A script of flags counts its steps by them; a config holds them.
    const std::vector<planner::ConfigFile> configs = target->emit(job, strategy, {.heading = "a test"});
    CHECK((command.steps > 0 || !configs.empty()));
    CHECK(configs.size() == target->config_names().size());
    if (std::string(row.config).empty()) {
      CHECK(configs.empty());
      continue;
    }
    REQUIRE_FALSE(configs.empty());
    CHECK(configs[0].name == row.config);
    CHECK(target->config_names()[0] == row.config);
    CHECK(contains(configs[0].text, "# a test\n"));
    const Node root = parse_document(configs[0].text, row.config);
    CHECK(target->recognises(root));
    const auto back = target->interpret(root, job.architecture);
    REQUIRE(back.has_value());
    CHECK(models::canonical(back->strategy) == models::canonical(strategy));
    // Only some configs tell nodes apart.
    CHECK(back->nodes * back->ranks_per_node == job.cluster.cores());
    CHECK(back->training.global_batch == job.training.global_batch);
  }
}

TEST_CASE("a document is recognised by the target it is of", "[targets]") {
  const Node nxdt = parse_document("trainer: {}\ndistributed_strategy: {}\n", "c.yaml");
  const Node none = parse_document("model: llama3-8b\n", "c.yaml");
  for (const planner::Target* target : targets::all()) {
    CHECK(target->recognises(nxdt) == (target->name() == "nxdt"));
    CHECK_FALSE(target->recognises(none));
  }
}

// core/transformer/transformer_config.py ends with a ValueError there; such plans were once recommended for
// 70B in FP8 on four p6-b200. With BF16, a plain layer's norms are recomputed.
TEST_CASE("Megatron-LM recomputes no norms with FP8 and delayed scaling", "[targets]") {
  models::Job job = job_of("llama3.1-70b", 4, 8192, 256);
  job.cluster.instance = test_catalog().instance("p6-b200.48xlarge");
  job.pin.framework = "megatron";
  const char* norms = "tp=8,framework=megatron,recompute=LlamaRMSNorm";
  CHECK(why_not("megatron", job, norms).empty());
  job.training.precision = models::Precision::fp8;
  CHECK(contains(why_not("megatron", job, norms), "pin recompute to classes without LlamaRMSNorm"));
  CHECK(why_not("megatron", job, "tp=8,framework=megatron,recompute=LlamaMLP").empty());
}

TEST_CASE("what a target cannot train is reported with its fix", "[targets]") {
  const models::Job mixed = job_of_row(kTargetRows[0]), llama2 = job_of("llama2-7b", 4, 4096, 256);
  models::Job rounding = llama2;
  rounding.training.precision = models::Precision::bf16_sr;
  const char* full = "tp=8,flash=false,recompute=full";
  CHECK(why_not("nxd", llama2, full).empty());
  CHECK(why_not("nxd", rounding, full).empty());
  models::Job cast = llama2;
  cast.training.precision = models::Precision::autocast;
  CHECK(why_not("nxd", cast, full) ==
        "nxd cannot express this plan: precision autocast; write precision: mixed_precision or bf16SR in the "
        "job");
  CHECK(contains(why_not("nemo-megatron", cast, full), "write precision: bf16SR or mixed_precision"));
  // Its selective recompute is that of attention: none at all cannot be said without flash attention.
  CHECK(contains(why_not("nxd", llama2, "tp=32,flash=false,recompute=none"), "pin recompute"));
  CHECK(contains(why_not("nxd", mixed, "tp=8,recompute=CoreAttention+LlamaMLP"), "pin recompute"));
  CHECK(contains(why_not("nemo-megatron", rounding, "tp=2,flash=false,recompute=full"), "TP must be 1, 8"));
  CHECK(contains(why_not("nxdt", job_of("mixtral-8x7b", 4, 4096, 256), "tp=8"), "mixture of experts"));
  // All that is wrong, the one to tell first.
  const auto all = targets::find("nemo-megatron")->violations(mixed, strategy_of(mixed, "tp=2,cp=2"));
  REQUIRE(all.size() == 2);
  CHECK(all[0].message == "context parallel");
  CHECK(all[1].message.starts_with("TP must be"));
}

// 8 ranks of TP are no FSDP, so that v0.2.2 turns mixed precision off; with 16 of them data parallel is 2.
TEST_CASE("TorchTitan is given no plan that it would run in FP32", "[targets]") {
  const auto job = [](int nodes) {
    models::Job j = job_of("llama3-8b", nodes, 8192, 64);
    j.cluster.instance = test_catalog().instance("p5.48xlarge");
    return j;
  };
  const char* const plan = "tp=8,framework=fsdp,shard=fsdp,recompute=full";
  CHECK(contains(why_not("torchtitan", job(1), plan), "runs in FP32; pin data_parallel or context_parallel"));
  CHECK(contains(why_not("torchtitan", job(1), "pp=8,framework=fsdp,shard=fsdp,recompute=full"), "in FP32"));
  CHECK(why_not("torchtitan", job(2), plan).empty());
  CHECK(why_not("torchtitan", job(1), "tp=4,cp=2,framework=fsdp,shard=fsdp,recompute=full").empty());
}

TEST_CASE("loops that TorchTitan has settings for, and those that it has not", "[targets]") {
  models::Job job = job_of("llama3-8b", 2, 8192, 64);
  job.cluster.instance = test_catalog().instance("p5.48xlarge");
  const auto why = [&](const std::string& loop, models::Precision precision) {
    job.training.precision = precision;
    return why_not("torchtitan", job, ("tp=2,shard=fsdp,recompute=full,framework=" + loop).c_str());
  };
  using enum models::Precision;
  for (const std::string_view loop : targets::find("torchtitan")->loops()) {
    INFO(loop);
    CHECK(why(std::string(loop), mixed_precision).empty());
    CHECK(targets::that_trains(job.cluster.instance.traits, loop) == targets::find("torchtitan"));
  }
  CHECK(contains(why("fsdp1", mixed_precision), "pin framework to fsdp"));
  CHECK(why("fsdp", fp8).empty());
  CHECK(contains(why("fsdp-eager", fp8), "not compiled"));
  job.cluster.instance = test_catalog().instance("trn2.48xlarge");
  CHECK(contains(why("fsdp-eager", mixed_precision), "on Neuron cores"));
}

// The converter to FP8 imports torchao, which requirements.txt of v0.2.2 does not have.
TEST_CASE("a folder in FP8 installs what TorchTitan converts with", "[targets]") {
  const planner::Target& titan = *targets::find("torchtitan");
  models::Job job = job_of("llama3-8b", 2, 8192, 64);
  job.cluster.instance = test_catalog().instance("p5.48xlarge");
  const auto installs = [&](models::Precision precision) {
    job.training.precision = precision;
    models::Strategy s = strategy_of(job, "tp=1,framework=fsdp,shard=fsdp,recompute=full");
    s.precision = precision;
    std::string all;
    for (const std::string& line : titan.preparation(job, s).install) all += line + "\n";
    return all;
  };
  CHECK(contains(installs(models::Precision::fp8), "torchao>="));
  CHECK_FALSE(contains(installs(models::Precision::mixed_precision), "torchao"));
}

// What is shipped for 405B is compiled, with asynchronous TP and in FP8, whatever the plan was.
TEST_CASE("the module states what a shipped config may have otherwise", "[targets]") {
  const planner::Target& titan = *targets::find("torchtitan");
  models::Job job = job_of("llama3.1-405b", 32, 8192, 256);
  job.cluster.instance = test_catalog().instance("p5.48xlarge");
  const auto module = [&](const char* strategy) {
    return titan.emit(job, strategy_of(job, strategy), {})[1].text;
  };
  const std::string eager = module("tp=8,framework=fsdp-eager,shard=fsdp,recompute=full");
  for (const char* line :
       {"config.model_spec = plain(\"405B\")", "        enable=False,\n", "components=[\"model\", \"loss\"],",
        "put(config.compile, enable_async_tensor_parallel=False)",
        "put(config.parallelism, enable_async_tensor_parallel=False)"}) {
    INFO(line);
    CHECK(contains(eager, line));
  }
  CHECK(contains(module("tp=8,framework=fsdp-async-tp,shard=fsdp,recompute=full"),
                 "put(config.compile, enable_async_tensor_parallel=True)"));
  // As it is read: the shipped config alone says FP8, and a module that replaces its model does not.
  const std::string shipped =
      "def trnplan():\n    config = shipped(\"llama3_405b\")\n    put(config.training, seq_len=8192, "
      "local_batch_size=1)\n    put(config.parallelism, tensor_parallel_degree=8)\n";
  const auto read = [&](const std::string& text) {
    return titan.read_run({"trnplan_config.py", text}, 256)->config.strategy;
  };
  CHECK(read(shipped).precision == models::Precision::fp8);
  CHECK(read(shipped).framework == "fsdp-async-tp");
  CHECK(read(shipped + "    config.model_spec = plain(\"405B\")\n").precision ==
        models::Precision::mixed_precision);
}

TEST_CASE("names of targets", "[targets]") {
  const std::vector<std::string> names = targets::names();
  CHECK(names.front() == targets::standard().name());
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == names.size());
  CHECK(targets::find("tpu") == nullptr);
  CHECK(targets::find("") == nullptr);
}

TEST_CASE("a search that heeds a target finds what it can train", "[once][targets]") {
  models::Job job = job_of("llama3-8b", 1, 4096, 64);
  const models::Profile profile = datasheet();
  const planner::Target* nxd = targets::find("nxd");
  const planner::SearchResult any = planner::search(job, profile, {.threads = 1});
  const planner::SearchResult heeded = planner::search(job, profile, {.target = nxd, .threads = 1});
  REQUIRE_FALSE(any.plans.empty());
  REQUIRE_FALSE(heeded.plans.empty());
  // Among the fastest of all are those that recompute parts which NxD's script has no flag for.
  CHECK(std::any_of(any.plans.begin(), any.plans.end(), [&](const planner::Plan& p) {
    return planner::inexpressible(*nxd, job, p.strategy).has_value();
  }));
  for (const planner::Plan& plan : heeded.plans)
    CHECK_FALSE(planner::inexpressible(*nxd, job, plan.strategy).has_value());
  CHECK(heeded.counts.inexpressible > 0);
  CHECK(heeded.counts.enumerated + heeded.counts.inexpressible == any.counts.enumerated);
  CHECK_FALSE(heeded.beyond_target);
  // It is the best of those: the first of the whole ranking that can be expressed.
  const planner::SearchResult all =
      planner::search(job, profile, {.top = any.counts.enumerated, .threads = 1});
  const auto first = std::find_if(all.plans.begin(), all.plans.end(), [&](const planner::Plan& p) {
    return !planner::inexpressible(*nxd, job, p.strategy).has_value();
  });
  REQUIRE(first != all.plans.end());
  CHECK(first->strategy == heeded.plans.front().strategy);

  // Where the target can train nothing, the plans are of all strategies, and that is said.
  job.training.precision = models::Precision::autocast;
  const planner::SearchResult none = planner::search(job, profile, {.target = nxd, .threads = 1});
  CHECK(none.beyond_target);
  CHECK(none.counts.inexpressible == 0);
  REQUIRE_FALSE(none.plans.empty());
  CHECK(none.plans.front().strategy == planner::search(job, profile, {.threads = 1}).plans.front().strategy);
}

// What a target says in full and what a search asks of every strategy are one opinion.
TEST_CASE("a target expresses what it finds nothing wrong with", "[targets]") {
  for (const char* model : {"llama3-8b", "llama2-7b", "gpt3-23b"}) {
    const models::Job job = job_of(model, 1, 2048, 64);
    for (const planner::Target* target : targets::all()) {
      if (!target->trains_on(job.cluster.instance.traits)) continue;
      CAPTURE(model, target->name());
      int expressed = 0, all = 0;
      for (const models::Strategy& s : planner::enumerate(job)) {
        const bool yes = target->expresses(job, s);
        CHECK(yes == target->violations(job, s).empty());
        expressed += yes;
        ++all;
      }
      const planner::Space space = planner::space_of(job, target);
      CHECK(space.beyond_target == (expressed == 0));
      CHECK(space.inexpressible == (expressed == 0 ? 0 : all - expressed));
    }
  }
}

TEST_CASE("targets have rules of their own", "[targets]") {
  models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  models::Strategy s = strategy_of(job, "tp=8");
  const auto broken = [&](const char* target) {
    std::string rules;
    for (const planner::Violation& v : targets::find(target)->rules(job, s)) {
      CHECK_FALSE(v.message.empty());
      CHECK_FALSE(v.fix.empty());
      rules += v.rule + " ";
    }
    return rules;
  };
  CHECK(broken("nxdt").empty());
  job.architecture.vocabulary = 128257;
  CHECK(broken("nxdt") == "vocabulary ");
  CHECK(broken("nxd") == "vocabulary ");
  CHECK(broken("nemo-megatron").empty());  // pads it
  job = job_of("llama3-8b", 1, 8192, 1024);
  job.architecture.tied_embeddings = true;
  s.pipeline_parallel = 2;
  CHECK(broken("nxdt") == "tied-embeddings ");
  CHECK(broken("bert") == "tied-embeddings ");
  CHECK(broken("nemo-megatron").empty());  // reduces both gradients
  job = job_of("llama3-8b", 1, 8192, 1024);
  job.cluster.instance.chips = 3;
  CHECK(broken("nxdt") == "devices ");
  CHECK(broken("nxd").empty());
  // They are among those of the planner.
  const auto all = planner::rule_violations(job, s, targets::find("nxdt"));
  CHECK(std::any_of(all.begin(), all.end(), [](const planner::Violation& v) { return v.rule == "devices"; }));
  CHECK(planner::breaks_a_rule(job, s, targets::find("nxdt")));
}

TEST_CASE("a job's software has its target", "[targets]") {
  models::Job job = job_of("llama3-8b", 1, 8192, 64);
  const auto name = [&](std::string framework) {
    job.software.framework = std::move(framework);
    return targets::of(job).name();
  };
  CHECK(name("") == targets::standard().name());
  CHECK(name("megatron-deepspeed") == targets::standard().name());
  for (const std::string& own : targets::names()) CHECK(name(own) == own);
  // Each is in the table of stacks, so that checks know its limits.
  for (const std::string& own : targets::names()) CHECK(models::stack_named(own).name == own);
  // Where it says none, the machine's usual framework, or the one that is pinned, has.
  job.cluster.instance = test_catalog().instance("p5.48xlarge");
  CHECK(name("") == "megatron");
  job.pin.framework = "fsdp";
  CHECK(name("") == "torchtitan");
  job.cluster.instance = test_catalog().instance("trn2.48xlarge");
  CHECK(name("") == "torchtitan");
  job.pin.framework.reset();
  CHECK(name("") == "nxdt");
  // And the other way round: a target brings its framework.
  targets::take_defaults(job, *targets::find("torchtitan"), true);
  CHECK(job.pin.framework == "fsdp");
}

TEST_CASE("no target writes a model whose features it would lose", "[targets]") {
  for (const TargetRow& row : kTargetRows) {
    INFO(row.name);
    const auto said = [&](auto change) {
      models::Job job = job_of_row(row);
      change(job.architecture);
      return why_not(row.name, job, row.expressed);
    };
    // "": it has words for it.
    const auto check = [](const std::string& why, const std::string& part) {
      CHECK((part.empty() ? why.empty() : contains(why, part)));
    };
    CHECK(said([](models::Architecture&) {}).empty());
    check(said([](models::Architecture& a) { a.qkv_bias = true; }), row.biased);
    check(said([](models::Architecture& a) { a.qk_norm = true; }), row.normed);
    check(said([](models::Architecture& a) { a.sliding_window = 64; }), row.windowed);
    check(said([](models::Architecture& a) { a.sliding_window = 64, a.sliding_window_pattern = 2; }),
          row.windowed);
    CHECK_FALSE(said([](models::Architecture& a) { a.blocks.sinks = true; }).empty());
  }
}

// A window that hides nothing, or in no layer, is not written; one in all layers needs no flag for the others.
TEST_CASE("Megatron's script says which layers have a window, and is read back", "[targets]") {
  const planner::Target& megatron = *targets::find("megatron");
  models::Job job = job_of("llama3-8b", 4, 8192, 256);
  job.cluster.instance = test_catalog().instance("p5.48xlarge");
  job.pin.framework = megatron.framework();
  for (const auto& [window, pattern, size, skip] :
       {std::tuple(128, 2, "127,0", "2"), std::tuple(128, 6, "127,0", "6"), std::tuple(128, 0, "127,0", ""),
        std::tuple(128, 1, "", ""), std::tuple(8192, 2, "", "")}) {
    CAPTURE(window, pattern);
    job.architecture.sliding_window = window;
    job.architecture.sliding_window_pattern = pattern;
    const planner::TrainCommand command = command_of(megatron, job, "tp=2");
    CHECK(value_of(command, "--window-size") == size);
    CHECK(value_of(command, "--window-attn-skip-freq") == skip);
    std::string script = "torchrun --nproc_per_node 8 pretrain_gpt.py";
    for (const std::string& word : command.arguments) script += " '" + word + "'";
    const auto run = megatron.read_run({"train.sh", script + "\n"}, 32);
    REQUIRE(run.has_value());
    CHECK(run->config.not_modelled.empty());
    CHECK(models::model_flops_per_token(run->architecture, 8192) ==
          models::model_flops_per_token(job.architecture, 8192));
  }
}

// Catches: a plan for the training loop of decoders, which no script of it can run, where one of encoders is searched.
TEST_CASE("an encoder is searched with the stack that trains encoders, a decoder with the others",
          "[targets]") {
  const auto names = [](const char* model, const char* type) {
    models::Job job = job_of(model, 2, 512, 64);
    job.cluster.instance = test_catalog().instance(type);
    std::string all;
    for (const targets::Stack& s : targets::stacks_on(test_catalog().searched_stacks(), job, {}))
      all += (all.empty() ? "" : " ") + std::string(s.target == nullptr ? "none" : s.target->name());
    return all;
  };
  CHECK(names("bert-large", "trn1.32xlarge") == "bert");
  CHECK(names("llama3-8b", "trn1.32xlarge") == "nxdt");
  CHECK(names("llama3-8b", "trn2.48xlarge") == "nxdt torchtitan");
  CHECK(names("bert-large", "p5.48xlarge") == "megatron torchtitan");  // none of encoders: timed all the same
}
