#include <fmt/format.h>

#include <algorithm>

#include "targets/megatron/megatron_questions.h"
#include "units/product.h"

namespace trnplan::targets::pretrain_gpt {

namespace {

// Degrees and batches.
Broken ranks_divide(const Settings& s, const StartFacts& f) {
  if (f.ranks <= 0 || degrees_fit(s, f)) return {};
  const std::int64_t size = model_parallel(s);
  return undivided_ranks(size, f.ranks);
}

Broken ranks_divide_for_experts(const Settings& s, const StartFacts& f) {
  const std::int64_t etp =
      s.given("--expert-tensor-parallel-size") ? s.whole("--expert-tensor-parallel-size") : tensor(s);
  const std::int64_t size = saturating_product({etp, s.whole("--expert-model-parallel-size"), stages(s)});
  if (f.ranks <= 0 || size <= 0 || f.ranks % size == 0) return {};
  return Breach{
      fmt::format("TP x EP x PP of the experts is {}, which does not divide {} ranks", size, f.ranks),
      "fix --expert-model-parallel-size or --expert-tensor-parallel-size"};
}

constexpr const char* kInstances = "--num-distributed-optimizer-instances";

Broken instances_divide(const Settings& s, const StartFacts& f) {
  const std::int64_t copies = s.whole(kInstances);
  if (copies <= 1 || !degrees_fit(s, f)) return {};
  const std::int64_t ranks = f.ranks / saturating_product({tensor(s), stages(s)});
  if (ranks % copies != 0) {
    return Breach{fmt::format("{} copies of the optimizer's states on {} ranks of DP x CP", copies, ranks),
                  "write a number that divides DP x CP"};
  }
  const std::int64_t parallel = experts(s) ? s.whole("--expert-model-parallel-size") : 1;
  if (parallel < 1 || ranks % parallel != 0 || ranks / parallel % copies == 0) return {};
  return Breach{fmt::format("{} copies of the optimizer's states on {} ranks with equal experts", copies,
                            ranks / parallel),
                "write a number that divides DP x CP / EP"};
}

Broken instances_shard(const Settings& s, const StartFacts&) {
  if (s.whole(kInstances) <= 1 || s.on("--use-distributed-optimizer") || fsdp(s)) return {};
  return Breach{"copies of states that are not sharded", "add --use-distributed-optimizer, or drop it"};
}

Broken batch_divides(const Settings& s, const StartFacts& f) {
  if (!s.given("--global-batch-size") || s.on("--decrease-batch-size-if-needed") ||
      s.given("--step-batch-size-schedule") || !degrees_fit(s, f) || s.whole("--micro-batch-size") < 1)
    return {};
  const std::int64_t slice = saturating_product({s.whole("--micro-batch-size"), replicas(s, f)});
  const std::int64_t batch = s.whole("--global-batch-size");
  if (batch % slice == 0) return {};
  return Breach{fmt::format("{} is not a multiple of {} sequences, {} of each of {} replicas", batch, slice,
                            s.whole("--micro-batch-size"), replicas(s, f)),
                fmt::format("write {}", next_multiple(batch, slice))};
}

Broken batch_is_stated_once(const Settings& s, const StartFacts&) {
  if (!s.given("--step-batch-size-schedule") || !s.given("--global-batch-size")) return {};
  Breach both{"a schedule of batches and a batch are both given", "drop one of them"};
  both.understood = true;  // predicted with the batch, which the schedule ends with or not
  return both;
}

// Shape of the model.
Broken heads_divide_hidden(const Settings& s, const StartFacts&) {
  const std::int64_t heads = s.whole("--num-attention-heads"), hidden = s.whole("--hidden-size");
  if (s.given("--kv-channels") || heads < 1 || hidden < 1 || hidden % heads == 0) return {};
  return Breach{fmt::format("{} is not a multiple of {} heads", hidden, heads),
                fmt::format("write {}, or state --kv-channels", next_multiple(hidden, heads))};
}

Broken heads_divide(const Settings& s, const StartFacts&) {
  const std::int64_t heads = s.whole("--num-attention-heads");
  if (heads < 1 || heads % tensor(s) == 0) return {};
  return Breach{fmt::format("{} heads on TP {}", heads, tensor(s)), "choose a TP that divides the heads"};
}

Broken query_groups_divide(const Settings& s, const StartFacts&) {
  const std::int64_t groups = s.whole("--num-query-groups"), tp = tensor(s);
  if (!s.on("--group-query-attention") || groups < 1 || groups % tp == 0 || tp % groups == 0) return {};
  return Breach{fmt::format("{} query groups and TP {}: neither divides the other", groups, tp),
                "choose a TP that divides the query groups"};
}

Broken groups_divide_heads(const Settings& s, const StartFacts&) {
  const std::int64_t groups = s.whole("--num-query-groups"), heads = s.whole("--num-attention-heads");
  if (!s.on("--group-query-attention") || groups < 1 || heads < 1 || heads % groups == 0) return {};
  return Breach{fmt::format("{} heads cannot form {} groups of the same size", heads, groups),
                "write a number of query groups that divides the heads"};
}

Broken positions_reach(const Settings& s, const StartFacts&) {
  if (!s.given("--max-position-embeddings") || !s.given("--seq-length")) return {};
  const std::int64_t most = s.whole("--max-position-embeddings"), sequence = s.whole("--seq-length");
  if (most >= sequence) return {};
  return Breach{fmt::format("{} is below --seq-length, {}", most, sequence),
                fmt::format("write {}", sequence)};
}

// Pipelines.
Broken virtual_stages_once(const Settings& s, const StartFacts&) {
  const int ways = static_cast<int>(s.given("--num-layers-per-virtual-pipeline-stage")) +
                   static_cast<int>(s.given("--num-virtual-stages-per-pipeline-rank")) +
                   static_cast<int>(s.given("--pipeline-model-parallel-layout"));
  if (ways <= 1) return {};
  return Breach{"virtual stages are stated in several ways", "keep one of them"};
}

Broken layers_divide(const Settings& s, const StartFacts&) {
  if (uneven_ends(s) || s.given("--pipeline-model-parallel-layout") || s.whole("--num-layers") < 1) return {};
  const std::int64_t layers = counted_layers(s);
  if (layers % stages(s) == 0) return {};
  return Breach{fmt::format("{} on PP {}", layers, stages(s)), "choose a PP that divides the layers"};
}

Broken chunks_divide(const Settings& s, const StartFacts&) {
  if (!s.given("--num-layers-per-virtual-pipeline-stage") || s.whole("--num-layers") < 1) return {};
  const std::int64_t layers = counted_layers(s), each = s.whole("--num-layers-per-virtual-pipeline-stage");
  if (uneven_ends(s)) {
    return Breach{"layers of a virtual stage together with counts of the ends",
                  "state --num-virtual-stages-per-pipeline-rank instead"};
  }
  if (layers % stages(s) != 0 || each < 1 || layers / stages(s) % each == 0) return {};
  return Breach{fmt::format("a stage has {} layers, a virtual stage {}", layers / stages(s), each),
                "write a number that divides the layers of a stage"};
}

Broken virtual_stages_divide(const Settings& s, const StartFacts&) {
  if (!s.given("--num-virtual-stages-per-pipeline-rank") || uneven_ends(s) || s.whole("--num-layers") < 1)
    return {};
  const std::int64_t layers = counted_layers(s), vpp = chunks(s);
  if (layers % stages(s) != 0 || layers / stages(s) % vpp == 0) return {};
  return Breach{fmt::format("a stage has {} layers, which cannot form {} chunks", layers / stages(s), vpp),
                "write a number that divides the layers of a stage"};
}

Broken virtual_needs_stages(const Settings& s, const StartFacts&) {
  const std::int64_t least = s.on("--no-overlap-p2p-communication") ? 3 : 2;
  if (chunks(s) == 1 || stages(s) >= least) return {};
  return Breach{
      fmt::format("{} chunks a stage need {} stages or more, PP is {}", chunks(s), least, stages(s)),
      "drop it, or raise PP"};
}

Broken interleaving_has_batches(const Settings& s, const StartFacts& f) {
  if (chunks(s) == 1 || stages(s) == 1 || !degrees_fit(s, f)) return {};
  const std::int64_t slice = saturating_product({s.whole("--micro-batch-size"), replicas(s, f)});
  // Without a batch it is one micro-batch of each replica.
  const std::int64_t batch = s.given("--global-batch-size") ? s.whole("--global-batch-size") : slice;
  if (slice < 1 || batch % slice != 0) return {};
  const std::int64_t batches = batch / slice, pp = stages(s);
  const std::int64_t group = s.given("--microbatch-group-size-per-virtual-pipeline-stage")
                                 ? s.whole("--microbatch-group-size-per-virtual-pipeline-stage")
                                 : pp;
  if (group < pp || group > batches) {
    return Breach{
        fmt::format("{} micro-batches a step and groups of {} on PP {}", batches, group, pp),
        fmt::format("use {} or more micro-batches a step, and groups of at least PP and at most that many",
                    pp)};
  }
  const std::int64_t left = batches % group;
  if (left == 0 || left >= pp) return {};
  return Breach{fmt::format("{} micro-batches a step leave {} behind groups of {}, fewer than PP {}", batches,
                            left, group, pp),
                fmt::format("choose a batch of a multiple of {} sequences", saturating_product({slice, pp}))};
}

Broken ends_fit(const Settings& s, const StartFacts&) {
  if (!uneven_ends(s) || s.whole("--num-layers") < 1) return {};
  if (s.given("--pipeline-model-parallel-layout") || counted_layers(s) != s.whole("--num-layers"))
    return Breach{"counts of the ends together with another method of distributing layers",
                  "keep one of the two"};
  std::int64_t left = s.whole("--num-layers"), others = stages(s);
  for (const char* end : {"--decoder-first-pipeline-num-layers", "--decoder-last-pipeline-num-layers"}) {
    if (!s.given(end)) continue;
    left -= s.whole(end);
    --others;
    if (s.whole(end) % chunks(s) != 0) {
      return Breach{fmt::format("{} layers of an end cannot form {} chunks", s.whole(end), chunks(s)),
                    "write a multiple of the chunks"};
    }
  }
  const bool whole = others > 0 ? left > 0 && left % others == 0 && left / others % chunks(s) == 0
                                : others == 0 && left == 0;
  if (whole) return {};
  return Breach{fmt::format("leaves {} of {} layers to {} stages", left, s.whole("--num-layers"),
                            std::max<std::int64_t>(0, others)),
                "choose counts that leave the same number to each stage between"};
}

// Sequences.
Broken sequence_in_halves(const Settings& s, const StartFacts&) {
  const std::int64_t pieces = 2 * context(s);
  if (context(s) == 1 || !s.given("--seq-length") || s.whole("--seq-length") % pieces == 0) return {};
  return Breach{
      fmt::format("{} is not a multiple of 2 CP, {}", s.whole("--seq-length"), pieces),
      fmt::format("write {}, or choose another CP", next_multiple(s.whole("--seq-length"), pieces))};
}

Broken sequence_on_ranks(const Settings& s, const StartFacts&) {
  if (!s.on("--sequence-parallel") || !s.given("--seq-length")) return {};
  const std::int64_t pieces = saturating_product({tensor(s), context(s)});
  if (s.whole("--seq-length") % pieces == 0) return {};
  return Breach{fmt::format("{} tokens on TP x CP {}", s.whole("--seq-length"), pieces),
                fmt::format("write {}", next_multiple(s.whole("--seq-length"), pieces))};
}

Broken sequence_parallel_is_off(const Settings& s, const StartFacts&) {
  if (!s.on("--sequence-parallel") || tensor(s) > 1) return {};
  return Breach{"is turned off with TP 1", "drop it, or raise TP", true};
}

Broken overlap_needs_sequence_parallel(const Settings& s, const StartFacts&) {
  if (!s.on("--tp-comm-overlap") || (s.on("--sequence-parallel") && tensor(s) > 1)) return {};
  return Breach{"needs sequence parallel, and so TP above 1", "add --sequence-parallel, or drop it"};
}

Broken context_needs_engine(const Settings& s, const StartFacts&) {
  if (context(s) == 1 || s.text("--transformer-impl") != "local") return {};
  return Breach{"CP above 1 with the local transformer", "drop --transformer-impl local"};
}

Broken experts_divide(const Settings& s, const StartFacts&) {
  const std::int64_t ep = s.whole("--expert-model-parallel-size");
  if (ep == 1) return {};
  if (!experts(s)) return Breach{"expert parallel without experts", "drop it, or add --num-experts"};
  if (s.whole("--num-experts") % ep == 0) return {};
  return Breach{fmt::format("{} experts on EP {}", s.whole("--num-experts"), ep),
                "choose an EP that divides the experts"};
}

/// torch.topk of the router fails in the first step.
Broken experts_of_a_token(const Settings& s, const StartFacts&) {
  const std::int64_t all = s.whole("--num-experts"), chosen = s.whole("--moe-router-topk");
  if (!experts(s) || chosen <= all) return {};
  return Breach{fmt::format("a token goes to {} of {} experts", chosen, all),
                fmt::format("write {} or less", all)};
}

// What several rules read.
const std::string kDegrees =
    "--tensor-model-parallel-size --pipeline-model-parallel-size --context-parallel-size ";
const std::string kShares =
    "--pipeline-model-parallel-size --num-layers --account-for-embedding-in-pipeline-split "
    "--account-for-loss-in-pipeline-split --pipeline-model-parallel-layout ";
const std::string kEnds = "--decoder-first-pipeline-num-layers --decoder-last-pipeline-num-layers ";
const std::string kChunks =
    "--num-virtual-stages-per-pipeline-rank --num-layers-per-virtual-pipeline-stage " + kShares;
const std::string kBatch = "--global-batch-size --micro-batch-size " + kDegrees;

}  // namespace

const std::vector<StartRule>& layout_rules() {
  static const std::vector<StartRule> all = {
      {"divisibility", "ranks", kDegrees, ranks_divide, kArguments, true},
      {"divisibility", "ranks of experts",
       "--expert-model-parallel-size --expert-tensor-parallel-size --tensor-model-parallel-size "
       "--pipeline-model-parallel-size",
       ranks_divide_for_experts, kGroups},
      {"divisibility", "copies of states",
       "--num-distributed-optimizer-instances --expert-model-parallel-size --num-experts " + kDegrees,
       instances_divide, kGroups, true},
      {"zero1", "copies are sharded", "--num-distributed-optimizer-instances --use-distributed-optimizer",
       instances_shard, kReductions},
      {"batch", "batch", kBatch, batch_divides, kBatches, true},
      {"batch", "schedule of batches", "--step-batch-size-schedule --global-batch-size", batch_is_stated_once,
       kArguments},
      {"heads", "hidden by heads", "--hidden-size --num-attention-heads --kv-channels", heads_divide_hidden,
       kArguments},
      {"heads", "heads by TP", "--num-attention-heads --tensor-model-parallel-size", heads_divide, kConfig},
      {"heads", "query groups by TP",
       "--num-query-groups --group-query-attention --tensor-model-parallel-size", query_groups_divide,
       kConfig},
      {"heads", "heads by query groups", "--num-query-groups --group-query-attention --num-attention-heads",
       groups_divide_heads, kAttention, true},
      {"positions", "positions", "--max-position-embeddings --seq-length", positions_reach, kArguments, true},
      {"interleaved", "virtual stages stated once", kChunks, virtual_stages_once, kArguments},
      {"layers", "layers by PP", "--num-layers " + kShares + kEnds, layers_divide, kArguments, true},
      {"layers", "layers by virtual stage", kChunks + kEnds, chunks_divide, kArguments},
      {"layers", "layers by chunks", kChunks + kEnds, virtual_stages_divide, kBlock},
      {"layers", "ends", kEnds + kChunks, ends_fit, kConfig, true},
      {"interleaved", "chunks need stages", kChunks + "--no-overlap-p2p-communication", virtual_needs_stages,
       kArguments, true},
      {"interleaved", "micro-batches by PP",
       kBatch + "--microbatch-group-size-per-virtual-pipeline-stage " + kChunks, interleaving_has_batches,
       kSchedules},
      {"context-parallel", "sequence by 2 CP", "--seq-length --context-parallel-size", sequence_in_halves,
       kArguments, true},
      {"context-parallel", "engine", "--transformer-impl --context-parallel-size", context_needs_engine,
       kPlainAttention},
      {"sequence-parallel", "sequence by TP",
       "--seq-length --sequence-parallel --tensor-model-parallel-size --context-parallel-size",
       sequence_on_ranks, kMappings},
      {"sequence-parallel", "off with TP 1", "--sequence-parallel --tensor-model-parallel-size",
       sequence_parallel_is_off, kArguments},
      {"sequence-parallel", "overlap of TP",
       "--tp-comm-overlap --sequence-parallel --tensor-model-parallel-size", overlap_needs_sequence_parallel,
       kArguments},
      {"moe", "experts by EP", "--expert-model-parallel-size --num-experts", experts_divide, kArguments},
      {"moe", "experts of a token", "--moe-router-topk --num-experts", experts_of_a_token, kRouter},
  };
  return all;
}

}  // namespace trnplan::targets::pretrain_gpt
