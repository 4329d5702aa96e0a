#include <fmt/format.h>

#include <algorithm>

#include "targets/flags/recipe.h"
#include "targets/registry.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/models/setup.h"
#include "tests/targets/commands.h"
#include "text/document.h"

using namespace trnplan;

namespace {

/// A job that states everything a schedule allows.
models::Job stating(const char* model, models::Decay schedule, int sequence = 4096) {
  models::Job job = job_of(model, 4, sequence, 256);
  const bool cosine = schedule == models::Decay::cosine;
  job.learning = {.optimizer = "adamw",
                  .learning_rate = 2e-4,
                  .min_learning_rate = cosine ? std::optional(2.5e-5) : std::nullopt,
                  .schedule = schedule,
                  .warmup_steps = 321,
                  .constant_steps = cosine ? std::optional<std::int64_t>(77) : std::nullopt,
                  .beta1 = 0.91,
                  .beta2 = 0.97,
                  .weight_decay = 0.05,
                  .gradient_clip = 1.0,
                  .seed = 4711};
  job.run.checkpoint_steps = 333;
  job.run.checkpoints_kept = 5;
  job.run.log_steps = 7;
  job.run.start_from = models::StartFrom::checkpoint;
  return job;
}

/// The words of a command line with blanks between, or the text of the config.
std::string emitted(const char* name, const models::Job& job, const char* strategy) {
  const planner::Target& target = *targets::find(name);
  const models::Strategy s = strategy_of(job, strategy);
  const auto why = planner::inexpressible(target, job, s);
  INFO(why.value_or(""));
  REQUIRE_FALSE(why.has_value());
  std::string text;
  const planner::TrainCommand c = target.command(job, s);
  for (const std::string& word : c.arguments) text += word + " ";
  for (const std::string& word : c.again.first) text += word + " ";
  if (!c.weights_link.empty()) text += "link " + c.weights_link + " ";
  for (const planner::ModeVariable& v : c.by_mode) text += v.name + " is " + v.training + " ";
  for (const planner::ConfigFile& f : target.emit(job, s, {.heading = "a test"})) text += f.text;
  return text;
}

void carries(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    INFO(part);
    CHECK(contains(text, part));
  }
}

}  // namespace

TEST_CASE("a job that states every key of learning gets all of them", "[targets]") {
  const char* one = "tp=8,recompute=full";
  carries(emitted("nxd", stating("llama2-7b", models::Decay::linear), one),
          {"--lr 0.0002 ", "--warmup_steps 321 ", "--beta1 0.91 ", "--beta2 0.97 ", "--weight_decay 0.05 ",
           "--seed 4711 ", "--logging_interval 7 ", "--num_kept_checkpoint 5 ", "save_every is 333 ",
           "--pretrained_weight ", "link pretrained_weight "});
  models::Job job = stating("llama2-13b", models::Decay::cosine);
  job.learning.weight_decay = 0.01;  // the only one that this script has
  job.learning.optimizer = "adamw_fp32OptState";
  carries(
      emitted("nxd", job, "tp=8,pp=4,recompute=full"),
      {"--lr 0.0002 ", "--min_lr 2.5e-05 ", "--warmup_steps 321 ", "--constant_steps 77 ", "--beta1 0.91 ",
       "--beta2 0.97 ", "--seed 4711 ", "--logging_interval 7 ", "--num_kept_checkpoint 5 ",
       "save_every is 333 ", "--use_fp32_optimizer 1 ", "--pretrained_weight 1 ", "link pretrained_weight "});
  carries(emitted("nemo-megatron", stating("llama2-7b", models::Decay::cosine), one),
          {"model.optim.lr=0.0002 ", "model.optim.sched.min_lr=2.5e-05 ",
           "model.optim.sched.warmup_steps=321 ", "model.optim.sched.constant_steps=77 ",
           "model.optim.betas=[0.91,0.97] ", "model.optim.weight_decay=0.05 ", "model.seed=4711 ",
           "trainer.log_every_n_steps=7 ", "save_top_k=5 ", "every_n_train_steps=333 ",
           "trainer.gradient_clip_val=1 ", "model.resume_from_checkpoint=$TRNPLAN_WEIGHTS "});
  job = stating("llama2-7b", models::Decay::cosine);
  job.learning.weight_decay = 0.01;
  carries(emitted("nxdt", job, one),
          {"lr: 2.0e-4\n", "min_lr: 2.5e-5\n", "warmup_steps: 321\n", "constant_steps: 77\n",
           "betas: [0.91, 0.97]\n", "weight_decay: 0.01\n", "seed: 4711\n", "log_every_n_steps: 7\n",
           "save_top_k: 5\n", "every_n_train_steps: 333\n", "name: CosineAnnealing\n", "name: adamw\n",
           "weight_init_only: False\n", "exp_manager.resume_from_checkpoint=$TRNPLAN_WEIGHTS ",
           "model.weight_init_only=True "});
  job = stating("llama2-7b", models::Decay::linear);
  job.learning.weight_decay.reset();
  carries(emitted("nxdt", job, one), {"name: LinearAnnealingWithWarmUp\n", "warmup_steps: 321\n"});
}

