// A second implementation of the rules about numbers, from docs/rules.md.
#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "tests/second_opinion/check_plan.h"
#include "tests/second_opinion/schedules.h"
#include "tests/second_opinion/training_loops.h"

namespace trnplan::second_opinion {

using models::Architecture;
using models::Job;
using models::Strategy;

namespace {

/// Collects the rules that a strategy breaks.
class Rules {
 public:
  Rules(const Job& job, const Strategy& s, std::string_view target)
      : job_(job),
        a_(job.architecture),
        s_(s),
        target_(target),
        gpus_(job.cluster.instance.traits.accelerator == topology::Accelerator::gpu),
        loop_(training_loop(s.framework)) {}

  std::vector<Fault> run() {
    degrees();
    splits();
    batch();
    attention();
    pipeline();
    of_target();
    modelled();
    return std::move(broken_);
  }

 private:
  void need(bool holds, const char* rule, std::string otherwise) {
    const bool said =
        std::any_of(broken_.begin(), broken_.end(), [&](const Fault& f) { return f.rule == rule; });
    if (!holds && !said) broken_.push_back({rule, std::move(otherwise)});
  }
  void divides(std::int64_t divisor, std::int64_t number, const char* rule, const char* what) {
    need(number % divisor == 0, rule, fmt::format("{} does not divide {} {}", divisor, what, number));
  }

  void degrees() {
    const int cores = job_.cluster.cores(), a_node = job_.cluster.instance.cores();
    const int t = s_.tensor_parallel, p = s_.pipeline_parallel;
    std::int64_t ranks = 1;
    for (const int d : {t, s_.context_parallel, s_.data_parallel, p}) {
      ranks *= d;
      if (ranks > cores) break;  // and no overflow
    }
    need(ranks == cores, "divisibility",
         fmt::format("the degrees do not multiply to the cluster's {} cores", cores));
    const int cuts = cuts_of_expert(s_);
    if (a_.experts == 0) {
      need(s_.expert_parallel == 1 && cuts == t, "moe", "expert parallel without experts");
    } else if (s_.expert_parallel > 1) {
      divides(std::int64_t{cuts} * p * s_.expert_parallel, cores, "divisibility", "the ranks");
    }
    const bool core = loop_.name.starts_with("megatron") && loop_.copies_states;
    need(cuts == t || (core && s_.sequence_parallel), "moe", "experts cut otherwise than all else");
    exchanges();
    need(cuts == t || cuts == 1, "not-modelled", "experts cut over some ranks of TP");
    const bool columns =
        job_.cluster.instance.traits.rank_order == topology::RankOrderRule::columns_of_four && t == 4;
    if (ranks == cores && columns && a_node > 4)
      divides(a_node / 4, std::int64_t{s_.data_parallel} * s_.context_parallel, "rank-order",
              "the replicas, which form columns,");
  }

  void splits() {
    const int t = s_.tensor_parallel;
    divides(t, a_.heads, "heads", "the heads");
    divides(t, a_.intermediate, "heads", "the intermediate size");
    if (loop_.name.starts_with("fsdp"))
      divides(t, a_.kv_heads, "heads", "the KV heads, which are not copied,");
    need(s_.kv_replicator >= 1, "kv-replicator", "fewer than one copy of the KV heads");
    divides(t, std::int64_t{a_.kv_heads} * s_.kv_replicator, "kv-replicator",
            "the KV heads and their copies");
    divides(std::max(1, s_.kv_replicator), t, "kv-replicator", "TP");
  }

  void batch() {
    const std::int64_t slice = std::int64_t{s_.micro_batch} * s_.data_parallel;
    const int all = job_.training.global_batch;
    need(all >= slice && all % slice == 0, "batch", fmt::format("slices of {} do not make {}", slice, all));
  }

  void attention() {
    const int sequence = job_.training.sequence, c = s_.context_parallel;
    need(!s_.flash_attention || attends(loop_, s_), "flash-attention", "flash attention in FP32");
    if (c > 1) {
      need(s_.flash_attention, "context-parallel", "context parallel without flash attention");
      // On GPUs a piece from either end of the sequence, on Neuron cores blocks of the kernel.
      divides((gpus_ ? 2 : 1024) * c, sequence, "context-parallel", "the sequence");
    } else if (s_.flash_attention && !gpus_) {
      divides(2048, sequence, "flash-attention", "the sequence");
    }
    if (s_.sequence_parallel) {
      need(s_.tensor_parallel > 1, "sequence-parallel", "sequence parallel without tensor parallel");
      divides(s_.tensor_parallel, sequence / c, "sequence-parallel", "the tokens of a rank");
    }
    need(!a_.learned_positions || sequence <= a_.max_positions, "positions",
         "the sequence is longer than the table of positions");
  }

