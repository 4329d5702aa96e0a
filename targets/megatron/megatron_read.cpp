#include "targets/megatron/megatron_read.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>

#include "models/architecture/limits.h"
#include "models/framework/framework.h"
#include "models/framework/partition.h"
#include "models/job/limits.h"
#include "targets/megatron/megatron_flags.h"
#include "targets/megatron/megatron_loops.h"
#include "targets/megatron/megatron_rules.h"
#include "targets/megatron/megatron_script.h"
#include "targets/megatron/nemo_recipe.h"
#include "text/diagnostic.h"
#include "text/figures.h"
#include "text/log_lines.h"
#include "text/parse.h"
#include "units/product.h"

namespace trnplan::targets {

namespace {

using models::model_limits, models::run_limits;

class Reader {
 public:
  /// `model`: of a file that does not state the shape.
  Reader(const planner::ConfigFile& file, MegatronScript script, int ranks, const models::Architecture* model)
      : file_(file),
        script_(std::move(script)),
        flags_(script_.flags),
        settings_(flags_, megatron_start_keys()),
        values_(settings_, file_.name, {}),
        ranks_(ranks),
        model_(model) {}

  planner::RunReading run() {
    r_.notes = script_.notes;
    std::vector<Diagnostic> missing;
    for (const char* needed : kMegatronNeeds) {
      const bool of_shape =
          std::string_view(needed) != "--seq-length" && std::string_view(needed) != "--micro-batch-size";
      if (!on(needed) && !(of_shape && model_ != nullptr)) missing.push_back(missing_flag(needed));
    }
    if (!missing.empty()) throw InputError(std::move(missing));
    if (model_ != nullptr)
      r_.architecture = *model_;
    else
      read_model();
    read_window(r_.architecture);
    read_degrees();
    read_recompute();
    read_rest();
    note_near();
    ask_rules();
    values_.finish();
    return std::move(r_);
  }

 private:
  bool on(std::string_view name) const { return settings_.given(name); }
  std::string text(const char* name, const char* fallback = "") {
    return on(name) ? values_.text(name) : fallback;
  }
  void fault(const char* name, std::string problem, std::string fix) {
    values_.fault(name, std::move(problem), std::move(fix));
  }
  int whole(const char* name, int fallback) { return values_.whole(name, fallback); }

  void read_model() {
    models::Architecture& a = r_.architecture;
    a.name = "megatron";
    MegatronReader io{values_};
    size_flags(io, a);
    block_flags(io, a);
    if (on("--quick-geglu")) a.mlp = models::Mlp::gated;  // training/argument_utils.py
    a.blocks.sinks = text("--softmax-type", "vanilla") == "learnable";
    if (a.kv_heads == 0 || !on("--group-query-attention"))
      a.kv_heads = on("--group-query-attention") ? 1 : a.heads;
    if (a.head_dim == 0) a.head_dim = std::max(1, a.hidden / a.heads);
    if (a.head_dim > model_limits.attention / a.heads)
      fault(on("--kv-channels") ? "--kv-channels" : "--num-attention-heads",
            fmt::format("{} heads of {} channels are more than {}", a.heads, a.head_dim,
                        model_limits.attention),
            "correct one of the two");
    const bool gated = a.mlp == models::Mlp::gated;
    if (a.intermediate == 0)
      a.intermediate = gated ? static_cast<int>(4 * a.hidden * 2 / 3 / 64 * 64) : 4 * a.hidden;
    a.learned_positions = text("--position-embedding-type", "learned_absolute") == "learned_absolute";
    a.rope_theta = values_.number("--rotary-base", 10000);
    a.max_positions = whole("--max-position-embeddings", whole("--seq-length", 1));
    a.dropout = values_.number("--attention-dropout", 0.1) > 0;
    read_vocabulary(a);
    if (whole("--num-experts", 0) == 0) return;  // as arguments.py has it
    a.experts_per_token = 2;
    expert_flags(io, a);
    a.intermediate = whole("--moe-ffn-hidden-size", a.intermediate);
    read_capacity(a);
    if (!a.biases || a.norm != models::Norm::rms) return;
    a.biases = false;  // a norm of root mean squares has none
    a.qkv_bias = a.blocks.output_bias = a.blocks.expert_bias = true;
  }