TEST_CASE("BERT's script gets what it has flags for, and nothing else is accepted", "[targets]") {
  models::Job job = job_of("bert-large", 16, 128, 16384);
  job.training.precision = models::Precision::bf16_sr;
  job.learning.optimizer = "lamb";
  job.learning.learning_rate = 5e-3;
  job.learning.warmup_steps = 1234;
  job.learning.seed = 99;
  job.run.checkpoints_kept = 4;
  job.run.start_from = models::StartFrom::scratch;
  const char* plain = "mbs=16,zero1=false";
  carries(emitted("bert", job, plain), {"--optimizer LAMB ", "--lr 0.005 ", "--warmup_steps 1234 ",
                                        "--seed 99 ", "--num_ckpts_to_keep 4 "});
  const auto refused = [&](auto change, const char* why) {
    models::Job other = job;
    change(other);
    INFO(why);
    CHECK(contains(why_not(*targets::find("bert"), other, plain), why));
  };
  refused([](models::Job& j) { j.learning.min_learning_rate = 1e-5; }, "leave schedule, min_learning_rate");
  refused([](models::Job& j) { j.learning.schedule = models::Decay::linear; }, "a stated schedule");
  refused([](models::Job& j) { j.learning.constant_steps = 5; }, "a stated schedule");
  refused([](models::Job& j) { j.learning.beta1 = j.learning.beta2 = 0.9; }, "leave betas out");
  refused([](models::Job& j) { j.learning.weight_decay = 0.01; }, "leave weight_decay out");
  refused([](models::Job& j) { j.learning.gradient_clip = 1; }, "leave gradient_clip out");
  refused([](models::Job& j) { j.run.log_steps = 1; }, "log_steps; leave it out");
  refused([](models::Job& j) { j.run.checkpoint_steps = 100; }, "saves after every file");
  refused([](models::Job& j) { j.run.checkpoints_kept = models::kAllCheckpoints; }, "keeping all");
  refused([](models::Job& j) { j.run.start_from = models::StartFrom::hf; }, "write start_from: scratch");
  refused([](models::Job& j) { j.learning.warmup_steps = 99999; }, "steps of warm-up");
}

