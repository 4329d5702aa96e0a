#include "io/input/job_keys.h"

#include <string_view>
#include <utility>

#include "io/format/json_tree.h"
#include "models/framework/strategy_keys.h"

namespace trnplan::io {

namespace {

constexpr JobKey kJobKeys[] = {
    {"", "model",
     "a name of catalog/models, a Hugging Face config.json, or an NxDT YAML, whose training and strategy "
     "apply unless the job states its own",
     "required"},
    {"", "training", "what the run trains on", "required, except with an NxDT YAML", true},
    {"training", "sequence", "tokens of a sequence", "required"},
    {"training", "global_batch",
     "sequences of an optimizer step: `1024`; a range `512..2048`, of which a strategy uses the largest "
     "batch that it divides; `{per_node: 32}`, multiplied by the nodes",
     "required"},
    {"training", "tokens", "of the whole run: `15T`", "days and dollars of the run are not reported"},
    {"training", "precision",
     "`mixed_precision`, `autocast`, `bf16SR`, `fp32`, `manual`, `fp8`, `fp8_param_gather`; `any` tries the "
     "first four (on GPUs `mixed_precision` and `fp32`), which train differently",
     "`mixed_precision`"},
    {"", "cluster", "the machines", "required, except with an NxDT YAML", true},
    {"cluster", "instance",
     "a type of catalog/instances; a list; or `any`, all types of the default type's family (trn1), since "
     "one profile times one family; `whatif --instances` compares families",
     "required, unless a file states it"},
    {"cluster", "nodes", "`4`; a range `4..32`, which doubles (4, 8, 16, 32); a list `[4, 8, 12]`", "1"},
    {"cluster", "neuron_ls", "a file with the output of `neuron-ls`: how a node is wired",
     "the wiring in the catalogue"},
    {"cluster", "hyperpod", "a file that describes a cluster of SageMaker HyperPod", ""},
    {"cluster", "parallelcluster", "a configuration of AWS ParallelCluster", ""},
    {"cluster", "sinfo", "a file with the output of `sinfo`", ""},
    {"cluster", "group", "the part of such a file: an instance group, queue or partition",
     "the only one there is"},
    {"cluster", "all_reduce_gbps",
     "measured bus bandwidth of a large all-reduce, GB/s as nccl-tests and nccom-test print it: `161`, "
     "`161@32` with its nodes",
     "that of published runs"},
    {"cluster", "measured", "or a file with the output of either, with sizes of 256 MiB and more", ""},
    {"", "software", "what runs the job", "", true},
    {"software", "framework",
     "`nxdt`, `nxd`, `nemo-megatron`, `bert`, `megatron` or `torchtitan`. Its target is the default of `plan "
     "--target`: its rules apply, and what it cannot express is not searched",
     "the stacks that are searched on the machine, of which the best is used and named: on trn1 `nxdt`, on "
     "trn2 `nxdt` and `torchtitan`, on GPUs `megatron` and `torchtitan`; with `pin.framework` the stack that "
     "runs it"},
    {"software", "release", "the Neuron SDK, whose packages a folder pins (`catalog/neuron-releases.json`)",
     "the packages of 2.28; for an unknown release those of the nearest, with a remark"},
    {"software", "version",
     "of the framework, such as `\"1.4\"` of NxDT: what that version does not have yet (below) is not "
     "planned, and the config states it",
     "that of the release, if it is known"},
    {"software", "requests_in_flight",
     "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS, written into the config. With 1 every launch takes "
     "`host_launch` longer; from 2 on no time changes, and no source states what more requests keep in "
     "memory ([models.md](models.md#pipeline-and-step)), so it is not searched",
     "5, as most shipped configs have; the runtime's guide recommends 3"},
    {"software", "fuse_qkv",
     "one weight and one product for queries, keys and values; written into NxDT's config, and into NxD's "
     "flags if heads are grouped. One product is timed: no source compares it with three. A checkpoint has "
     "this layout and must be read with it",
     "`true`, NxD's own"},
    {"software", "sequential_move_factor",
     "number of a node's processes that create their weights on the host at the same time and then move them "
     "to the device, from 1 to the cores of a node; written into NxDT's config. Fewer need less host memory "
     "and start later; no source states how much, and no step depends on it",
     "that of the instance's shipped config: 32 on trn2, otherwise NxD's own, 11"},
    {"", "objective",
     "`step_time`: most tokens per second; `cost`: fewest dollars per token; `deadline`: the smallest "
     "cluster that keeps the deadline",
     "`step_time`"},
    {"", "deadline",
     "of the whole run: `30d`, `36h`, `6w`. With `training.tokens`: plans that miss it are refused. Without: "
     "how far the run gets",
     "none; `objective: deadline` needs it"},
    {"", "budget",
     "USD of the whole run at the on-demand price: `100000`, `2.5M`. With `training.tokens`: plans that cost "
     "more are refused. Without: how far the run gets. Needs a price in the catalogue",
     "none"},
    {"", "learning",
     "how the run learns. No prediction depends on it; a target that cannot do what is stated is refused, "
     "never given something else",
     "the shipped recipe of model and target, [below](#what-a-run-learns-with)", true},
    {"learning", "optimizer", "`adamw`, `adamw_fp32OptState` or `lamb`", ""},
    {"learning", "learning_rate", "at its peak", ""},
    {"learning", "min_learning_rate", "at the end", ""},
    {"learning", "schedule", "`cosine` or `linear`", ""},
    {"learning", "warmup_steps", "until the peak", ""},
    {"learning", "constant_steps", "at the minimum, at the end", ""},
    {"learning", "betas", "of Adam: `[0.9, 0.95]`", ""},
    {"learning", "weight_decay", "", ""},
    {"learning", "gradient_clip", "the largest norm", ""},
    {"learning", "seed", "", ""},
    {"", "run", "files of the run and how it is started; paths are absolute, and written into `settings.env`",
     "", true},
    {"run", "checkpoint_steps", "between checkpoints",
     "the distance that loses least to failures ([models.md](models.md#goodput)); with the scripts of NxD "
     "and NeMo-Megatron the next smaller divisor of all steps"},
    {"run", "checkpoints_kept", "a number, or `all`", "two (NxDT one, TorchTitan ten)"},
    {"run", "log_steps", "between lines of the log", "as in the recipe, every step with NxD"},
    {"run", "data", "the data set", "filled in by hand"},
    {"run", "tokenizer", "", "filled in by hand"},
    {"run", "log_dir", "only for this plan: another plan is refused there", "filled in by hand"},
    {"run", "weights", "what `start_from` names", ""},
    {"run", "start_from",
     "`scratch`, `hf` (weights of Hugging Face, converted into shards) or `checkpoint` (of another run; "
     "continual pre-training)",
     "`scratch`; phase 2 of BERT from phase 1"},
    {"run", "scheduler",
     "`slurm`, `eks` or `local`: the folder has only its jobs and cluster files (`plan --scheduler`)",
     "those of all schedulers"},
    {"", "pin",
     "parts of the strategy that are fixed, by the keys of a plan's strategy ([json.md](json.md#plan)) "
     "except `precision`, `pipeline_cuts` and `bucket_mb`; `any` leaves a key to the search, and `zero1: "
     "any` tries both; `framework` states whose training loop runs it (`nxd`, `fsdp` …)",
     "ZeRO-1 is on and all else but `expert_tensor_parallel` is searched: flash and plain attention if the "
     "training loop has both, "
     "its schedules and its shardings",
     true}};

constexpr const char* kAlignment = "model alignment (SFT, DPO, ORPO)";
constexpr const char* kAdapters = "LoRA";

constexpr std::pair<const char*, const char*> kNotModelled[] = {{"model_alignment_strategy", kAlignment},
                                                                {"model_alignment", kAlignment},
                                                                {"alignment", kAlignment},
                                                                {"fine_tuning", kAlignment},
                                                                {"finetuning", kAlignment},
                                                                {"sft", kAlignment},
                                                                {"dpo", kAlignment},
                                                                {"orpo", kAlignment},
                                                                {"peft", kAdapters},
                                                                {"lora", kAdapters}};

}  // namespace

std::span<const JobKey> job_keys() {
  return kJobKeys;
}

std::string job_keys_json() {
  Json keys = Json::array();
  for (const JobKey& key : kJobKeys) {
    const std::string path =
        std::string(key.section) + (key.section.empty() ? "" : ".") + std::string(key.name);
    keys.push_back(
        {{"key", path}, {"value", key.value}, {"without", key.without}, {"section", key.is_section}});
  }
  return dumped(keys);
}

MapReader job_section(const Node& node, std::string_view section, std::vector<Diagnostic>& faults) {
  std::vector<std::string> names;
  for (const JobKey& key : kJobKeys) {
    if (key.section == section) names.emplace_back(key.name);
  }
  for (const models::StrategyKey& key : models::strategy_keys()) {
    if (section == "pin" && key.pinned == models::StrategyKey::Pinned::by_job) names.emplace_back(key.name);
  }
  return {node, std::string(section), faults, names};
}

void refuse_not_modelled(MapReader& map) {
  for (const auto& [key, what] : kNotModelled) {
    if (!map.has(key)) continue;
    map.ignore({key});
    map.fault(key, std::string(what) + " is not modelled: the plan would be for a different job",
              what == std::string_view(kAdapters)
                  ? "remove it to plan the training of all weights, which needs more memory and time"
                  : "remove it to plan pre-training; trnplan check judges an NxDT YAML with alignment");
  }
}

}  // namespace trnplan::io
