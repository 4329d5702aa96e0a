// The table of all frameworks.
#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "models/framework/framework.h"
#include "models/framework/fsdp.h"
#include "models/framework/megatron.h"
#include "models/framework/megatron_deepspeed.h"
#include "models/framework/megatron_fsdp.h"
#include "models/framework/nanotron.h"
#include "models/framework/nxd.h"

namespace trnplan::models {

namespace {

constinit const Nxd kNxd;
/// NxD with the overlap of reductions that it lacks, for a comparison.
constinit const Nxd kOverlapped({.name = "overlapped", .reduces_with_backward = true});
constinit const Megatron kMegatron;
constinit const Megatron kMegatronBridge(kBridgeOptions);
constinit const Megatron kMegatronFlex(with_experts({}, "megatron-flex", true, false));
constinit const Megatron kMegatronBridgeFlex(with_experts(kBridgeOptions, "megatron-bridge-flex", true,
                                                          false));
constinit const Megatron kMegatronEpOverlap(with_experts({}, "megatron-ep-overlap", false, true));
constinit const Megatron kMegatronFlexEpOverlap(with_experts({}, "megatron-flex-ep-overlap", true, true));
constinit const Megatron kMegatronBridgeEpOverlap(with_experts(kBridgeOptions, "megatron-bridge-ep-overlap",
                                                               false, true));
constinit const Megatron kMegatronBridgeFlexEpOverlap(with_experts(kBridgeOptions,
                                                                   "megatron-bridge-flex-ep-overlap", true,
                                                                   true));
constinit const MegatronFsdp kMegatronFsdp;
constinit const MegatronDeepSpeed kMegatronDeepSpeed;
constinit const MegatronDeepSpeed kMegatronDeepSpeedFp16({.name = "megatron-deepspeed-fp16",
                                                          .sums_in_fp32 = false});
constinit const Nanotron kNanotron;
constinit const Nanotron kNanotronSync({.name = "nanotron-sync", .overlaps_tensor = false});
constinit const Nanotron kNanotronPolling({.name = "nanotron-polling", .polls = true});
constinit const Fsdp kFsdp({.native_pytorch = true});
constinit const Fsdp kFsdpAsyncTp({.name = "fsdp-async-tp", .async_tensor = true});
constinit const Fsdp kFsdpEager({.name = "fsdp-eager", .compiled = false});
constinit const Fsdp kFsdp1(kFsdp1Options);
constinit const Fsdp kFsdp1Compiled(kFsdp1CompiledOptions);

/// All frameworks, the default first; on a machine that the default does not train on, the first that does is
/// used.
constexpr auto kFrameworks = std::to_array<const Framework*>({&kNxd,
                                                              &kOverlapped,
                                                              &kMegatron,
                                                              &kFsdp,
                                                              &kMegatronBridge,
                                                              &kMegatronFsdp,
                                                              &kFsdpAsyncTp,
                                                              &kFsdpEager,
                                                              &kNanotron,
                                                              &kMegatronDeepSpeed,
                                                              &kMegatronDeepSpeedFp16,
                                                              &kFsdp1,
                                                              &kFsdp1Compiled,
                                                              &kNanotronSync,
                                                              &kNanotronPolling,
                                                              &kMegatronFlex,
                                                              &kMegatronBridgeFlex,
                                                              &kMegatronEpOverlap,
                                                              &kMegatronFlexEpOverlap,
                                                              &kMegatronBridgeEpOverlap,
                                                              &kMegatronBridgeFlexEpOverlap});

const Framework& named(std::string_view name) {
  for (const Framework* f : kFrameworks) {
    if (f->name() == name) return *f;
  }
  throw std::invalid_argument("there is no framework \"" + std::string(name) + "\"");
}

}  // namespace

std::string sharding_problem(const Framework& framework, const Strategy& s) {
  const std::string_view name = framework.name();
  const std::vector<Sharding> can = framework.shardings();
  if (s.zero1 && std::find(can.begin(), can.end(), s.sharding) == can.end())
    return std::string(name) + " has no sharding " + std::string(to_string(s.sharding));
  if (s.shard_ranks == 0) return "";
  if (!framework.has_shard_groups())
    return std::string(name) + " shards over all data-parallel ranks or not at all";
  const int ranks = s.data_ranks();
  if (s.shard_ranks > ranks || ranks % s.shard_ranks != 0)
    return "shard groups of " + std::to_string(s.shard_ranks) + " do not divide the " +
           std::to_string(ranks) + " data- and context-parallel ranks";
  if (s.shard_ranks == 1) return "a group of 1 shards nothing";
  const bool once_a_step = framework.copies(s).has_value();
  if (s.pipeline_parallel > 1 && !once_a_step)
    return "shard groups within a pipeline's stages are not modelled";
  if ((s.expert_parallel > 1 || has_whole_experts(s)) && once_a_step)
    return "shard groups together with expert parallel are not modelled";
  return "";
}

int expert_tensor_degree(const Strategy& s) {
  return s.expert_tensor_parallel > 0 ? s.expert_tensor_parallel : framework_of(s).expert_tensor(s);
}

int expert_data_ranks(const Strategy& s) {
  const std::int64_t ranks = saturating_product({s.tensor_parallel, s.data_ranks()});
  const std::int64_t apart = saturating_product({expert_tensor_degree(s), s.expert_parallel});
  return static_cast<int>(std::max<std::int64_t>(1, ranks / apart));
}

int expert_shard_degree(const Strategy& s) {
  if (!s.zero1) return 1;
  return has_whole_experts(s) ? expert_data_ranks(s) : std::max(1, shard_degree(s) / s.expert_parallel);
}

bool has_whole_experts(const Strategy& s) {
  return expert_tensor_degree(s) < s.tensor_parallel;
}

std::optional<ExpertDispatch> expert_dispatch(const Architecture& a, const Strategy& s) {
  if (a.experts == 0 || capacity_factor(a, s) > 0) return std::nullopt;
  return framework_of(s).expert_dispatch();
}

double capacity_factor(const Architecture& a, const Strategy& s) {
  return a.capacity_factor ? *a.capacity_factor : framework_of(s).capacity_factor();
}

std::string recompute_words(const Strategy& s) {
  constexpr RecomputeNames kPlain = {
      "attention",      "MLP",
      "norms",          "MLP activation",
      "all recomputed", "all but attention and every second product recomputed"};
  const RecomputeNames names = framework_of(s).recompute_names().value_or(kPlain);
  const Recompute& r = s.recompute;
  if (r.full && r.every > 1)
    return std::string(names.some) + std::to_string(r.every) + std::string(names.some_end);
  if (r.full) return std::string(names.full);
  if (r.alternate) return std::string(names.alternate);
  std::vector<std::string_view> parts;
  if (r.core_attention && !s.flash_attention) parts.push_back(names.attention);
  if (r.mlp) parts.push_back(names.mlp);
  if (r.rms_norm) parts.push_back(names.norms);
  if (r.activation_multiply) parts.push_back(names.product);
  if (parts.empty()) return "nothing recomputed";
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += std::string(i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + std::string(parts[i]);
  return text + " recomputed";
}

const Framework& framework_of(const Strategy& s) {
  return s.framework.empty() ? *kFrameworks.front() : named(s.framework);
}

std::vector<std::string_view> frameworks_with_attention(std::string_view library) {
  std::vector<std::string_view> names;
  for (const Framework* f : kFrameworks) {
    if (f->attention() == library) names.push_back(f->name());
  }
  return names;
}

std::string_view stated_framework(std::string_view name) {
  const Framework& f = named(name);
  return &f == kFrameworks.front() ? std::string_view{} : f.name();
}

std::string_view usual_framework(const topology::Traits& machine) {
  for (const Framework* f : kFrameworks) {
    if (f->trains_on(machine)) return stated_framework(f->name());
  }
  throw std::invalid_argument("no framework trains on such a machine");
}

std::string_view framework_stated_by(const Job& job) {
  return job.pin.framework ? *job.pin.framework : usual_framework(job.cluster.instance.traits);
}

std::vector<std::string_view> framework_names() {
  std::vector<std::string_view> names;
  for (const Framework* f : kFrameworks) names.push_back(f->name());
  return names;
}

}  // namespace trnplan::models