TEST_CASE("what a target cannot do is refused, never dropped", "[targets]") {
  const char *one = "tp=8,recompute=full", *four = "tp=8,pp=4,recompute=full";
  const models::Job cosine = stating("llama2-7b", models::Decay::cosine);
  const models::Job linear = stating("llama2-7b", models::Decay::linear);
  CHECK(contains(why_not(*targets::find("nxd"), cosine, one), "a schedule other than linear"));
  CHECK(contains(why_not(*targets::find("nxd"), cosine, one), "a minimum of the learning rate"));
  CHECK(contains(why_not(*targets::find("nxd"), cosine, one), "constant steps"));
  CHECK(contains(why_not(*targets::find("nxd"), linear, four), "a schedule other than cosine"));
  CHECK(contains(why_not(*targets::find("nxd"), cosine, four), "a weight decay other than 0.01"));
  CHECK(contains(why_not(*targets::find("nemo-megatron"), linear, one), "a schedule other than cosine"));
  models::Job clipped = job_of("llama2-7b", 4, 4096, 256);
  clipped.learning.gradient_clip = 0.5;
  for (const char* name : {"nxd", "nemo-megatron", "nxdt"}) {
    INFO(name);
    CHECK(contains(why_not(*targets::find(name), clipped, one),
                   "clipping gradients other than 1; leave gradient_clip out"));
  }
  // Without ZeRO-1 these two clip by themselves.
  clipped.training.precision = models::Precision::bf16_sr;
  for (const char* name : {"nemo-megatron", "nxdt"}) {
    INFO(name);
    CHECK(why_not(*targets::find(name), clipped, "tp=8,recompute=full,flash=false,zero1=false").empty());
  }
  CHECK(contains(why_not(*targets::find("nxdt"), cosine, one), "a weight decay other than 0.01"));
  models::Job lamb = job_of("llama2-7b", 4, 4096, 256);
  lamb.learning.optimizer = "lamb";
  for (const char* name : {"nxd", "nemo-megatron", "nxdt"}) {
    INFO(name);
    CHECK(contains(why_not(*targets::find(name), lamb, one), "the optimizer lamb; write optimizer: adamw"));
  }
  models::Job converted = job_of("llama2-7b", 4, 4096, 256);
  converted.run.start_from = models::StartFrom::hf;
  CHECK(why_not(*targets::find("nxd"), converted, one).empty());
  CHECK(contains(why_not(*targets::find("nemo-megatron"), converted, one),
                 "write start_from: scratch or checkpoint"));
  models::Job minimum = job_of("llama2-7b", 4, 4096, 256);
  minimum.learning.min_learning_rate = 1e-3;  // above the recipe's 3e-4
  CHECK(contains(why_not(*targets::find("nemo-megatron"), minimum, one), "below its minimum"));
  CHECK(contains(why_not(*targets::find("nxdt"), minimum, one), "write schedule: cosine"));
  models::Job late = job_of("llama2-7b", 4, 4096, 256);
  late.learning.warmup_steps = 20000;  // of 10000
  CHECK(contains(why_not(*targets::find("nxd"), late, one), "20000 steps of warm-up"));
}

TEST_CASE("checkpoints are as far apart as loses least, in steps that reach the end", "[targets]") {
  models::RunFiles run;
  CHECK(targets::saves_every(run, 10000) == 200);
  run.planned_checkpoint_steps = 48;  // 10000 = 2^4 5^4: the next divisor below is 40
  CHECK(targets::saves_every(run, 10000) == 40);
  run.checkpoint_steps = 48;  // what a person states is not moved
  CHECK(targets::saves_every(run, 10000) == 48);
}

