// Flags of pretrain_gpt.py that state one member each, named once: what writes a script walks them with a writer, what
// reads one with a reader. A flag that is added here is written and read; its kind and bounds are a row of
// megatron_keys.cpp. Private to this room.
#pragma once

#include <string>
#include <string_view>

#include "models/architecture/architecture.h"
#include "models/job/strategy.h"
#include "targets/flags/flags.h"
#include "targets/start/run_values.h"

namespace trnplan::targets {

/// Puts words down; `when` is false where the flag is left out.
struct MegatronWriter {
  Words& words;

  void whole(std::string_view flag, int value, bool when = true) {
    if (when) words.count(flag, value);
  }
  void number(std::string_view flag, double value) { words.number(flag, value); }
  void toggle(std::string_view flag, bool value, bool when = true) { words.toggle(flag, value && when); }
  void toggle_off(std::string_view flag, bool value) { words.toggle(flag, !value); }
  template <class Enum>
  void either(std::string_view flag, Enum value, Enum usual, std::string_view usual_word, Enum,
              std::string_view other) {
    words.flag(flag, std::string(value == usual ? usual_word : other));
  }
};

/// Sets members. A number whose flag is not stated stays as it is; a toggle is off. Of two words, anything but
/// the usual word gives the other one.
struct MegatronReader {
  RunValues& values;

  [[nodiscard]] bool on(std::string_view flag) const { return values.settings().given(flag); }
  void whole(std::string_view flag, int& value, bool = true) { value = values.whole(flag, value); }
  void number(std::string_view flag, double& value) { value = values.number(flag, value); }
  void toggle(std::string_view flag, bool& value, bool = true) { value = on(flag); }
  void toggle_off(std::string_view flag, bool& value) { value = !on(flag); }
  template <class Enum>
  void either(std::string_view flag, Enum& value, Enum usual, std::string_view usual_word, Enum other,
              std::string_view) {
    value = values.text(flag) == usual_word ? usual : other;
  }
};

template <class Io>
void size_flags(Io& io, models::Architecture& a) {
  io.whole("--num-layers", a.layers);
  io.whole("--hidden-size", a.hidden);
  io.whole("--ffn-hidden-size", a.intermediate);
  io.whole("--num-attention-heads", a.heads);
  bool grouped = a.grouped_queries();
  io.toggle("--group-query-attention", grouped);
  io.whole("--num-query-groups", a.kv_heads, grouped);
  io.whole("--kv-channels", a.head_dim, a.head_dim > 0 && a.head_dim * a.heads != a.hidden);
}

template <class Io>
void block_flags(Io& io, models::Architecture& a) {
  io.either("--normalization", a.norm, models::Norm::rms, "RMSNorm", models::Norm::layer, "LayerNorm");
  io.number("--norm-epsilon", a.rms_norm_eps);
  bool gated = a.mlp == models::Mlp::gated;
  io.toggle("--swiglu", gated);
  a.mlp = gated ? models::Mlp::gated : models::Mlp::plain;
  io.toggle_off("--disable-bias-linear", a.biases);
  io.toggle("--add-qkv-bias", a.qkv_bias, !a.biases);
  io.toggle("--qk-layernorm", a.qk_norm);
  io.toggle_off("--untie-embeddings-and-output-weights", a.tied_embeddings);
}

template <class Io>
void expert_flags(Io& io, models::Architecture& a) {
  io.whole("--num-experts", a.experts);
  io.whole("--moe-router-topk", a.experts_per_token);
}

template <class Io>
void degree_flags(Io& io, models::Strategy& s) {
  io.whole("--tensor-model-parallel-size", s.tensor_parallel);
  io.toggle("--sequence-parallel", s.sequence_parallel, s.tensor_parallel > 1);
  s.sequence_parallel = s.sequence_parallel && s.tensor_parallel > 1;
  io.whole("--pipeline-model-parallel-size", s.pipeline_parallel);
  io.whole("--num-virtual-stages-per-pipeline-rank", s.virtual_pipeline, s.virtual_pipeline > 1);
}

template <class Io>
void group_flags(Io& io, models::Strategy& s, bool experts) {
  io.whole("--context-parallel-size", s.context_parallel);
  io.whole("--expert-model-parallel-size", s.expert_parallel, experts);
  io.whole("--expert-tensor-parallel-size", s.expert_tensor_parallel,
           experts && s.expert_tensor_parallel > 0);
}

template <class Io>
void batch_flags(Io& io, models::Strategy& s, int& global_batch) {
  io.whole("--micro-batch-size", s.micro_batch);
  io.whole("--global-batch-size", global_batch);
  io.toggle("--use-distributed-optimizer", s.zero1);
}

/// Copies of the optimizer's states: as many as groups of ranks that share one. `s` has its data-parallel degree.
template <class Io>
void copy_flags(Io& io, models::Strategy& s) {
  int copies = s.shard_ranks > 0 ? s.data_ranks() / s.shard_ranks : 1;
  io.whole("--num-distributed-optimizer-instances", copies, copies > 1);
  if (copies > 1 && s.data_ranks() % copies == 0) s.shard_ranks = s.data_ranks() / copies;
}

}  // namespace trnplan::targets