  /// Tokens before and after one that it sees, besides itself: "4095,0", also in parentheses; -1: all of them.
  void read_window(models::Architecture& a) {
    if (!on("--window-size")) return;
    std::string sides = text("--window-size");
    std::erase_if(sides, [](char c) { return c == '(' || c == ')' || c == ' '; });
    const std::vector<std::string> parts = comma_parts(sides);
    const std::optional<int> before = parts.size() == 2 ? parse_whole(parts[0]) : std::nullopt;
    if (before && *before >= -1 && *before < models::run_limits.sequence && parts[1] == "0")
      a.sliding_window = *before + 1;
    else
      r_.config.not_modelled.emplace_back("--window-size " + text("--window-size"));
    read_full_layers(a);
  }

  /// N: each N-th layer has no window (core/transformer/utils.py, is_layer_window_attention). A list of layers is not
  /// read.
  void read_full_layers(models::Architecture& a) {
    a.sliding_window_pattern = 0;
    if (!on("--window-attn-skip-freq")) return;
    const std::optional<int> every = parse_whole(text("--window-attn-skip-freq"));
    if (every && *every >= 1 && *every <= model_limits.layers)
      a.sliding_window_pattern = *every;
    else
      r_.config.not_modelled.emplace_back("--window-attn-skip-freq " +
                                          printable(text("--window-attn-skip-freq"), 40));
  }

  /// Tokenizers whose size their name tells: GPT-2's, which pretrain_gpt.py takes where none is named, and Llama 2's
  /// (huggingface.co/openai-community/gpt2 and meta-llama/Llama-2-7b-hf, config.json).
  void read_vocabulary(models::Architecture& a) {
    if (on("--vocab-size") || on("--padded-vocab-size")) {
      a.vocabulary = whole("--padded-vocab-size", whole("--vocab-size", 1));
      return;
    }
    const bool files = on("--vocab-file") || on("--merge-file");
    const std::string kind =
        on("--tokenizer-type") || !files ? settings_.text("--tokenizer-type") : "GPT2BPETokenizer";
    if (kind == "GPT2BPETokenizer") a.vocabulary = 50257;
    if (kind == "Llama2Tokenizer") a.vocabulary = 32000;
    if (a.vocabulary > 0)
      r_.notes.push_back(
          fmt::format("the vocabulary is assumed to be that of {}: {}; state another with --vocab-size", kind,
                      a.vocabulary));
  }

  /// Padded to it, each expert has as many places; else it drops what comes beyond, which evenly routed tokens reach
  /// where the factor is below 1.
  void read_capacity(models::Architecture& a) {
    const double factor = values_.number("--moe-expert-capacity-factor", -1);
    if (factor < 0) return;
    if (on("--moe-pad-expert-input-to-capacity") || factor < 1) {
      a.capacity_factor = factor;
    } else {
      r_.notes.emplace_back(
          "--moe-expert-capacity-factor drops tokens and pads nothing: experts are assumed to get what "
          "comes, evenly");
    }
  }

