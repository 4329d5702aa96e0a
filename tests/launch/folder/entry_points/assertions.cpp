#include "tests/launch/folder/entry_points/assertions.h"

#include <algorithm>
#include <cstdlib>
#include <functional>

namespace trnplan {

namespace {

/// Settings as numbers and truths.
class View {
 public:
  explicit View(const Settings& s) : s_(s) {}
  long whole(const char* key) const { return std::strtol(at(key).c_str(), nullptr, 10); }
  double number(const char* key) const { return std::strtod(at(key).c_str(), nullptr); }
  bool on(const char* key) const { return at(key) == "true" || at(key) == "1"; }
  const std::string& at(const char* key) const {
    static const std::string kNull = "null";
    const auto found = s_.find(key);
    return found == s_.end() ? kNull : found->second;
  }

 private:
  const Settings& s_;
};

using Holds = std::function<bool(const View&, const Run&)>;

/// Begins as an assertion of the table does. No function: only a run shows it.
struct Assertion {
  const char* begins;
  Holds holds;
};

bool heads_fit(const models::Architecture& a, long tp, long copies) {
  return a.heads % tp == 0 && a.kv_heads * copies % tp == 0;
}

bool flash_fits(const View& v, const Run& run) {
  return !v.on("--use_flash_attention") || run.job.training.sequence % 2048 == 0;
}

bool context_fits(const View& v, const Run&) {
  return v.whole("--context_parallel_size") == 1 || !v.on("--use_flash_attention");
}

const std::vector<Assertion>& tensor_assertions() {
  static const std::vector<Assertion> all = {
      {"world % (TP*CP)",
       [](const View& v, const Run& r) {
         return r.world % (v.whole("--tensor_parallel_size") * v.whole("--context_parallel_size")) == 0;
       }},
      {"GBS == batch_size * grad_accum_usteps * DP",
       [](const View& v, const Run& r) {
         const long dp = r.world / (v.whole("--tensor_parallel_size") * v.whole("--context_parallel_size"));
         return v.whole("--batch_size") * v.whole("--grad_accum_usteps") * dp == r.job.training.global_batch;
       }},
      {"batch_size is the micro batch",
       [](const View& v, const Run& r) { return v.whole("--batch_size") == r.strategy.micro_batch; }},
      {"use_zero_1 present unless",
       [](const View& v, const Run&) {
         return v.on("--use_zero_1") || v.whole("--use_gpu_compatible_precision") == 0;
       }},
      {"context_parallel_size > 1 needs", context_fits},
      {"flash: seq % 2048", flash_fits},
      {"heads, kv heads, vocab",
       [](const View& v, const Run& r) {
         const long tp = v.whole("--tensor_parallel_size"), copies = v.whole("--kv_replicator");
         return heads_fit(r.job.architecture, tp, copies) && (copies == 1 || v.on("--qkv_linear")) &&
                r.job.architecture.vocabulary % tp == 0;
       }},
      {"a run with fewer steps than logging_interval",
       [](const View& v, const Run&) {
         return v.whole("--steps_this_run") >= v.whole("--logging_interval");
       }},
      {"samples in data_dir", {}},
      {"metrics_file, if it exists", {}},
      {"data_dir must exist", {}},
  };
  return all;
}

const std::vector<Assertion>& pipeline_assertions() {
  const auto dp = [](const View& v, const Run& r) {
    return r.world / (v.whole("--tensor_parallel_size") * v.whole("--pipeline_parallel_size") *
                      v.whole("--context_parallel_size"));
  };
  static const std::vector<Assertion> all = {
      {"pipeline_parallel_size >= 2",
       [](const View& v, const Run&) { return v.whole("--pipeline_parallel_size") >= 2; }},
      {"world % (TP*PP*CP)",
       [](const View& v, const Run& r) {
         return r.world % (v.whole("--tensor_parallel_size") * v.whole("--pipeline_parallel_size") *
                           v.whole("--context_parallel_size")) ==
                0;
       }},
      {"train_batch_size == GBS/DP",
       [dp](const View& v, const Run& r) {
         return v.whole("--train_batch_size") * dp(v, r) == r.job.training.global_batch;
       }},
      {"train_batch_size % num_microbatches",
       [](const View& v, const Run& r) {
         return v.whole("--train_batch_size") == v.whole("--num_microbatches") * r.strategy.micro_batch;
       }},
      {"num_layers >= PP*VPP",
       [](const View& v, const Run& r) {
         const long pp = v.whole("--pipeline_parallel_size"), vpp = v.whole("--virtual_pipeline_size");
         return r.job.architecture.layers >= pp * vpp &&
                (vpp == 1 || v.whole("--num_microbatches") % pp == 0);
       }},
      {"use_zero1_optimizer == 1 or",
       [](const View& v, const Run&) {
         return v.on("--use_zero1_optimizer") || v.whole("--use_gpu_compatible_precision") == 0;
       }},
      {"min_lr <= lr",
       [](const View& v, const Run&) {
         return v.at("--min_lr") != "null" && v.number("--min_lr") <= v.number("--lr");
       }},
      {"warmup_steps + constant_steps <= max_steps",
       [](const View& v, const Run&) {
         const long constant = v.whole("--constant_steps");
         return constant == 0 || (v.whole("--warmup_steps") + constant <= v.whole("--max_steps") &&
                                  v.number("--min_lr") < v.number("--lr"));
       }},
      {"samples in training_dir", {}},
      {"context_parallel_size > 1 needs", context_fits},
      {"flash attention: seq % 2048", flash_fits},
      {"heads % TP",
       [](const View& v, const Run& r) {
         const long copies = v.whole("--kv_replicator");
         return heads_fit(r.job.architecture, v.whole("--tensor_parallel_size"), copies) &&
                (copies == 1 || v.on("--qkv_linear"));
       }},
      {"vocab % TP",
       [](const View& v, const Run& r) {
         return r.job.architecture.vocabulary % v.whole("--tensor_parallel_size") == 0;
       }},
      {"dataset sample width",
       [](const View& v, const Run& r) { return v.whole("--seq_len") == r.job.training.sequence; }},
  };
  return all;
}

const std::vector<Assertion>& nemo_assertions() {
  static const auto tp = [](const View& v) { return v.whole("model.tensor_model_parallel_size"); };
  static const auto pp = [](const View& v) { return v.whole("model.pipeline_model_parallel_size"); };
  static const auto dp = [](const View& v, const Run& r) { return r.world / (tp(v) * pp(v)); };
  static const std::vector<Assertion> all = {
      {"TP in {1, 8, 32}", [](const View& v, const Run&) { return tp(v) == 1 || tp(v) == 8 || tp(v) == 32; }},
      {"TP == 1 and PP > 1",
       [](const View& v, const Run& r) {
         return tp(v) > 1 || pp(v) == 1 || dp(v, r) == 1 || dp(v, r) == 8 || dp(v, r) >= 32;
       }},
      {"TP > 1 and PP > 1",
       [](const View& v, const Run& r) {
         return tp(v) == 1 || pp(v) == 1 || dp(v, r) == 1 || dp(v, r) * tp(v) >= 32;
       }},
      {"VPP needs megatron_amp_O2",
       [](const View& v, const Run&) {
         return v.at("model.virtual_pipeline_model_parallel_size") == "null" || v.on("model.megatron_amp_O2");
       }},
      {"layers % PP", [](const View& v, const Run&) { return v.whole("model.num_layers") % pp(v) == 0; }},
      {"kv_heads % TP",
       [](const View& v, const Run&) {
         const bool own = v.at("model.num_kv_heads") == "null";
         return v.whole(own ? "model.num_attention_heads" : "model.num_kv_heads") % tp(v) == 0;
       }},
      {"trainer.precision in",
       [](const View& v, const Run&) {
         const std::string& p = v.at("trainer.precision");
         return p == "32" || p == "16" || p == "bf16";
       }},
      {"use_emha False", [](const View& v, const Run&) { return !v.on("model.use_emha"); }},
      {"seed > 0", [](const View& v, const Run&) { return v.whole("model.seed") > 0; }},
      {"limit_val_batches int or",
       [](const View& v, const Run&) {
         const std::string& n = v.at("trainer.limit_val_batches");
         return n.find('.') == std::string::npos || v.number("trainer.limit_val_batches") <= 1;
       }},
      {"data.dataloader_type",
       [](const View& v, const Run&) {
         const std::string& type = v.at("model.data.dataloader_type");
         return type == "single" || type == "cyclic";
       }},
      {"trainer.devices in",
       [](const View& v, const Run&) {
         const long n = v.whole("trainer.devices");
         return n == 1 || n == 2 || n == 8 || n == 32;
       }},
      {"trainer.max_steps not None",
       [](const View& v, const Run&) { return v.whole("trainer.max_steps") > 0; }},
      {"zero_use_fp32_grad_accum with",
       [](const View& v, const Run&) {
         return v.on("model.wrap_with_zero") ||
                !(v.on("model.zero_use_fp32_grad_accum") && v.on("model.zero_use_master_weight"));
       }},
      {"gbs % (mbs*DP)",
       [](const View& v, const Run& r) {
         return v.whole("model.global_batch_size") % (v.whole("model.micro_batch_size") * dp(v, r)) == 0;
       }},
  };
  return all;
}

/// The number in the name of a checkpoint; -1 where it is named otherwise.
long step_in_name(const std::string& path) {
  const std::size_t name = path.find_last_of('/') + 1;
  if (path.compare(name, 5, "ckpt_") != 0 || !path.ends_with(".pt")) return -1;
  return std::strtol(path.c_str() + name + 5, nullptr, 10);
}

const std::vector<Assertion>& bert_assertions() {
  static const std::vector<Assertion> all = {
      {"pure data parallel",
       [](const View&, const Run& r) {
         const int nodes = r.job.cluster.nodes, each = r.world / nodes;
         return nodes > 1 ? each == 32 : each == 1 || each == 2 || each == 8 || each == 32;
       }},
      {"GBS == batch_size*grad_accum_usteps*world",
       [](const View& v, const Run& r) {
         return v.whole("--batch_size") * v.whole("--grad_accum_usteps") * r.world ==
                r.job.training.global_batch;
       }},
      // Of a recipe's own batch and micro-batch the division by the nodes gives what it accumulates.
      {"grad_accum_usteps == base/nodes",
       [](const View& v, const Run& r) {
         const int batch = r.job.training.global_batch;
         const bool second = v.on("--phase2");
         const long base = second ? 512 : batch == 65536 ? 128 : 32;
         const bool shipped = second ? batch == 32768 : batch == 16384 || batch == 65536;
         if (!shipped || r.strategy.micro_batch != (second ? 2 : 16)) return true;
         return v.whole("--grad_accum_usteps") * r.job.cluster.nodes == base;
       }},
      {"seq_len, if given",
       [](const View& v, const Run& r) { return v.whole("--seq_len") == r.job.training.sequence; }},
      {"num HDF5 shards", {}},
      {"--phase2 needs --resume_ckpt",
       [](const View& v, const Run& r) {
         const bool path = v.at("--resume_ckpt_path") != "null";
         if (!v.on("--phase2")) return !path && v.on("--resume_ckpt") == r.again;
         return v.on("--resume_ckpt") && path == !r.again;
       }},
      {"a checkpoint file name must be",
       [](const View& v, const Run&) {
         const std::string& path = v.at("--resume_ckpt_path");
         return path == "null" || step_in_name(path) == v.whole("--phase1_end_step");
       }},
      {"golden_steploss.txt", {}},
      {"bert-large-uncased is downloaded", {}},
  };
  return all;
}

const std::vector<Assertion>& assertions_of(const EntryPoint& entry) {
  static const std::vector<Assertion> none;
  if (entry.name() == "nxd-tp-zero1") return tensor_assertions();
  if (entry.name() == "nxd-pp") return pipeline_assertions();
  if (entry.name() == "nemo-megatron") return nemo_assertions();
  if (entry.name() == "bert") return bert_assertions();
  return none;
}

std::string whole(std::int64_t n) {
  return std::to_string(n);
}

/// Of a recipe: one of its values, or that of the row that holds for all, or `otherwise`.
std::string recipe_value(const EntryPoint& entry, const std::string& recipe, const char* key,
                         const char* otherwise) {
  for (const std::string& row : {recipe, std::string("common-llama")}) {
    const Node* found = entry.recipes().find(row);
    // Keys of the table hold dots.
    if (found != nullptr) found = found->find(key);
    if (found != nullptr && found->kind == Node::Kind::scalar) return found->scalar;
    if (found != nullptr && found->kind == Node::Kind::sequence) {
      std::string list;
      for (const Node& item : found->items) list += (list.empty() ? "[" : ",") + item.scalar;
      return list + "]";
    }
  }
  return otherwise;
}

std::string part(const std::string& list, bool first) {
  const std::size_t comma = list.find(',');
  return first ? list.substr(1, comma - 1) : list.substr(comma + 1, list.size() - comma - 2);
}

/// What both scripts of NxD call alike.
Settings asked_of_nxd(const Run& run) {
  const models::Job& job = run.job;
  const models::Strategy& s = run.strategy;
  Settings a;
  a["--tensor_parallel_size"] = whole(s.tensor_parallel);
  a["--context_parallel_size"] = whole(s.context_parallel);
  a["--seq_len"] = whole(job.training.sequence);
  a["--kv_replicator"] = job.architecture.kv_heads < job.architecture.heads ? whole(s.kv_replicator) : "1";
  // Ring attention is what context parallel means, and then the flag must be off.
  a["--use_flash_attention"] = s.flash_attention && s.context_parallel == 1 ? "1" : "0";
  a["--use_gpu_compatible_precision"] = s.precision == models::Precision::bf16_sr ? "0" : "1";
  a["--checkpoint_dir"] = "/plan/" + std::string(run.mode == "compile" ? "compile" : "run");
  a["--loading_step"] = "latest_if_exists";
  a["--num_kept_checkpoint"] = "2";
  a["--metrics_file"] = a["--checkpoint_dir"] + "/results.json";
  if (run.mode == "compile") a["--checkpoint_freq"] = "-1";
  a["--logging_interval"] = "1";
  return a;
}

Settings asked_of_tensor(const EntryPoint& entry, const Run& run, const std::string& recipe) {
  const models::Strategy& s = run.strategy;
  Settings a = asked_of_nxd(run);
  const auto truth = [](bool on) { return std::string(on ? "true" : "false"); };
  a["--model_path"] = "/plan";
  a["--data_dir"] = "/data";
  a["--output_dir"] = a["--checkpoint_dir"] + "/tensorboard";
  a["--batch_size"] = whole(s.micro_batch);
  a["--grad_accum_usteps"] = whole(run.job.training.global_batch / s.data_parallel / s.micro_batch);
  a["--sequence_parallel_enabled"] = truth(s.sequence_parallel);
  a["--selective_checkpoint_enabled"] = truth(!s.recompute.full);
  a["--qkv_linear"] = truth(run.job.architecture.kv_heads < run.job.architecture.heads);
  a["--use_mix_precision"] = truth(s.precision == models::Precision::mixed_precision);
  a["--use_zero_1"] = truth(s.zero1);
  a["--print_grad_norm"] = "true";
  if (run.mode == "compile") a["--steps_this_run"] = "2";
  if (recipe.empty()) return a;
  a["--lr"] = recipe_value(entry, recipe, "lr", "");
  a["--warmup_steps"] = recipe_value(entry, recipe, "warmup_steps", "");
  a["--max_steps"] = recipe_value(entry, recipe, "max_steps", "");
  if (run.mode == "train") a["--steps_this_run"] = a["--max_steps"];
  a["--beta1"] = part(recipe_value(entry, recipe, "betas", ""), true);
  a["--beta2"] = part(recipe_value(entry, recipe, "betas", ""), false);
  a["--weight_decay"] = recipe_value(entry, recipe, "weight_decay", "");
  if (run.mode == "train") a["--checkpoint_freq"] = "200";
  return a;
}

Settings asked_of_pipeline(const EntryPoint& entry, const Run& run, const std::string& recipe) {
  const models::Strategy& s = run.strategy;
  Settings a = asked_of_nxd(run);
  const auto truth = [](bool on) { return std::string(on ? "1" : "0"); };
  a["--training_config"] = "/plan";
  a["--training_dir"] = "/data";
  a["--tb_dir"] = a["--checkpoint_dir"] + "/tensorboard-20260101-000000";
  a["--pipeline_parallel_size"] = whole(s.pipeline_parallel);
  a["--virtual_pipeline_size"] = whole(s.virtual_pipeline);
  a["--train_batch_size"] = whole(run.job.training.global_batch / s.data_parallel);
  a["--num_microbatches"] = whole(run.job.training.global_batch / s.data_parallel / s.micro_batch);
  a["--use_sequence_parallel"] = truth(s.sequence_parallel);
  a["--use_selective_checkpoint"] = truth(!s.recompute.full);
  a["--qkv_linear"] = truth(run.job.architecture.kv_heads < run.job.architecture.heads);
  a["--use_zero1_optimizer"] = truth(s.zero1);
  a["--use_meta_device_init"] = "1";
  a["--save_load_xser"] = "1";
  if (run.mode == "compile") a["--max_steps"] = "10";
  if (recipe.empty()) return a;
  a["--lr"] = recipe_value(entry, recipe, "lr", "");
  a["--min_lr"] = recipe_value(entry, recipe, "min_lr", "");
  a["--warmup_steps"] = recipe_value(entry, recipe, "warmup_steps", "");
  a["--constant_steps"] = recipe_value(entry, recipe, "constant_steps", "");
  if (run.mode == "train") a["--max_steps"] = recipe_value(entry, recipe, "max_steps", "");
  a["--beta1"] = part(recipe_value(entry, recipe, "betas", ""), true);
  a["--beta2"] = part(recipe_value(entry, recipe, "betas", ""), false);
  a["--weight_decay"] = recipe_value(entry, recipe, "weight_decay_flag", "");
  if (run.mode == "train") a["--checkpoint_freq"] = "200";
  return a;
}

void ask_for_learning(Settings& a, const EntryPoint& entry, const Run& run, const std::string& recipe) {
  a["model.optim.lr"] = recipe_value(entry, recipe, "optim.lr", "");
  a["model.optim.betas"] = recipe_value(entry, recipe, "optim.betas", "");
  a["model.optim.weight_decay"] = recipe_value(entry, recipe, "optim.weight_decay", "");
  a["model.optim.sched.warmup_steps"] = recipe_value(entry, recipe, "warmup_steps", "");
  a["model.optim.sched.constant_steps"] = recipe_value(entry, recipe, "constant_steps", "");
  a["model.optim.sched.min_lr"] = recipe_value(entry, recipe, "min_lr", "");
  a["model.init_method_std"] = recipe_value(entry, recipe, "init_method_std", "");
  if (run.mode == "train") a["trainer.max_steps"] = recipe_value(entry, recipe, "max_steps", "");
}

void ask_for_model(Settings& a, const models::Job& job) {
  const models::Architecture& m = job.architecture;
  const std::string sequence = whole(job.training.sequence);
  a["model.encoder_seq_length"] = a["model.max_position_embeddings"] = a["model.data.seq_length"] = sequence;
  a["model.num_layers"] = whole(m.layers);
  a["model.hidden_size"] = whole(m.hidden);
  a["model.ffn_hidden_size"] = whole(m.intermediate);
  a["model.num_attention_heads"] = whole(m.heads);
  if (m.kv_heads < m.heads) a["model.num_kv_heads"] = whole(m.kv_heads);
  a["model.position_freq_base"] = std::to_string(m.rope_theta);
  a["model.layernorm_epsilon"] = "1e-05";
  a["model.hidden_dropout"] = "0";
  a["model.tokenizer.type"] = "/tokenizer";
  a["model.data.data_prefix"] = "[1.0,/data]";
  a["model.data.num_workers"] = "1";
}

Settings asked_of_nemo(const EntryPoint& entry, const Run& run, const std::string& recipe) {
  const models::Strategy& s = run.strategy;
  const auto truth = [](bool on) { return std::string(on ? "true" : "false"); };
  const bool training = run.mode == "train", masters = s.precision == models::Precision::mixed_precision;
  const std::string params = "exp_manager.checkpoint_callback_params.";
  Settings a;
  a["trainer.devices"] = whole(run.job.cluster.instance.cores());
  a["trainer.num_nodes"] = whole(run.job.cluster.nodes);
  a["trainer.max_epochs"] = "null";
  a["trainer.precision"] = "32";
  for (const char* one : {"trainer.log_every_n_steps", "trainer.limit_val_batches",
                          "trainer.limit_test_batches", "trainer.accumulate_grad_batches"})
    a[one] = "1";
  a["trainer.num_sanity_val_steps"] = "0";
  a["model.micro_batch_size"] = whole(s.micro_batch);
  a["model.global_batch_size"] = whole(run.job.training.global_batch);
  a["model.tensor_model_parallel_size"] = whole(s.tensor_parallel);
  a["model.pipeline_model_parallel_size"] = whole(s.pipeline_parallel);
  a["model.sequence_parallel"] = truth(s.sequence_parallel);
  a["model.use_flash_attention"] = truth(s.flash_attention);
  a["model.use_cpu_initialization"] = "true";
  const bool selective = !s.recompute.full && s.recompute.core_attention;
  a["model.activations_checkpoint_granularity"] = s.recompute.full ? "full"
                                                  : selective      ? "selective"
                                                                   : "null";
  a["model.activations_checkpoint_method"] = s.recompute.full ? "uniform" : "null";
  a["model.activations_checkpoint_num_layers"] = s.recompute.full ? "1" : "null";
  a["model.megatron_amp_O2"] = "false";
  a["model.wrap_with_zero"] = truth(s.zero1);
  a["model.zero_use_master_weight"] = a["model.zero_use_fp32_grad_accum"] = truth(masters);
  a["model.optim.name"] = "adamw";
  a["model.optim.capturable"] = "true";
  a["model.optim.sched.name"] = "CosineAnnealing";
  a["model.save_xser"] = a["model.load_xser"] = "true";
  a["exp_manager.create_tensorboard_logger"] = a["exp_manager.create_checkpoint_callback"] = truth(training);
  a["exp_manager.resume_if_exists"] = a["exp_manager.resume_ignore_no_checkpoint"] = "true";
  a["exp_manager.explicit_log_dir"] = training ? "/plan/run" : "/plan/compile";
  a[params + "every_n_train_steps"] = "200";
  a[params + "save_top_k"] = "2";
  a[params + "save_last"] = "false";
  ask_for_model(a, run.job);
  if (!training) a["trainer.max_steps"] = "4";
  if (!recipe.empty()) ask_for_learning(a, entry, run, recipe);
  if (a.contains("trainer.max_steps")) a["trainer.val_check_interval"] = a["trainer.max_steps"];
  return a;
}

Settings asked_of_bert(const EntryPoint& entry, const Run& run, const std::string& recipe) {
  const models::Strategy& s = run.strategy;
  const bool training = run.mode == "train", second = run.job.training.sequence == 512;
  const auto of_recipe = [&](const char* key) {
    const std::string value = recipe_value(entry, recipe, key, "");
    return value.substr(0, value.find(' '));  // "4e-4 (default)"
  };
  Settings a;
  a["--data_dir"] = "/data";
  a["--seq_len"] = whole(run.job.training.sequence);
  a["--output_dir"] = training ? "/plan/run" : "/plan/compile";
  a["--metrics_file"] = a["--output_dir"] + "/results.json";
  a["--batch_size"] = whole(s.micro_batch);
  a["--grad_accum_usteps"] =
      whole(run.job.training.global_batch / run.job.cluster.nodes / 32 / s.micro_batch);
  a["--enable_pt_autocast"] = s.precision == models::Precision::autocast ? "true" : "false";
  a["--enable_fp32"] = s.precision == models::Precision::fp32 ? "true" : "false";
  a["--print_grad_norm"] = "true";
  a["--num_ckpts_to_keep"] = "2";
  a["--phase2"] = second ? "true" : "false";
  a["--resume_ckpt"] = second || run.again ? "true" : "false";
  if (second && !run.again) a["--resume_ckpt_path"] = "/phase1/ckpt_28125.pt";
  if (second) a["--phase1_end_step"] = of_recipe("phase1_end_step");
  for (const char* key : {"lr", "warmup_steps", "max_steps", "max_pred_len", "optimizer"})
    a[std::string("--") + key] = of_recipe(key);
  const bool adam = a["--optimizer"].starts_with("AdamW");
  if (adam && s.precision == models::Precision::fp32) a["--optimizer"] = "AdamW";
  a["--steps_this_run"] = training ? a["--max_steps"] : "5";
  return a;
}

}  // namespace

std::vector<std::string> broken_assertions(const EntryPoint& entry, const Settings& settings,
                                           const Run& run) {
  std::vector<std::string> broken;
  const View view(settings);
  for (const Assertion& a : assertions_of(entry)) {
    if (a.holds && !a.holds(view, run)) broken.push_back(std::string("does not hold: ") + a.begins);
  }
  return broken;
}

std::vector<std::string> unchecked_assertions(const EntryPoint& entry) {
  std::vector<std::string> left;
  const std::vector<Assertion>& known = assertions_of(entry);
  for (const std::string& text : entry.texts("assertions")) {
    const bool checked = std::any_of(known.begin(), known.end(), [&](const Assertion& a) {
      return a.holds && text.starts_with(a.begins);
    });
    if (!checked) left.push_back(text);
  }
  return left;
}

Settings asked_by(const EntryPoint& entry, const Run& run, const std::string& recipe) {
  if (entry.name() == "nxd-tp-zero1") return asked_of_tensor(entry, run, recipe);
  if (entry.name() == "nxd-pp") return asked_of_pipeline(entry, run, recipe);
  if (entry.name() == "bert") return asked_of_bert(entry, run, recipe);
  return asked_of_nemo(entry, run, recipe);
}

bool same_value(const std::string& a, const std::string& b) {
  if (a == b) return true;
  char *end_a = nullptr, *end_b = nullptr;
  const double x = std::strtod(a.c_str(), &end_a), y = std::strtod(b.c_str(), &end_b);
  if (end_a == a.c_str() || end_b == b.c_str() || *end_a != '\0' || *end_b != '\0') return false;
  return x == y;
}

}  // namespace trnplan