TEST_CASE("a setting of the software reaches the script, or is said to do nothing", "[targets]") {
  struct Row {
    const char *target, *model, *strategy;
    std::vector<std::string> carried;  ///< words of what is started
    std::size_t unused;                ///< remarks that a setting does nothing
  };
  const Row rows[] = {
      {"nxd", "llama3-8b", "tp=8,recompute=full", {"--fuse_qkv 0 ", "REQUESTS=6 "}, 1},
      {"nxd", "llama3-70b", "tp=32,pp=8,recompute=full", {"--fuse_qkv 0 ", "REQUESTS=6 "}, 1},
      {"nemo-megatron", "llama2-70b", "tp=8,pp=16,recompute=full", {"REQUESTS=6 "}, 2},
      {"nxdt",
       "llama3-8b",
       "tp=8,recompute=full",
       {"fuse_qkv: False\n", "sequential_move_factor: 9\n", "max_inflight_requests: 6\n"},
       0},
      {"bert", "bert-large", "mbs=16,zero1=false", {}, 3},
  };
  for (const Row& row : rows) {
    INFO(row.target << " " << row.model);
    const bool bert = std::string(row.target) == "bert";
    models::Job job = job_of(row.model, 32, bert ? 128 : 4096, bert ? 16384 : 1024);
    if (bert) job.training.precision = models::Precision::bf16_sr;
    job.software.in_flight = 6;
    job.software.fuse_qkv = false;
    job.software.sequential_move = 9;
    const planner::Target& target = *targets::find(row.target);
    const models::Strategy s = strategy_of(job, row.strategy);
    const planner::TrainCommand c = target.command(job, s);
    std::string text;
    for (const std::string& word : c.arguments) text += word + " ";
    for (const std::string& variable : c.environment) text += variable + " ";
    for (const planner::ConfigFile& f : target.emit(job, s, {.heading = "a test"})) text += f.text;
    carries(text, row.carried);
    const auto unused = std::count_if(c.remarks.begin(), c.remarks.end(), [](const std::string& remark) {
      return contains(remark, "The job's software.") && contains(remark, "has no effect here");
    });
    CHECK(static_cast<std::size_t>(unused) == row.unused);
  }
}

// The flags of the other targets are compared with their recipes by tests/launch/folder/entry_points.
TEST_CASE("NxDT: what a job leaves open is learned as the shipped config of the model has it", "[targets]") {
  struct Shipped {
    const char *model, *config;
    int nodes, sequence;
    const char* strategy;
  };
  constexpr Shipped kShipped[] = {
      {"llama2-7b", "hf_llama_7B_config", 4, 4096, "tp=8,recompute=full"},
      {"llama3-8b", "hf_llama3_8B_config", 4, 8192, "tp=32,recompute=CoreAttention"},
      {"llama3.1-8b", "hf_llama3.1_8B_config", 4, 8192, "tp=32,recompute=CoreAttention"},
      {"llama3-70b", "hf_llama3_70B_config", 32, 8192, "tp=32,pp=8,recompute=CoreAttention"},
      {"llama3.1-70b", "hf_llama3.1_70B_config", 32, 8192, "tp=32,pp=8,recompute=CoreAttention"},
  };
  constexpr const char* kKeys[] = {"seed",
                                   "trainer.max_steps",
                                   "trainer.log_every_n_steps",
                                   "trainer.gradient_clip_val",
                                   "exp_manager.checkpoint_callback_params.save_top_k",
                                   "model.optim.name",
                                   "model.optim.lr",
                                   "model.optim.weight_decay",
                                   "model.optim.capturable",
                                   "model.optim.betas",
                                   "model.optim.sched.name",
                                   "model.optim.sched.warmup_steps",
                                   "model.optim.sched.min_lr",
                                   "model.optim.sched.constant_steps"};
  const auto leaf = [](const Node& root, std::string path) {
    const Node* at = &root;
    for (std::size_t dot = 0; at != nullptr && dot != std::string::npos; path.erase(0, dot + 1)) {
      dot = path.find('.');
      at = at->find(path.substr(0, dot));
      if (dot == std::string::npos) break;
    }
    if (at == nullptr) return std::string("absent");
    std::string text;
    for (const Node& item : at->items) text += fmt::format("{} ", number_of(item).value_or(-1));
    if (!at->items.empty()) return text;
    const auto number = number_of(*at);
    return number ? fmt::format("{}", *number) : at->scalar;
  };
  const planner::Target& target = *targets::find("nxdt");
  for (const Shipped& s : kShipped) {
    const models::Job job = job_of(s.model, s.nodes, s.sequence, 1024);
    const Node ours = parse_document(
        target.emit(job, strategy_of(job, s.strategy), {.heading = "a test"})[0].text, "nxdt.yaml");
    const std::string file = std::string(TRNPLAN_SOURCE_DIR "/tests/launch/shipped/") + s.config + ".yaml";
    const Node theirs = read_document(file);
    for (const char* key : kKeys) {
      INFO(s.config << " " << key);
      // HF models decay by 0.01 whatever the config says, so 0.1 is not repeated.
      if (std::string(key) == "model.optim.weight_decay") {
        CHECK(leaf(ours, key) == "0.01");
      } else {
        CHECK(leaf(ours, key) == leaf(theirs, key));
      }
    }
  }
}