  void read_degrees() {
    models::Strategy& s = r_.config.strategy;
    s.framework = models::stated_framework("megatron");
    MegatronReader io{values_};
    degree_flags(io, s);
    group_flags(io, s, true);
    if (on("--num-layers-per-virtual-pipeline-stage")) {
      const std::int64_t round =
          saturating_product({s.pipeline_parallel, whole("--num-layers-per-virtual-pipeline-stage", 1)});
      s.virtual_pipeline = std::max(1, static_cast<int>((r_.architecture.layers + counted_ends()) / round));
    }
    if (s.virtual_pipeline > 1) s.schedule = models::Schedule::interleaved;
    if (on("--decoder-first-pipeline-num-layers") || on("--decoder-last-pipeline-num-layers"))
      read_ends(s);
    else if (counted_ends() > 0)
      read_counted_ends(s);
    else if (r_.architecture.layers % s.pipeline_parallel != 0)
      uneven_ = true;
    if (ranks_ % s.model_parallel() == 0) s.data_parallel = static_cast<int>(ranks_ / s.model_parallel());
    models::Training& t = r_.config.training;
    t.global_batch = 0;
    batch_flags(io, s, t.global_batch);
    read_copies(io, s);
    t.sequence = whole("--seq-length", 1);
    const std::int64_t slice = saturating_product({s.micro_batch, s.data_parallel});
    if (t.global_batch == 0)
      t.global_batch = static_cast<int>(std::min<std::int64_t>(slice, run_limits.global_batch));
    if (!on("--global-batch-size") && slice > run_limits.global_batch) {
      fault("--micro-batch-size",
            fmt::format("{} on each of {} ranks are {} sequences a step, more than {}", s.micro_batch,
                        s.data_parallel, slice, run_limits.global_batch),
            "write fewer");
    }
  }

  /// Copies of the optimizer's states. If each rank has one of its own, nothing is sharded.
  void read_copies(MegatronReader& io, models::Strategy& s) {
    copy_flags(io, s);
    if (s.shard_ranks != 1) return;
    s.zero1 = false;
    s.shard_ranks = 0;
    r_.notes.emplace_back(
        "--num-distributed-optimizer-instances gives each rank all of the optimizer's states");
  }

  int counted_ends() const {
    return static_cast<int>(on("--account-for-embedding-in-pipeline-split")) +
           static_cast<int>(on("--account-for-loss-in-pipeline-split"));
  }

  /// Embedding and loss counted as a layer each: the first and the last chunk have one layer less
  /// (transformer/transformer_block.py).
  void read_counted_ends(models::Strategy& s) {
    const int parts = s.pipeline_parallel * s.virtual_pipeline, all = r_.architecture.layers + counted_ends();
    if (parts == 1 || all % parts != 0) return;  // a rule says so
    std::vector<int> layers(static_cast<std::size_t>(parts), all / parts);
    layers.front() -= on("--account-for-embedding-in-pipeline-split") ? 1 : 0;
    layers.back() -= on("--account-for-loss-in-pipeline-split") ? 1 : 0;
    const bool empty = std::min(layers.front(), layers.back()) < 1;
    if (empty && (s.virtual_pipeline == 1 || layers != models::layers_per_chunk(r_.architecture, s))) {
      r_.config.not_modelled.emplace_back("a stage without layers");
      return;
    }
    cut(s, layers);
  }

  /// Cuts behind the layers of each part, unless all are equal or cut in the usual way.
  void cut(models::Strategy& s, const std::vector<int>& layers) {
    const int parts = static_cast<int>(layers.size());
    const bool equal = std::all_of(layers.begin(), layers.end(), [&](int n) { return n == layers.front(); });
    if (equal || layers == models::layers_per_chunk(r_.architecture, s)) return;
    int last = -1;
    for (int i = 0; i + 1 < parts; ++i)
      s.pipeline_cuts.push_back(last += layers[static_cast<std::size_t>(i)]);
  }

  /// Layers of the ends; the stages that are left share the others equally (transformer/transformer_block.py).
  void read_ends(models::Strategy& s) {
    const char* const names[] = {"--decoder-first-pipeline-num-layers", "--decoder-last-pipeline-num-layers"};
    const int stages = s.pipeline_parallel;
    int left = r_.architecture.layers, others = stages;
    for (const char* name : names) {
      left -= whole(name, 0);
      others -= on(name) ? 1 : 0;
    }
    if (others < 0 || left < 0 || (others > 0 && left % others != 0)) return;  // a rule says so
    std::vector<int> layers(static_cast<std::size_t>(stages), others > 0 ? left / others : 0);
    if (on(names[0])) layers.front() = whole(names[0], 0);
    if (on(names[1])) layers.back() = whole(names[1], 0);
    std::vector<int> parts;  // the chunks of a stage have the same number
    for (int chunk = 0; chunk < s.virtual_pipeline; ++chunk) {
      for (const int of_stage : layers) parts.push_back(of_stage / s.virtual_pipeline);
    }
    cut(s, parts);
  }

