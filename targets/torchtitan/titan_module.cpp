#include <fmt/format.h>
#include <fmt/ranges.h>

#include "targets/torchtitan/titan_plan.h"

namespace trnplan::targets {

namespace {

constexpr const char* kHead = R"py(
import importlib
import sys

# Asked for as NAME.config_registry this module is found too.
__path__ = []
sys.modules[__name__ + ".config_registry"] = sys.modules[__name__]

def shipped(function):
    """The config that TorchTitan ships for this size of model; the plan's settings are put into it."""
    for name in ({modules}):
        for place in (name + ".config_registry", name):
            try:
                found = importlib.import_module(place)
            except ModuleNotFoundError:
                continue
            if hasattr(found, function):
                return getattr(found, function)()
    raise SystemExit(f"trnplan_config.py: this TorchTitan ships no {{function}}")

def plain(flavor):
    """The model without the conversions of a shipped config, such as FP8."""
    for name in ({modules}):
        found = importlib.import_module(name)
        if hasattr(found, "model_registry"):
            return found.model_registry(flavor)
    raise SystemExit("trnplan_config.py: this TorchTitan has no model_registry")

def put(part, **settings):
    """A setting that is missing does not exist in this revision, and must not get lost."""
    for name, value in settings.items():
        if not hasattr(part, name):
            raise SystemExit(f"trnplan_config.py: this TorchTitan has no {{type(part).__name__}}.{{name}}")
        setattr(part, name, value)

def put_where_there(part, **settings):
    """Settings that some revisions lack; there the value written here is the only one that exists."""
    for name, value in settings.items():
        if hasattr(part, name):
            setattr(part, name, value)

)py";

std::string word(bool value) {
  return value ? "True" : "False";
}

/// One call of put().
std::string put(std::string_view part, const std::vector<std::string>& settings,
                std::string_view how = "put") {
  std::string text = fmt::format("    {}(\n        config.{},\n", how, part);
  for (const std::string& s : settings) text += "        " + s + ",\n";
  return text + "    )\n";
}

std::string parallelism(const models::Strategy& s, const TitanRun& run) {
  const TitanMesh mesh = *titan_mesh(s);
  std::vector<std::string> all = {
      fmt::format("data_parallel_replicate_degree={}", mesh.replicate),
      fmt::format("data_parallel_shard_degree={}", mesh.shard),
      fmt::format("fsdp_reshard_after_forward=\"{}\"",
                  s.sharding == models::Sharding::gradients ? "never" : "default"),
      fmt::format("tensor_parallel_degree={}", s.tensor_parallel),
      fmt::format("context_parallel_degree={}", s.context_parallel),
      fmt::format("pipeline_parallel_degree={}", s.pipeline_parallel)};
  if (s.context_parallel > 1)
    all.push_back(fmt::format("context_parallel_load_balancer=\"{}\"", kTitanBalancer));
  if (s.pipeline_parallel > 1) {
    all.push_back(fmt::format("pipeline_parallel_schedule=\"{}\"", titan_schedule(s)));
    all.push_back(fmt::format("pipeline_parallel_layers_per_stage={}", run.layers_per_stage));
    all.emplace_back("pipeline_parallel_first_stage_less_layers=0");
    all.emplace_back("pipeline_parallel_last_stage_less_layers=0");
  }
  return put("parallelism", all) +
         put("parallelism",
             {"enable_sequence_parallel=True", "disable_loss_parallel=False", "enable_fsdp_symm_mem=False"},
             "put_where_there");
}

/// Asynchronous TP has been a setting of compile since only Python is read.
std::string compiling(const models::Job& job, const models::Strategy& s) {
  const TitanLoop& loop = *titan_loop(s);
  const std::string async = fmt::format("enable_async_tensor_parallel={}", word(loop.async_tp));
  return put("compile", {fmt::format("enable={}", word(loop.compiled)),
                         fmt::format("components=[\"{}\"]", fmt::join(kTitanComponents, "\", \"")),
                         fmt::format("backend=\"{}\"", titan_backend(job))}) +
         fmt::format(
             "    if hasattr(config.compile, \"enable_async_tensor_parallel\"):\n"
             "        put(config.compile, {0})\n    else:\n        put(config.parallelism, {0})\n",
             async);
}

/// The revision of August 2026 counts tokens; before, as in AWS's fork of 0.2.2, sequences.
std::string batches(const models::Job& job, const models::Strategy& s, const TitanRun& run) {
  const std::int64_t sequence = job.training.sequence;
  const bool pipelined = s.pipeline_parallel > 1;
  const int local = pipelined ? s.micro_batch * run.micro_batches : s.micro_batch;
  return fmt::format(
      "    if hasattr(config.training, \"max_context_length\"):\n"
      "        put(\n            config.training,\n            max_context_length={0},\n"
      "            num_tokens_per_microbatch_per_dp_rank={1},\n            num_tokens_per_train_step={2},\n"
      "            disable_cuda_graphs={3},\n        )\n"
      "        put(config.parallelism, num_pp_microbatches={4})\n"
      "    else:\n"
      "        put(config.training, seq_len={0}, local_batch_size={5}, global_batch_size={6})\n"
      "        put(config.parallelism, pipeline_parallel_microbatch_size={7})\n",
      sequence, sequence * s.micro_batch, sequence * job.training.global_batch, word(pipelined),
      pipelined ? run.micro_batches : 1, local, job.training.global_batch, s.micro_batch);
}

/// Kinds of recompute are classes, taken from a shipped config that uses them. None takes a number of layers
/// since selective_ac_option was removed with the TOML.
std::string checkpointing(const models::Recompute& r) {
  const TitanCheckpointing again = titan_checkpointing(r);
  if (again.mode == "none") return "    config.activation_checkpoint = None\n";
  std::string text = fmt::format("    config.activation_checkpoint = shipped(\"{}\").activation_checkpoint\n",
                                 again.mode == "full" ? "llama3_70b" : "llama3_8b");
  if (again.option.empty() || again.option == "op") return text;
  text += fmt::format(
      "    if not hasattr(config.activation_checkpoint, \"selective_ac_option\"):\n"
      "        raise SystemExit(\"trnplan_config.py: this revision does not recompute one layer in {}: \"\n"
      "                         \"train torchtitan.toml with v0.2.2\")\n",
      again.option);
  return text + put("activation_checkpoint", {fmt::format("mode=\"{}\"", again.mode),
                                              fmt::format("selective_ac_option=\"{}\"", again.option)});
}

}  // namespace

