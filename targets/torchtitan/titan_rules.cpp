#include "targets/torchtitan/titan_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "targets/torchtitan/titan_keys.h"
#include "targets/torchtitan/titan_plan.h"
#include "units/product.h"

namespace trnplan::targets {

namespace {

using Broken = std::optional<Breach>;

// Where v0.2.2 asserts.
constexpr const char* kDimensions = "pytorch/torchtitan@v0.2.2:torchtitan/distributed/parallel_dims.py";
constexpr const char* kTrain = "pytorch/torchtitan@v0.2.2:torchtitan/train.py";
constexpr const char* kLlama = "pytorch/torchtitan@v0.2.2:torchtitan/models/llama3/infra/parallelize.py";
constexpr const char* kLlamaModel = "pytorch/torchtitan@v0.2.2:torchtitan/models/llama3/model/model.py";
constexpr const char* kPipeline = "pytorch/torchtitan@v0.2.2:torchtitan/distributed/pipeline_parallel.py";
constexpr const char* kSchedules = "pytorch/pytorch@1fd7abc2:torch/distributed/pipelining/schedules.py";
constexpr const char* kUtils = "pytorch/torchtitan@v0.2.2:torchtitan/distributed/utils.py";
constexpr const char* kFloat8Docs = "pytorch/torchtitan@v0.2.2:docs/float8.md";
constexpr const char* kAsync = "pytorch/torchtitan@v0.2.2:torchtitan/distributed/tensor_parallel.py";
constexpr const char* kRecompute =
    "pytorch/torchtitan@v0.2.2:torchtitan/distributed/activation_checkpoint.py";
constexpr const char* kConverters = "pytorch/torchtitan@v0.2.2:torchtitan/protocols/model_converter.py";
constexpr const char* kFloat8 = "pytorch/torchtitan@v0.2.2:torchtitan/components/quantization/float8.py";
constexpr const char* kMx = "pytorch/torchtitan@v0.2.2:torchtitan/components/quantization/mx.py";
constexpr const char* kCheckpoints = "pytorch/torchtitan@v0.2.2:torchtitan/components/checkpoint.py";
constexpr const char* kOptimizer = "pytorch/torchtitan@v0.2.2:torchtitan/components/optimizer.py";

std::int64_t degree(const Settings& s, const char* which) {
  return s.whole(fmt::format("parallelism.{}_degree", which));
}
std::int64_t model_ranks(const Settings& s) {
  return saturating_product({degree(s, "tensor_parallel"), degree(s, "context_parallel"),
                             degree(s, "pipeline_parallel"), degree(s, "data_parallel_replicate")});
}
/// -1 takes the ranks that are left; 0 where they are none.
std::int64_t shards(const Settings& s, const StartFacts& f) {
  const std::int64_t stated = degree(s, "data_parallel_shard");
  return stated < 0 ? f.ranks / model_ranks(s) : stated;
}
bool compiles_model(const Settings& s) {
  const std::vector<std::string>& parts = s.list("compile.components");
  return s.on("compile.enable") &&
         (!s.given("compile.components") || std::find(parts.begin(), parts.end(), "model") != parts.end());
}
std::vector<std::string> converters(const Settings& s) {
  return s.is_list("model.converters") ? s.list("model.converters") : std::vector<std::string>{};
}
bool converts(const Settings& s, const char* name) {
  const std::vector<std::string> all = converters(s);
  return std::find(all.begin(), all.end(), name) != all.end();
}

Broken mesh_is_the_world(const Settings& s, const StartFacts& f) {
  if (f.ranks <= 0) return {};
  const std::int64_t stated = degree(s, "data_parallel_shard");
  if (stated == 0)
    return Breach{"0 ranks share nothing", "write -1, which takes the ranks that are left", false,
                  "parallelism.data_parallel_shard_degree"};
  const std::int64_t rest = model_ranks(s), all = saturating_product({rest, shards(s, f)});
  if (all == f.ranks) return {};
  if (stated < 0)
    return Breach{fmt::format("{} ranks are not a multiple of the other degrees, {}", f.ranks, rest),
                  "fix the degrees or --nodes"};
  return Breach{fmt::format("the degrees make {} ranks, the cluster has {}", all, f.ranks),
                "fix the degrees, or leave data_parallel_shard_degree at -1"};
}

Broken titan_batch_divides(const Settings& s, const StartFacts& f) {
  const std::int64_t batch = s.whole("training.global_batch_size");
  if (batch < 0) return {};
  if (batch == 0) return Breach{"a batch of nothing", "write -1, or a number of sequences"};
  const std::int64_t ranks = saturating_product({degree(s, "data_parallel_replicate"), shards(s, f)});
  const std::int64_t slice = saturating_product({s.whole("training.local_batch_size"), ranks});
  if (slice < 1 || batch % slice == 0) return {};
  return Breach{fmt::format("{} is not a multiple of {} sequences on each of {} ranks", batch,
                            s.whole("training.local_batch_size"), ranks),
                fmt::format("write {}", next_multiple(batch, slice))};
}

Broken sequence_in_pieces(const Settings& s, const StartFacts&) {
  const std::int64_t pieces = titan_pieces(degree(s, "tensor_parallel"), degree(s, "context_parallel"));
  const std::int64_t sequence = s.whole("training.seq_len");
  if (sequence % pieces == 0) return {};
  return Breach{fmt::format("{} tokens are not a multiple of 2 TP x CP, {}", sequence, pieces),
                fmt::format("write {}", next_multiple(sequence, pieces))};
}

Broken micro_batches_divide(const Settings& s, const StartFacts&) {
  const std::int64_t local = s.whole("training.local_batch_size"),
                     micro = s.whole("parallelism.pipeline_parallel_microbatch_size");
  if (degree(s, "pipeline_parallel") == 1 || local % micro == 0) return {};
  return Breach{fmt::format("{} sequences are not a multiple of the micro-batch of {}", local, micro),
                "fix one of the two"};
}

/// Schedules of torch.distributed.pipelining by name, whatever the case; several stages a rank or one.
struct KnownSchedule {
  std::string_view name;
  int least, most;               ///< stages of a rank
  bool splits_backward = false;  ///< and so refuses compiled modules
};
constexpr int kAnyStages = 1 << 20;
constexpr KnownSchedule kPipelineSchedules[] = {
    {"1F1B", 1, 1},
    {"GPipe", 1, 1},
    {"Interleaved1F1B", 2, kAnyStages},
    {"LoopedBFS", 2, kAnyStages},
    {"InterleavedZeroBubble", 2, kAnyStages, true},
    {"ZBVZeroBubble", 2, 2, true},
    {"DualPipeV", 2, 2, true},
    {"PipelineScheduleSingle", 1, 1},
    {"PipelineScheduleMulti", 2, kAnyStages},
};

const KnownSchedule* known_schedule(const std::string& name) {
  const auto* found = std::find_if(std::begin(kPipelineSchedules), std::end(kPipelineSchedules),
                                   [&](const KnownSchedule& k) { return titan_same_schedule(name, k.name); });
  return found == std::end(kPipelineSchedules) ? nullptr : found;
}

Broken schedule_is_known(const Settings& s, const StartFacts&) {
  const std::string name = s.text("parallelism.pipeline_parallel_schedule");
  if (degree(s, "pipeline_parallel") == 1 || known_schedule(name) != nullptr) return {};
  return Breach{in_quotes(name) + " is not a schedule of torch.distributed.pipelining",
                "write 1F1B, GPipe or Interleaved1F1B"};
}

Broken split_is_eager(const Settings& s, const StartFacts&) {
  const KnownSchedule* schedule = known_schedule(s.text("parallelism.pipeline_parallel_schedule"));
  if (degree(s, "pipeline_parallel") == 1 || schedule == nullptr || !schedule->splits_backward ||
      !compiles_model(s))
    return {};
  return Breach{fmt::format("{} does not take a model that is compiled", schedule->name),
                "drop enable = true under [compile], or choose another schedule"};
}

Broken stages_fit(const Settings& s, const StartFacts& f) {
  const std::int64_t pp = degree(s, "pipeline_parallel");
  const KnownSchedule* schedule = known_schedule(s.text("parallelism.pipeline_parallel_schedule"));
  if (pp == 1 || schedule == nullptr || f.model.layers < 1 ||
      s.given("parallelism.module_fqns_per_model_part"))
    return {};
  const std::int64_t first = s.whole("parallelism.pipeline_parallel_first_stage_less_layers"),
                     last = s.whole("parallelism.pipeline_parallel_last_stage_less_layers"),
                     each = s.whole("parallelism.pipeline_parallel_layers_per_stage");
  const std::int64_t whole = f.model.layers + first + last;
  const std::int64_t stages = each > 0 ? (whole + each - 1) / each : pp * schedule->least;
  const char* const key = "parallelism.pipeline_parallel_layers_per_stage";
  if (stages % pp != 0)
    return Breach{fmt::format("{} stages on PP {}", stages, pp),
                  "choose layers that make a multiple of the degree", false, key};
  if (stages / pp < schedule->least || stages / pp > schedule->most)
    return Breach{fmt::format("{} stages a rank, but {} has {}", stages / pp, schedule->name,
                              schedule->most == kAnyStages ? "2 or more" : fmt::to_string(schedule->most)),
                  "choose other layers a stage, or another schedule", false, key};
  if (stages > whole || first > whole / stages || last > whole / stages)
    return Breach{
        fmt::format("{} layers cannot form {} stages of which the first has {} and the last {} fewer",
                    f.model.layers, stages, first, last),
        "take fewer stages", false, "parallelism.pipeline_parallel_degree"};
  return {};
}

Broken async_compiles(const Settings& s, const StartFacts&) {
  if (!s.on("parallelism.enable_async_tensor_parallel") || degree(s, "tensor_parallel") == 1 ||
      compiles_model(s))
    return {};
  return Breach{"asynchronous TP needs the model compiled", "add enable = true under [compile]"};
}

Broken converters_are_known(const Settings& s, const StartFacts&) {
  static const std::vector<std::string> kKnown = split_words(
      "quantize.linear.float8 quantize.grouped_mm.float8 quantize.linear.mx quantize.grouped_mm.mx");
  if (!s.given("model.converters")) return {};
  if (!s.is_list("model.converters"))
    return Breach{"is a text, and has to be a list", fmt::format("write [\"{}\"]", kTitanFloat8)};
  const std::vector<std::string> all = converters(s);
  std::string kind;
  for (const std::string& one : all) {
    if (std::find(kKnown.begin(), kKnown.end(), one) == kKnown.end()) {
      const bool eight = one == kTitanOldFloat8, old = eight || one == "mx";
      Breach b{
          in_quotes(one) + " is not a converter of v0.2.2",
          old ? fmt::format("write \"quantize.linear.{}\"", one) : fmt::format("write \"{}\"", kTitanFloat8)};
      b.understood = eight && all.size() == 1;
      return b;
    }
    const std::string own = one.substr(one.rfind('.') + 1);
    if (!kind.empty() && kind != own) return Breach{"float8 and mx exclude each other", "keep one of them"};
    kind = own;
  }
  return {};
}

/// Both are TorchTitan's own words for it: docs/float8.md, and what the converter of grouped products logs.
Broken float8_compiles(const Settings& s, const StartFacts&) {
  if (compiles_model(s) || (!converts(s, kTitanFloat8) && !converts(s, "quantize.grouped_mm.float8")))
    return {};
  return Breach{"FP8 in a model that is not compiled: scales and casts are kernels of their own",
                "add enable = true under [compile]", true};
}

Broken mixed_precision_works(const Settings& s, const StartFacts& f) {
  if (s.text("training.mixed_precision_param") == "float32" || s.text("training.dtype") != "float32" ||
      !titan_computes_wide(degree(s, "tensor_parallel"), degree(s, "pipeline_parallel"), shards(s, f),
                           degree(s, "context_parallel")))
    return {};
  return Breach{"in v0.2.2 TP or PP without FSDP or CP turn mixed precision off: the run computes in FP32",
                "let data_parallel_shard_degree or context_parallel_degree be 2 or more", true};
}

Broken pipelining_is_there(const Settings& s, const StartFacts&) {
  const TitanFamily* family = titan_family(s.text("model.name"));
  if (family == nullptr || family->pipelines || degree(s, "pipeline_parallel") == 1) return {};
  return Breach{fmt::format("{} has no pipelining", family->name), "write 1"};
}

Broken float8_on_device(const Settings& s, const StartFacts& f) {
  const bool emulated = s.on("quantize.linear.float8.emulate") && !compiles_model(s);
  const bool asked = (converts(s, kTitanFloat8) && !emulated) || converts(s, "quantize.grouped_mm.float8");
  if (!asked || f.core.fp8.value > 0) return {};
  return Breach{"the device does not compute in FP8", "drop the converter, or name another --instance"};
}

Broken float8_recipe(const Settings& s, const StartFacts&) {
  if (!converts(s, kTitanFloat8) || s.text("quantize.linear.float8.recipe_name").empty() ||
      !s.on("quantize.linear.float8.enable_fsdp_float8_all_gather"))
    return {};
  return Breach{"a recipe excludes enable_fsdp_float8_all_gather", "drop one of the two"};
}

/// Blackwell is the first that computes in FP4, and in MXFP8.
Broken mx_on_device(const Settings& s, const StartFacts& f) {
  if (!converts(s, "quantize.linear.mx") && !converts(s, "quantize.grouped_mm.mx")) return {};
  if (f.core.fp4.value <= 0)
    return Breach{"the device does not compute in MXFP8", "drop the converter, or name another --instance"};
  if (!converts(s, "quantize.linear.mx") || !compiles_model(s) || degree(s, "tensor_parallel") == 1)
    return {};
  return Breach{"MXFP8 in a compiled model excludes TP", "write TP 1"};
}

Broken budget_compiles(const Settings& s, const StartFacts&) {
  if (s.text("activation_checkpoint.mode") != "memory_budget" || compiles_model(s)) return {};
  return Breach{"a memory budget needs the model compiled", "add enable = true under [compile]"};
}

Broken selective_option(const Settings& s, const StartFacts&) {
  if (s.text("activation_checkpoint.mode") != "selective") return {};
  const std::string option = s.text("activation_checkpoint.selective_ac_option");
  const bool digits = !option.empty() && option.find_first_not_of("0123456789") == std::string::npos;
  if (option == "op" || digits) return {};
  return Breach{in_quotes(option) + " is neither op nor a number of layers",
                "write \"op\", or \"2\" to recompute every second layer"};
}

Broken keeps_two(const Settings& s, const StartFacts&) {
  if (!s.on("checkpoint.enable") || s.whole("checkpoint.keep_latest_k") != 1) return {};
  return Breach{"a single checkpoint cannot be kept", "write 2 or more, or 0 to keep all"};
}

Broken hf_is_the_model_alone(const Settings& s, const StartFacts&) {
  if (!s.on("checkpoint.enable")) return {};
  if (s.on("checkpoint.initial_load_in_hf") && !s.on("checkpoint.initial_load_model_only"))
    return Breach{"a checkpoint of Hugging Face holds the model alone",
                  "write initial_load_model_only = true"};
  if (s.on("checkpoint.initial_load_in_hf_quantized") && !s.on("checkpoint.initial_load_in_hf"))
    return Breach{"only a checkpoint of Hugging Face is quantised", "write initial_load_in_hf = true", false,
                  "checkpoint.initial_load_in_hf_quantized"};
  return {};
}

Broken expert_tensor(const Settings& s, const StartFacts&) {
  const std::int64_t own = degree(s, "expert_tensor_parallel"), tp = degree(s, "tensor_parallel");
  if (degree(s, "expert_parallel") == 1 || own == 1 || own == tp) return {};
  return Breach{fmt::format("{} is neither 1 nor TP, {}", own, tp), "write 1"};
}

Broken replicas_alone(const Settings& s, const StartFacts& f) {
  const std::int64_t copies = degree(s, "data_parallel_replicate");
  if (copies == 1 || shards(s, f) > 1 || degree(s, "context_parallel") > 1 || f.ranks <= copies) return {};
  return Breach{"replicas that share nothing together with other degrees",
                "let data_parallel_shard_degree be 2 or more"};
}

Broken heads_on_ranks(const Settings& s, const StartFacts& f) {
  const std::int64_t tp = degree(s, "tensor_parallel");
  const int kv = f.model.kv_heads;
  if (kv < 1 || kv % tp == 0) return {};
  return Breach{fmt::format("{} key and value heads on TP {}", kv, tp), "choose a TP that divides them"};
}

Broken early_step(const Settings& s, const StartFacts&) {
  if (!s.on("optimizer.early_step_in_backward")) return {};
  if (degree(s, "pipeline_parallel") == 1 && degree(s, "expert_parallel") == 1) return {};
  return Breach{"steps in the backward pass exclude PP and EP", "drop it"};
}

Broken balancer_is_named(const Settings& s, const StartFacts&) {
  if (!s.given("parallelism.context_parallel_load_balancer") ||
      !s.text("parallelism.context_parallel_load_balancer").empty())
    return {};
  return Breach{"is empty", "write headtail"};
}

}  // namespace

const std::vector<StartRule>& titan_start_rules() {
  static const std::string kMesh =
      "parallelism.data_parallel_shard_degree parallelism.data_parallel_replicate_degree "
      "parallelism.tensor_parallel_degree parallelism.context_parallel_degree "
      "parallelism.pipeline_parallel_degree ";
  static const std::string kStages =
      "parallelism.pipeline_parallel_degree parallelism.pipeline_parallel_schedule "
      "parallelism.pipeline_parallel_layers_per_stage "
      "parallelism.pipeline_parallel_first_stage_less_layers "
      "parallelism.pipeline_parallel_last_stage_less_layers";
  static const std::string kWide =
      "parallelism.tensor_parallel_degree parallelism.pipeline_parallel_degree "
      "parallelism.data_parallel_shard_degree parallelism.data_parallel_replicate_degree "
      "parallelism.context_parallel_degree training.mixed_precision_param training.dtype";
  static const std::vector<StartRule> all = {
      {"divisibility", "mesh", kMesh, mesh_is_the_world, kDimensions, true},
      {"divisibility", "replicas alone", "parallelism.data_parallel_replicate_degree " + kMesh,
       replicas_alone, kLlama},
      {"batch", "batch", "training.global_batch_size training.local_batch_size " + kMesh, titan_batch_divides,
       kTrain, true},
      {"batch", "micro-batches",
       "training.local_batch_size parallelism.pipeline_parallel_microbatch_size "
       "parallelism.pipeline_parallel_degree",
       micro_batches_divide, kPipeline, true},
      {"sequence-parallel", "sequence",
       "training.seq_len parallelism.tensor_parallel_degree parallelism.context_parallel_degree",
       sequence_in_pieces, kLlama, true},
      {"heads", "heads by TP", "parallelism.tensor_parallel_degree", heads_on_ranks, kLlamaModel},
      {"pipeline-schedule", "schedule",
       "parallelism.pipeline_parallel_schedule parallelism.pipeline_parallel_degree", schedule_is_known,
       kPipeline},
      {"pipeline-schedule", "split backward",
       "parallelism.pipeline_parallel_schedule parallelism.pipeline_parallel_degree compile.enable",
       split_is_eager, kSchedules},
      {"layers", "stages", kStages, stages_fit, kPipeline, true},
      {"context-parallel", "balancer", "parallelism.context_parallel_load_balancer", balancer_is_named,
       kTitanJobConfig},
      {"compile", "asynchronous TP",
       "parallelism.enable_async_tensor_parallel parallelism.tensor_parallel_degree compile.enable",
       async_compiles, kAsync},
      {"precision", "converters", "model.converters", converters_are_known, kConverters},
      {"precision", "FP32", kWide, mixed_precision_works, kUtils},
      {"compile", "float8", "model.converters compile.enable", float8_compiles, kFloat8Docs},
      {"pipeline-schedule", "pipelining", "parallelism.pipeline_parallel_degree model.name",
       pipelining_is_there, kTrain},
      {"precision", "float8 on the device", "model.converters quantize.linear.float8.emulate compile.enable",
       float8_on_device, kFloat8},
      {"precision", "recipe of float8",
       "quantize.linear.float8.recipe_name quantize.linear.float8.enable_fsdp_float8_all_gather",
       float8_recipe, kFloat8},
      {"precision", "mx on the device", "model.converters compile.enable parallelism.tensor_parallel_degree",
       mx_on_device, kMx},
      {"recompute", "budget", "activation_checkpoint.mode compile.enable", budget_compiles, kRecompute},
      {"recompute", "option", "activation_checkpoint.selective_ac_option activation_checkpoint.mode",
       selective_option, kRecompute, true},
      {"checkpoint", "kept", "checkpoint.keep_latest_k checkpoint.enable", keeps_two, kCheckpoints},
      {"checkpoint", "Hugging Face",
       "checkpoint.initial_load_model_only checkpoint.initial_load_in_hf "
       "checkpoint.initial_load_in_hf_quantized "
       "checkpoint.enable",
       hf_is_the_model_alone, kCheckpoints},
      {"moe", "TP of experts",
       "parallelism.expert_tensor_parallel_degree parallelism.expert_parallel_degree "
       "parallelism.tensor_parallel_degree",
       expert_tensor, kDimensions},
      {"optimizer", "steps in the backward pass",
       "optimizer.early_step_in_backward parallelism.pipeline_parallel_degree "
       "parallelism.expert_parallel_degree",
       early_step, kOptimizer},
  };
  return all;
}

}  // namespace trnplan::targets
