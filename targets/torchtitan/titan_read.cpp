#include "targets/torchtitan/titan_read.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <sstream>

#include "models/architecture/limits.h"
#include "models/framework/framework.h"
#include "models/job/limits.h"
#include "targets/start/run_values.h"
#include "targets/torchtitan/titan_keys.h"
#include "targets/torchtitan/titan_plan.h"
#include "targets/torchtitan/titan_rules.h"
#include "text/document.h"
#include "text/parse.h"
#include "units/product.h"

namespace trnplan::targets {

namespace {

using models::model_limits, models::run_limits;

/// A list of texts; `usual` where it is left out.
std::vector<std::string> list_of(const Settings& s, std::string_view key,
                                 std::span<const std::string_view> usual) {
  return s.given(key) ? s.list(key) : std::vector<std::string>(usual.begin(), usual.end());
}

bool contains(const std::vector<std::string>& all, std::string_view one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

/// The training loop: what runs eagerly, compiled, and with asynchronous TP.
void read_compile(RunValues& v, planner::ConfigReading& r) {
  const std::vector<std::string> parts = list_of(v.settings(), "compile.components", kTitanComponents);
  const bool compiled = v.settings().on("compile.enable") && contains(parts, kTitanComponents[0]);
  const TitanLoop& loop =
      titan_loop_of(compiled, v.settings().on("parallelism.enable_async_tensor_parallel"));
  r.strategy.framework = models::stated_framework(loop.framework);
  const std::string backend = v.settings().text("compile.backend");
  if (compiled && backend != kTitanBackend && backend != kTitanNeuronBackend)
    r.not_modelled.push_back("a model compiled by " + printable(backend, 40));
}

/// Without FSDP or CP, TP or PP turn mixed precision off (titan_computes_wide()).
void read_precision(RunValues& v, const Node& root, planner::ConfigReading& r) {
  models::Strategy& s = r.strategy;
  s.precision = models::Precision::mixed_precision;
  if (const Node* converters = root.at_path("model.converters")) {
    if (converters->kind == Node::Kind::scalar) r.not_modelled.emplace_back("converters as a text");
    for (const Node& item : converters->items) {
      if (item.scalar == kTitanFloat8 || item.scalar == kTitanOldFloat8) {
        s.precision = models::Precision::fp8;
      } else {
        r.not_modelled.push_back("the converter " + printable(item.scalar));
      }
    }
  }
  if (titan_computes_wide(s)) {
    if (s.precision == models::Precision::fp8) r.not_modelled.emplace_back("FP8 in a model that is FP32");
    s.precision = models::Precision::fp32;
  }
  if (v.settings().text("training.mixed_precision_param") != "bfloat16")
    r.not_modelled.emplace_back("mixed_precision_param other than bfloat16");
  if (v.settings().text("training.dtype") != "float32")
    r.not_modelled.emplace_back("dtype other than float32");
}

/// Switches that change what a step does and that nothing here predicts.
void read_switches(RunValues& v, planner::ConfigReading& r) {
  const models::Strategy& s = r.strategy;
  const auto unmodelled = [&](bool is, const char* what) {
    if (is) r.not_modelled.emplace_back(what);
  };
  unmodelled(v.settings().on("training.enable_cpu_offload"), "CPU offload");
  unmodelled(v.settings().on("optimizer.early_step_in_backward"), "an optimizer step in the backward pass");
  unmodelled(s.tensor_parallel > 1 && v.settings().on("parallelism.disable_loss_parallel"),
             "a loss whose logits are gathered over TP");
  unmodelled(s.context_parallel > 1 &&
                 v.settings().text("parallelism.context_parallel_load_balancer") != kTitanBalancer,
             "context parallel with a load balancer other than headtail");
  unmodelled(
      s.pipeline_parallel > 1 && !list_of(v.settings(), "parallelism.module_fqns_per_model_part", {}).empty(),
      "stages of modules that are named one by one");
  unmodelled(v.settings().on("fault_tolerance.enable") &&
                 v.settings().text("fault_tolerance.semi_sync_method").empty(),
             "fault tolerance whose replica groups reduce their gradients at every step");
}

void read_recompute(RunValues& v, planner::ConfigReading& r) {
  const std::string mode = v.settings().text("activation_checkpoint.mode");
  const std::string option = v.settings().text("activation_checkpoint.selective_ac_option");
  if (mode == "full") {
    r.strategy.recompute.full = true;
  } else if (mode == "selective" && option == "op") {
    r.strategy.recompute.alternate = true;
  } else if (mode == "selective") {
    const auto every = parse_whole(option);
    if (!every || *every < 1 || *every > model_limits.layers) {
      v.fault("activation_checkpoint.selective_ac_option",
              fmt::format("{} is neither op nor a number of layers from 1 to {}", in_quotes(option),
                          model_limits.layers),
              "write \"op\", or \"2\" to recompute every second layer");
      return;
    }
    r.strategy.recompute = {.full = true, .every = *every};
  } else if (mode != "none") {
    r.not_modelled.push_back("recompute by " + printable(mode, 40));
  }
}

/// Layers of each stage: as many as others, less what the first and the last have less.
void read_stages(RunValues& v, int layers, planner::ConfigReading& r) {
  models::Strategy& s = r.strategy;
  if (s.pipeline_parallel == 1) return;
  const std::string name = v.settings().text("parallelism.pipeline_parallel_schedule");
  if (const TitanSchedule* known = titan_schedule_named(name); known != nullptr) {
    s.schedule = known->schedule;
  } else {
    r.not_modelled.push_back("the schedule " + printable(name, 40));
  }
  const int first = v.whole("parallelism.pipeline_parallel_first_stage_less_layers");
  const int last = v.whole("parallelism.pipeline_parallel_last_stage_less_layers");
  const int whole = layers + first + last;
  const int each = v.whole("parallelism.pipeline_parallel_layers_per_stage", 0);
  const int stages =
      each > 0 ? (whole + each - 1) / each : s.pipeline_parallel * models::chunks_of(s.schedule).least;
  s.virtual_pipeline = std::max(1, stages / s.pipeline_parallel);
  if (stages % s.pipeline_parallel != 0) {
    r.not_modelled.emplace_back("a number of stages that PP does not divide");
    return;
  }
  if (first == last && first == 0 && layers % stages == 0) return;
  if (s.virtual_pipeline > 1) {
    r.not_modelled.emplace_back("chunks of different sizes");
    return;
  }
  int end = 0;
  for (int i = 0; i < stages; ++i) {
    const int own =
        whole / stages + (i < whole % stages ? 1 : 0) - (i == 0 ? first : 0) - (i + 1 == stages ? last : 0);
    if (own < 1) {
      r.not_modelled.emplace_back("a stage without layers");
      s.pipeline_cuts.clear();
      return;
    }
    end += own;
    if (i + 1 < stages) s.pipeline_cuts.push_back(end - 1);
  }
}

void read_mesh(RunValues& v, int ranks, planner::ConfigReading& r) {
  models::Strategy& s = r.strategy;
  s.tensor_parallel = v.whole("parallelism.tensor_parallel_degree");
  s.context_parallel = v.whole("parallelism.context_parallel_degree");
  s.pipeline_parallel = v.whole("parallelism.pipeline_parallel_degree");
  s.sequence_parallel = s.tensor_parallel > 1;
  if (v.whole("parallelism.expert_parallel_degree") > 1) r.not_modelled.emplace_back("expert parallel");
  const int replicate = v.whole("parallelism.data_parallel_replicate_degree");
  int shard = v.whole("parallelism.data_parallel_shard_degree");
  const std::int64_t rest = saturating_product({s.model_parallel(), replicate});
  if (shard < 1) {
    if (ranks == 0)
      v.fault("parallelism.data_parallel_shard_degree",
              "takes what is left, but the number of ranks is not known",
              "write the degree, or name --instance and --nodes");
    shard = std::max(1, static_cast<int>(ranks / rest));
  }
  const std::int64_t made = saturating_product({rest, shard});
  if (made > run_limits.ranks) {
    if (ranks == 0)  // else they do not make the ranks, which a rule says
      v.fault("parallelism", fmt::format("the degrees make {} ranks, more than {}", made, run_limits.ranks),
              "write smaller degrees");
    return;
  }
  s.data_parallel = replicate * shard;
  // A single rank shares nothing, and counts as sharded; so do TP and PP alone, where nothing is.
  s.zero1 = shard * s.context_parallel > 1 || made == 1;
  if (s.zero1 && replicate > 1) s.shard_ranks = shard * s.context_parallel;
  s.sharding = v.settings().text("parallelism.fsdp_reshard_after_forward") == "never"
                   ? models::Sharding::gradients
                   : models::Sharding::parameters;
  r.ranks_per_node = static_cast<int>(made);
}

void read_batch(RunValues& v, planner::ConfigReading& r) {
  models::Strategy& s = r.strategy;
  const int local = v.whole("training.local_batch_size");
  const int global = v.within("training.global_batch_size", -1, run_limits.global_batch);
  r.training.sequence = v.whole("training.seq_len");
  s.micro_batch = s.pipeline_parallel > 1 ? v.whole("parallelism.pipeline_parallel_microbatch_size") : local;
  const std::int64_t slice = saturating_product({local, s.data_parallel});
  r.training.global_batch =
      global < 1 ? static_cast<int>(std::min<std::int64_t>(slice, run_limits.global_batch)) : global;
  if (global < 1 && slice > run_limits.global_batch) {
    v.fault("training.local_batch_size",
            fmt::format("{} on each of {} ranks are {} sequences a step, more than {}", local,
                        s.data_parallel, slice, run_limits.global_batch),
            "write fewer");
  } else if (s.pipeline_parallel > 1 && r.training.global_batch != slice) {
    r.not_modelled.emplace_back("several pipelines' worth of micro-batches a step");
  }
}

}  // namespace

bool looks_like_titan(const Node& root) {
  const Node *model = root.find("model"), *training = root.find("training");
  return model != nullptr && model->is_map() && model->find("flavor") != nullptr && training != nullptr &&
         training->is_map();
}

planner::ConfigReading titan_reading(const Node& root, const models::Architecture& a, int ranks) {
  std::vector<Diagnostic> unknown;
  const bool misspelt = !check_titan_keys(root, unknown).empty();
  const std::string file = root.at.file;
  const Settings settings(titan_stated(root), titan_keys());
  unknown.insert(unknown.end(), settings.faults().begin(), settings.faults().end());
  if (misspelt) throw InputError(std::move(unknown));  // what else is read would follow from defaults
  RunValues v(settings, file, std::move(unknown));
  planner::ConfigReading r;
  read_compile(v, r);
  r.strategy.flash_attention = true;
  read_mesh(v, ranks, r);
  r.strategy.kv_replicator = std::max(1, r.strategy.tensor_parallel / std::max(1, a.kv_heads));
  read_stages(v, a.layers, r);
  read_batch(v, r);
  read_recompute(v, r);
  read_precision(v, root, r);
  read_switches(v, r);
  r.training.precision = r.strategy.precision;
  r.software.framework = "torchtitan";
  v.ask(titan_start_table(), {.ranks = ranks, .model = a});
  v.finish();
  return r;
}

namespace {

/// The model that it names; llama3 where it names none, as job_config.py has it. Throws InputError.
const TitanFamily& family_of(const Node& root) {
  const Node* stated = root.at_path("model.name");
  const std::string name = stated == nullptr ? "llama3" : stated->scalar;
  if (const TitanFamily* family = titan_family(name)) return *family;
  throw InputError({stated == nullptr ? root.at : stated->at, "model.name",
                    in_quotes(name) + " is not a model of TorchTitan v0.2.2",
                    "a step is predicted of " + modelled_titan_families()});
}

/// Of FP8 what the prediction does not tell apart, and what of a run is not in it.
std::vector<std::string> notes_on(const Node& root, const planner::ConfigReading& reading) {
  const Settings s(titan_stated(root), titan_keys());
  std::vector<std::string> notes;
  const std::vector<std::string> parts = list_of(s, "compile.components", kTitanComponents);
  if (s.on("compile.enable") && contains(parts, kTitanComponents[0]) != contains(parts, kTitanComponents[1]))
    notes.emplace_back(
        "compile.components names one of model and loss: the loss is predicted as the model is");
  const std::string float8 = std::string(kTitanFloat8) + ".";
  if (reading.strategy.precision == models::Precision::fp8) {
    if (s.on(float8 + "enable_fsdp_float8_all_gather"))
      notes.emplace_back("weights are predicted as gathered in 16 bits, and are gathered in 8");
    if (const std::string recipe = s.text(float8 + "recipe_name"); !recipe.empty() && recipe != "tensorwise")
      notes.push_back("FP8 is predicted with a scale of each tensor, not as " + printable(recipe, 40));
    const std::vector<std::string> wide = list_of(s, float8 + "filter_fqns", {});
    if (!contains(wide, kTitanWide[0])) notes.emplace_back("the head is predicted in 16 bits, not in FP8");
  }
  if (s.on("fault_tolerance.enable") && reading.not_modelled.empty())
    notes.emplace_back(
        "the step is that of one replica group between two synchronisations, which are not modelled");
  return notes;
}

/// Of the later revision's own Python.
[[noreturn]] void refuse_registry(const planner::ConfigFile& file) {
  std::vector<std::string> functions;
  std::istringstream in(file.text);
  for (std::string line; std::getline(in, line);) {
    const std::size_t open = line.find('(');
    if (line.starts_with("def ") && open != std::string::npos && line.find("Config") != std::string::npos)
      functions.push_back(line.substr(4, open - 4));
  }
  const std::string names =
      functions.empty()
          ? ""
          : fmt::format(" ({}{})", printable(functions.front(), 60),
                        functions.size() == 1 ? "" : fmt::format(" and {} more", functions.size() - 1));
  throw InputError(
      {{file.name, 0, 0},
       "",
       fmt::format("this is Python code of TorchTitan's config registry{}, which is not run here", names),
       fmt::format("give the settings as a TOML of v0.2.2, or the {} of a folder that "
                   "trnplan plan --target torchtitan --out writes",
                   kTitanModule)});
}

}  // namespace

planner::RunReading titan_run_reading(const planner::ConfigFile& file, int ranks) {
  const bool module = file.name.ends_with(".py");
  const Node root = titan_tree(file);
  if (!looks_like_titan(root)) {
    if (module && file.text.find("def trnplan(") == std::string::npos &&
        (file.text.find("Trainer.Config") != std::string::npos ||
         file.text.find("model_registry") != std::string::npos))
      refuse_registry(file);
    throw InputError({{file.name, 0, 0},
                      "",
                      "this is not a config of TorchTitan: it has no model with a flavor, or no training",
                      module ? "give the module of a plan's folder, or a TOML of v0.2.2"
                             : "give a TOML that torchtitan.train reads"});
  }
  planner::RunReading run;
  const TitanFamily& family = family_of(root);
  if (!family.is.empty()) {
    run.unmodelled = fmt::format("a TorchTitan config of {}, {}", family.name, family.is);
    return run;
  }
  const Node* flavor = root.at_path("model.flavor");
  const TitanFlavor* size = titan_flavor_named(family.name, flavor->scalar);
  if (size == nullptr) {
    throw InputError({flavor->at, "model.flavor",
                      fmt::format("{} is not a size of {} in v0.2.2", in_quotes(flavor->scalar), family.name),
                      fmt::format("use one of: {}", fmt::join(titan_flavor_names(family.name), ", "))});
  }
  run.architecture = size->model;
  run.architecture.name = fmt::format("{}-{}", family.name, size->name);
  run.config = titan_reading(root, run.architecture, ranks);
  if (!size->attention.empty()) run.config.not_modelled.emplace_back(size->attention);
  run.notes = notes_on(root, run.config);
  return run;
}

}  // namespace trnplan::targets