std::string titan_module(const models::Job& job, const models::Strategy& s,
                         const std::vector<std::string>& heading, bool log_every_step) {
  const TitanFlavor& flavor = *titan_flavor(job.architecture);
  const TitanRun run = titan_run(job, s);
  const bool neuron = on_neuron(job);
  const std::string modules =
      (neuron ? fmt::format("\"torchtitan_neuron.models.{}\", ", flavor.family) : std::string()) +
      fmt::format("\"torchtitan.models.{}\",", flavor.family);
  std::string text = "\"\"\"";
  for (const std::string& line : heading) text += line + "\n\n";
  text +=
      "python -m torchtitan.train --module trnplan_config --config trnplan, with this folder on PYTHONPATH.\n"
      "\"\"\"\n";
  text += fmt::format(fmt::runtime(kHead), fmt::arg("modules", modules));
  // Models of the fork have parts of their own, and no FP8.
  text += fmt::format("\ndef trnplan():\n    config = shipped(\"{}\")\n", flavor.function);
  if (!neuron) text += fmt::format("    config.model_spec = plain(\"{}\")\n", flavor.name);
  if (s.precision == models::Precision::fp8) {
    text +=
        "    raise SystemExit(\"trnplan_config.py: FP8 is part of the model's spec in this revision: "
        "train torchtitan.toml with v0.2.2\")\n";
  }
  text += put("training",
              {fmt::format("max_norm={}", run.clip), fmt::format("steps={}", run.steps), "dtype=\"float32\"",
               "mixed_precision_param=\"bfloat16\"", "mixed_precision_reduce=\"float32\""});
  text += put("training", {"enable_cpu_offload=False"}, "put_where_there");
  text += batches(job, s, run);
  text += parallelism(s, run);
  text += compiling(job, s);
  text += checkpointing(s.recompute);
  text += "    for group in config.optimizer.param_groups:\n        group.optimizer_kwargs.update(\n";
  text += fmt::format("            lr={}, betas=({}, {}), weight_decay={}\n        )\n", run.learning.lr,
                      run.learning.beta1, run.learning.beta2, run.learning.weight_decay);
  text += put(
      "lr_scheduler",
      {fmt::format("warmup_steps={}", run.warmup), fmt::format("total_steps={}", run.steps),
       fmt::format("decay_type=\"{}\"", models::kDecayNames[static_cast<std::size_t>(run.learning.schedule)]),
       fmt::format("min_lr_factor={}", run.min_factor)});
  std::vector<std::string> checkpoint = {"enable=True", fmt::format("interval={}", run.save_every),
                                         fmt::format("keep_latest_k={}", run.kept),
                                         "last_save_model_only=False"};
  if (job.run.start_from == models::StartFrom::hf) checkpoint.emplace_back("initial_load_in_hf=True");
  text += put("checkpoint", checkpoint);
  text += put("metrics", {fmt::format("log_freq={}", log_every_step ? 1 : run.log_every),
                          "enable_tensorboard=True", "disable_color_printing=True"});
  if (job.learning.seed) text += put("debug", {fmt::format("seed={}", *job.learning.seed)});
  if (neuron) {
    text += "    # Graphs are compiled in the first steps, which takes longer than the usual limits. Ours.\n";
    text += put("comm", {"init_timeout_seconds=7200", "train_timeout_seconds=7200"});
  } else {
    text += fmt::format("    # {}\n", kTitanTimeoutNote);
    text += put("comm", {fmt::format("init_timeout_seconds={}", kTitanTimeout),
                         fmt::format("train_timeout_seconds={}", kTitanTimeout)});
  }
  return text + "    return config\n";
}

}  // namespace trnplan::targets