  void read_recompute() {
    models::Recompute& r = r_.config.strategy.recompute;
    const std::string kind =
        text("--recompute-granularity", on("--recompute-activations") ? "selective" : "");
    if (kind == "full") {
      r.full = true;
      if (text("--recompute-method") == "block" || text("--recompute-num-layers") != "1")
        r_.config.not_modelled.emplace_back("recompute of blocks of layers");
    } else if (kind == "selective") {
      std::vector<std::string> modules = {"core_attn"};
      if (on("--recompute-modules")) modules = flags_.find("--recompute-modules")->second.values;
      for (const std::string& m : modules) {
        if (m == "core_attn") {
          r.core_attention = true;
        } else if (m == (r_.architecture.experts > 0 ? "moe" : "mlp")) {
          r.mlp = true;
        } else if (m == "mlp") {
          r_.notes.emplace_back("mlp recomputes nothing in layers with experts; moe does");
        } else if (m == "layernorm") {
          r.rms_norm = true;
        } else {
          r_.config.not_modelled.push_back("recompute of " + printable(m, 40));
        }
      }
    }
  }

  void read_rest() {
    models::Strategy& s = r_.config.strategy;
    const std::string backend = text("--attention-backend", "auto");
    s.flash_attention = backend == "flash" || backend == "fused" || backend == "auto";
    if (backend == "auto" && !on("--attention-backend"))
      r_.notes.emplace_back("--attention-backend is not stated: a fused kernel is assumed");
    if (on("--fp8-format"))
      s.precision = on("--fp8-param-gather") ? models::Precision::fp8_param_gather : models::Precision::fp8;
    else
      s.precision = models::Precision::mixed_precision;
    if (on("--fp16")) r_.notes.emplace_back("FP16 is timed as BF16: both have two bytes and one rate");
    if (!on("--fp16") && !on("--bf16")) s.precision = models::Precision::fp32;
    r_.config.training.precision = s.precision;
    r_.config.ranks_per_node = ranks_;
    r_.config.software.framework = "megatron";
    for (const char* name :
         {"--use-megatron-fsdp", "--use-torch-fsdp2", "--multi-latent-attention", "--mtp-num-layers",
          "--moe-layer-freq", "--moe-shared-expert-intermediate-size"}) {
      if (on(name)) r_.config.not_modelled.emplace_back(name);
    }
    if (s.context_parallel > 1 && models::windowed_layers(r_.architecture) > 0)
      r_.config.not_modelled.emplace_back("--window-size with context parallelism");
    const std::string dispatcher = text("--moe-token-dispatcher-type", "allgather");
    const bool flex = r_.architecture.experts > 0 && dispatcher == "flex";
    const bool overlaps = r_.architecture.experts > 0 && on("--overlap-moe-expert-parallel-comm");
    s.framework = models::stated_framework(megatron_loop(false, flex, overlaps).name);
    if (r_.architecture.experts > 0 && s.expert_parallel > 1 && dispatcher == "allgather")
      r_.notes.emplace_back("--moe-token-dispatcher-type allgather is predicted as alltoall");
    if (drives_like_bridge()) {
      s.framework = models::stated_framework(megatron_loop(true, flex, overlaps).name);
      r_.notes.emplace_back(
          "gradients in BF16, the fused loss and the overlaps are predicted as in the loop megatron-bridge");
    } else if (on("--grad-reduce-in-bf16"))
      r_.notes.emplace_back("--grad-reduce-in-bf16 is not modelled: gradients are predicted in FP32");
    read_experts(s);
    if (s.precision == models::Precision::fp8_param_gather)
      r_.notes.emplace_back("weights are predicted as gathered in BF16, where --fp8-param-gather has FP8");
    if (on("--pipeline-model-parallel-layout") || uneven_)
      r_.config.not_modelled.emplace_back("an uneven pipeline");
    if (on("--tp-comm-overlap") && !drives_like_bridge())
      r_.notes.emplace_back("--tp-comm-overlap is not modelled: the step is predicted without it");
  }