// Megatron's script for Llama-3 8B has 1,953,125,000 sequences of 8,192 tokens, 16T, and a warm-up of 3,906,252. By 128
// a step that is 15,258,789 and 30,517; of sequences 16 times as long a sixteenth: 953,674 and 1,907. It wrote 256T of
// tokens.
TEST_CASE("a recipe that counts sequences keeps its tokens at another length", "[targets]") {
  const auto written = [](int sequence) {
    models::Job job = job_of("llama3-8b", 2, sequence, 128);
    job.cluster.instance = test_catalog().instance("p5.48xlarge");
    const models::Strategy s = strategy_of(job, "tp=8,framework=megatron,flash=true");
    const planner::TrainCommand c = targets::find("megatron")->command(job, s);
    return std::pair(c.steps, c.learning.warmup_steps);
  };
  CHECK(written(8192) == std::pair<std::int64_t, std::int64_t>(15258789, 30517));
  CHECK(written(131072) == std::pair<std::int64_t, std::int64_t>(953674, 1907));
}

// TorchTitan is pointed to a copy of C4: 2T tokens are 12.8 times its 156B.
TEST_CASE("a run through C4 several times is reported", "[targets]") {
  const auto asked = [](double tokens) {
    models::Job job = job_of("llama3-8b", 2, 8192, 128);
    job.cluster.instance = test_catalog().instance("p5.48xlarge");
    job.training.tokens = tokens;
    const models::Strategy s = strategy_of(job, "tp=2,framework=fsdp,flash=true,shard=zero3");
    return targets::find("torchtitan")->preparation(job, s).data_is;
  };
  CHECK(asked(2e12).find("goes through it 12.8 times") != std::string::npos);
  CHECK(asked(1e11) == "A copy of Hugging Face's data set allenai/c4.");
}

// Catches: a number of checkpoints that Megatron-LM's folder refused to keep. 1000 steps are saved 10 times, and 3 are
// to stay: those of 400 and 800, and the last.
TEST_CASE("Megatron keeps as many checkpoints as the job says", "[targets]") {
  const auto written = [](std::optional<std::int64_t> kept) {
    models::Job job = job_of("llama3-8b", 2, 8192, 128);
    job.cluster.instance = test_catalog().instance("p5.48xlarge");
    job.training.tokens = 1000.0 * 8192 * 128;
    job.run.checkpoint_steps = 100;
    job.run.checkpoints_kept = kept;
    return emitted("megatron", job, "tp=8,framework=megatron,flash=true");
  };
  CHECK(contains(written(3), "--save-interval 100 --save-retain-interval 400 "));
  CHECK(contains(written(1), "--save-retain-interval 1100 "));  // none of the 1000 but the last
  CHECK(contains(written(2), "--save-retain-interval 600 "));
  CHECK_FALSE(contains(written(models::kAllCheckpoints), "--save-retain-interval"));
  CHECK(contains(written(std::nullopt), "--save-retain-interval 600 "));  // two
}

// Catches: initial weights and the loss of the router as in a script for another model, whatever config.json says.
TEST_CASE("what config.json says of initial weights and of experts is what is written", "[targets]") {
  models::Job job = job_of("mixtral-8x7b", 2, 4096, 128);
  job.cluster.instance = test_catalog().instance("p5.48xlarge");
  const char* strategy = "tp=8,framework=megatron,flash=true";
  carries(emitted("megatron", job, strategy), {"--init-method-std 0.01 ", "--moe-aux-loss-coeff 0.01 "});
  job.architecture.initializer_range = 0.0125;
  job.architecture.router_aux_loss = 0.001;
  carries(emitted("megatron", job, strategy), {"--init-method-std 0.0125 ", "--moe-aux-loss-coeff 0.001 "});
}