  void pipeline() {
    const int p = s_.pipeline_parallel, v = s_.virtual_pipeline, parts = p * v, layers = a_.layers;
    need(gpus_ || p == 1 || p % 2 == 0, "pipeline-parity", fmt::format("PP {} is odd", p));
    // Embedding and loss may be chunks by themselves where Megatron counts them as layers.
    const bool counts_ends = v > 1 && loop_.name.starts_with("megatron") && !loop_.shards_weights() &&
                             !loop_.name.starts_with("megatron-deepspeed");
    const bool fill = parts <= layers + (counts_ends ? 2 : 0);
    need(fill, "layers", fmt::format("{} layers do not fill {} parts", layers, parts));
    if (fill && !s_.pipeline_cuts.empty()) cuts(parts);
    need(!fill || !s_.pipeline_cuts.empty() || !even_parts(loop_, a_, p, v).empty(), "layers",
         fmt::format("{} does not form {} chunks on each of {} stages", loop_.name, v, p));
    const auto schedule = definition_of(defined_schedule(s_));
    if (schedule && schedule->whole_rounds) {
      const std::int64_t m = job_.training.global_batch / (std::int64_t{s_.micro_batch} * s_.data_parallel);
      divides(p, m, "interleaved", "the micro-batches");
    }
    need(schedule && v >= schedule->least && v <= schedule->most, "pipeline-schedule",
         fmt::format("the schedule does not go with {} chunks a stage", v));
  }

  void cuts(int parts) {
    int before = -1;
    bool ascends = static_cast<int>(s_.pipeline_cuts.size()) == parts - 1;
    for (const int cut : s_.pipeline_cuts) {
      ascends = ascends && cut > before && cut < a_.layers - 1;
      before = cut;
    }
    need(ascends, "layers", "the cuts do not make a stage of every part");
  }

  /// Exchanges with experts overlap other micro-batches where there are ranks to exchange with, two chunks of a stage,
  /// and nothing of an expert is recomputed, in 16 bits.
  void exchanges() {
    if (!loop_.name.ends_with("-ep-overlap")) return;
    const models::Recompute& r = s_.recompute;
    const bool can = s_.expert_parallel > 1 && (s_.pipeline_parallel == 1 || s_.virtual_pipeline > 1) &&
                     !r.full && !r.mlp && s_.precision != models::Precision::fp32;
    need(can, "moe", "exchanges with experts that nothing can overlap");
  }

  /// What trains with NxD's models of Hugging Face pads and ties nothing; NxDT starts certain numbers of processes.
  void of_target() {
    if (target_ != "nxdt" && target_ != "nxd" && target_ != "bert") return;
    const bool llama = a_.norm == models::Norm::rms && a_.causal && !a_.learned_positions;
    if (llama) divides(s_.tensor_parallel, a_.vocabulary, "vocabulary", "the vocabulary");
    need(s_.context_parallel == 1 || a_.experts == 0, "context-parallel", "context parallel with experts");
    need(s_.pipeline_parallel == 1 || !a_.tied_embeddings, "tied-embeddings",
         "tied embeddings on different stages");
    if (target_ != "nxdt") return;
    const int cores = job_.cluster.instance.host_cores();
    const bool starts = cores <= 2 || cores == 8 || cores == 32 || cores == 64 || cores == 128;
    need(starts, "devices", fmt::format("NxDT starts no {} processes a node", cores));
  }

  void modelled() {
    const topology::Instance& machine = job_.cluster.instance;
    need(machine.traits.step_time, "not-modelled", "the time of a step on " + machine.name);
    need(a_.blocks.untimed.empty(), "not-modelled", a_.blocks.untimed);
    need(!models::is_fp8(s_.precision) || (gpus_ && machine.core.fp8.value > 0), "not-modelled",
         "products in FP8 on such a device");
    need(s_.precision != models::Precision::fp32 || !gpus_ || machine.core.fp32.value > 0, "not-modelled",
         "products in FP32, of which no peak is stated");
    const bool narrow = loop_.name.starts_with("nanotron") || loop_.name.starts_with("megatron-deepspeed");
    need(s_.precision != models::Precision::fp32 || !gpus_ || !narrow, "not-modelled", "the loop in FP32");
    const bool of_nxd = s_.precision == models::Precision::bf16_sr ||
                        s_.precision == models::Precision::autocast ||
                        s_.precision == models::Precision::manual;
    need(!gpus_ || !of_nxd, "not-modelled", "a precision of NxD on GPUs");
    const bool transformer_engine = loop_.name.starts_with("megatron") && !narrow;
    need(s_.precision != models::Precision::fp8_param_gather || transformer_engine, "not-modelled",
         "weights in FP8 alone");
    const std::string missing = cannot(loop_, s_);
    need(missing.empty(), "not-modelled", fmt::format("{} cannot {}", loop_.name, missing));
  }

  const Job& job_;
  const Architecture& a_;
  const Strategy& s_;
  std::string_view target_;
  bool gpus_;  ///< to which rules of NxD's sends and kernels do not apply
  const TrainingLoop& loop_;
  std::vector<Fault> broken_;
};

}  // namespace

std::vector<Fault> broken_rules(const Job& job, const Strategy& strategy, std::string_view target) {
  return Rules(job, strategy, target).run();
}

}  // namespace trnplan::second_opinion