  /// Experts that nothing is said of are cut as TP cuts, whichever loop it is predicted as.
  void read_experts(models::Strategy& s) {
    const int stated = on("--expert-tensor-parallel-size") ? s.expert_tensor_parallel : s.tensor_parallel;
    s.expert_tensor_parallel = 0;
    if (r_.architecture.experts > 0 && models::expert_tensor_degree(s) != stated)
      s.expert_tensor_parallel = stated;
  }

  /// What the program asserts of what was read, where no value of the same key is wrong itself.
  void ask_rules() {
    StatedByName stated = flags_;
    if (model_ != nullptr) {
      const auto state = [&](const char* name, int value) {
        stated[name] = {{fmt::to_string(value)}, {file_.name, 0, 0}};
      };
      state("--num-layers", model_->layers);
      state("--max-position-embeddings", model_->max_positions);
    }
    StartFacts facts;
    facts.ranks = ranks_;
    const Settings settings(std::move(stated), megatron_start_keys());
    for (Diagnostic& d : layout_faults(megatron_start_table(), settings, facts, file_.name))
      values_.add_unless_told(std::move(d));
  }

  /// The loop of Megatron-Bridge's recipes is this one with these flags (kBridgeOptions in
  /// models/framework/megatron.h).
  bool drives_like_bridge() const {
    for (const char* needed : {"--grad-reduce-in-bf16", "--cross-entropy-loss-fusion",
                               "--overlap-grad-reduce", "--overlap-param-gather"}) {
      if (!on(needed)) return false;
    }
    return on("--tp-comm-overlap") || r_.config.strategy.tensor_parallel == 1;
  }

  /// Fault of a flag that is not there, or misspelt.
  Diagnostic missing_flag(const char* needed) const {
    Diagnostic fault{{file_.name, 0, 0}, needed, "is missing, and pretrain_gpt.py needs it", "add it"};
    for (const auto& one : flags_) {
      if (settings_.key(one.first) != nullptr || nearest(one.first, {needed}).empty()) continue;
      fault.at = one.second.at;
      fault.fix = fmt::format("write {} instead of {}", needed, printable(one.first, 80));
    }
    return fault;
  }

  /// START INCREMENT SAMPLES: NVIDIA/Megatron-LM@86df799:megatron/core/num_microbatches_calculator.py.
  void doubt_ramp(const Stated& ramp) {
    const bool whole = ramp.values.size() == 3;
    r_.doubts.push_back(
        {ramp.at, "--rampup-batch-size",
         fmt::format("the batch grows{}: the steps before its end are smaller and shorter, take longer for "
                     "each sequence, and are not predicted",
                     whole ? fmt::format(" from {} sequences over the first {}",
                                         printable(ramp.values[0], 20), printable(ramp.values[2], 20))
                           : ""),
         "take the prediction for the steps after it; trnplan watch compares by the sequences of each step"});
  }

  /// Unknown flags end the run.
  void note_near() {
    std::vector<std::string> deciding;
    for (const StartKey& k : megatron_deciding_keys()) deciding.emplace_back(k.name);
    std::vector<Diagnostic> unknown;
    std::size_t others = 0, known = 0;
    for (const auto& one : flags_) {
      const std::string& name = one.first;
      if (settings_.key(name) != nullptr) continue;
      if (name == "--rampup-batch-size") {
        doubt_ramp(one.second);
        continue;
      }
      ++others;
      // Of what is no script of Megatron-LM's all are others, and no name near them means anything.
      constexpr std::size_t kMostNamed = 1000;
      const std::string near = others <= kMostNamed ? nearest(name, deciding) : "";
      if (!near.empty() && near.size() + 2 > name.size() && near.size() < name.size() + 2 &&
          !on(near.c_str())) {
        r_.doubts.push_back(
            {one.second.at, printable(name, 80),
             fmt::format("is near {}, which is not stated; pretrain_gpt.py refuses flags that it "
                         "does not have",
                         near),
             "write " + near + ", if that is meant"});
      } else if (is_megatron_flag(name)) {
        ++known;
      } else {
        unknown.push_back(
            {one.second.at, printable(name, 80),
             fmt::format("is no flag of pretrain_gpt.py of {}, which refuses flags that it does "
                         "not have",
                         kFlagsOf),
             "leave it out, unless your version has it"});
      }
    }
    // A script whose flags are mostly of another program is one of it, or of an old version.
    constexpr std::size_t kMostUnknown = 10;
    const std::size_t shown = std::min(unknown.size(), kMostUnknown);
    if (unknown.size() > shown)
      unknown[shown - 1].problem += fmt::format("; {} more are none either", unknown.size() - shown);
    r_.doubts.insert(r_.doubts.end(), unknown.begin(), unknown.begin() + static_cast<std::ptrdiff_t>(shown));
    r_.not_judged = known;
    if (known > 0)
      r_.notes.push_back(
          fmt::format("{} not judged: nothing that is predicted depends on them", counted(known, "flag")));
  }

  const planner::ConfigFile& file_;
  const MegatronScript script_;
  const StatedByName& flags_;
  const Settings settings_;
  RunValues values_;
  int ranks_;
  const models::Architecture* model_;
  planner::RunReading r_;
  bool uneven_ = false;  ///< stages have other numbers of layers than each other
};

planner::RunReading recipe_reading(const planner::ConfigFile& file, NemoRecipe recipe, int ranks,
                                   const models::Architecture* model) {
  std::vector<Diagnostic> faults = recipe.faults;
  if (!recipe.states_model && model == nullptr) {
    faults.push_back({{file.name, 0, 0},
                      "model",
                      "the recipe names its model but does not state its shape",
                      "put the model's config.json next to the file"});
    throw InputError(std::move(faults));
  }
  try {
    planner::RunReading run = Reader(file, recipe.script, ranks, recipe.states_model ? nullptr : model).run();
    if (!faults.empty()) throw InputError(faults);
    if (recipe.states_model && !recipe.model_name.empty()) run.architecture.name = recipe.model_name;
    for (std::string& feature : recipe.not_modelled) run.config.not_modelled.push_back(std::move(feature));
    run.unmodelled = recipe.unmodelled;
    const int a_host = file.hosts > 0 ? ranks / file.hosts : 0;
    if (recipe.devices && a_host > 0 && *recipe.devices != a_host) {
      run.notes.push_back(fmt::format("trainer.devices is {}, and a host has {}: predicted on all of them",
                                      *recipe.devices, a_host));
    }
    for (std::string& note : run.notes) note = recipe.in_keys(note);
    run.notes.emplace_back("a recipe of NeMo: predicted as Megatron-LM runs it");
    return run;
  } catch (const InputError& e) {
    faults = recipe.faults;
    for (Diagnostic d : e.faults()) {
      d.key = recipe.key_of(d.key);
      const auto same_key = [&](const Diagnostic& other) { return other.key == d.key; };
      if (std::any_of(faults.begin(), faults.end(), same_key)) continue;
      if (const std::size_t variable = d.fix.find(kOrVariable); variable != std::string::npos)
        d.fix.erase(variable);
      d.problem = recipe.in_keys(d.problem);
      d.fix = recipe.in_keys(d.fix);
      faults.push_back(std::move(d));
    }
    throw InputError(std::move(faults));
  }
}

}  // namespace

MegatronArguments megatron_arguments(const planner::ConfigFile& file) {
  MegatronScript script = megatron_script(file);
  MegatronArguments all{std::move(script.flags), script.starts_program};
  for (auto& [name, stated] : script.environment) all.stated[name] = std::move(stated);
  return all;
}

planner::RunReading megatron_reading(const planner::ConfigFile& file, int ranks,
                                     const models::Architecture* model) {
  if (auto recipe = nemo_recipe(file)) return recipe_reading(file, *std::move(recipe), ranks, model);
  return Reader(file, megatron_script(file), ranks, nullptr).run();
}

}  // namespace trnplan::targets
