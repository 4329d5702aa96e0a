// Lint rules on batch, sequence and attention.
#include <fmt/format.h>

#include <cstdint>
#include <optional>

#include "targets/nxdt/nxdt_lint_rules.h"

namespace trnplan::targets {

namespace {

// ---- batch

std::string batches_near(std::int64_t global, std::int64_t unit) {
  const std::int64_t below = global / unit * unit;
  return below > 0 ? fmt::format("use {} or {}", below, below + unit) : fmt::format("use {}", unit);
}

/// Sequences of one micro-batch on every replica.
std::int64_t slice_of(const models::Strategy& s) {
  return static_cast<std::int64_t>(s.micro_batch) * s.data_parallel;
}

void batch_divides(const Context& x, Report& report) {
  const models::Strategy& s = x.strategy();
  const std::int64_t global = x.reading.training.global_batch;
  const std::int64_t unit = slice_of(s);
  const std::string what =
      fmt::format("global batch {} / (micro-batch {} x DP {})", global, s.micro_batch, s.data_parallel);
  if (global < unit) {
    report.error({kGlobalBatch, what + " leaves no micro-batch", batches_near(global, unit)});
  } else if (global % unit != 0) {
    report.warning(
        {kGlobalBatch,
         fmt::format("{} is not a whole number and is silently cut to {} micro-batches", what, global / unit),
         batches_near(global, unit)});
  }
}

void batch_per_stage(const Context& x, Report& report) {
  const models::Strategy& s = x.strategy();
  const std::int64_t global = x.reading.training.global_batch;
  const std::int64_t unit = slice_of(s);
  const std::int64_t micro_batches = global / unit;
  if (s.pipeline_parallel == 1 || micro_batches < 1) return;
  if ((global / s.data_parallel) % micro_batches != 0) {
    report.error(
        {kGlobalBatch,
         fmt::format(
             "the pipeline splits {} sequences of a replica into {} micro-batches: not a whole number each",
             global / s.data_parallel, micro_batches),
         batches_near(global, unit), nxd("pipeline/model.py:1074")});
  }
}

void interleaved(const Context& x, Report& report) {
  const models::Strategy& s = x.strategy();
  const std::int64_t global = x.reading.training.global_batch;
  const std::int64_t unit = slice_of(s);
  const std::int64_t micro_batches = global / unit;
  if (s.pipeline_parallel == 1 || s.virtual_pipeline == 1 || micro_batches < 1) return;
  if (micro_batches % s.pipeline_parallel == 0) return;
  report.error({kVpp,
                fmt::format("interleaving: {} micro-batches do not divide by PP {}", micro_batches,
                            s.pipeline_parallel),
                batches_near(global, unit * s.pipeline_parallel) + " as global batch"});
}

void sample_width(const Context& x, Report& report) {
  constexpr std::string_view key = "data.seq_length";
  const std::optional<int> width = x.config.whole(key);
  const std::optional<int> sequence = x.config.whole(kSequence);
  if (!width || !sequence || *width == *sequence) return;
  // Preference tuning pads its samples to this key. The published SFT configs, which pack samples, also state
  // another width, and pre-training reads finished samples: whether these stop is not known. Megatron's
  // fine-tuning config leaves the key to the user.
  const bool preference = x.config.has_section("model_alignment_strategy.dpo") ||
                          x.config.has_section("model_alignment_strategy.orpo");
  const Severity severity = preference                                    ? Severity::error
                            : x.is_true("data.use_sft_style_data_module") ? Severity::note
                                                                          : Severity::warning;
  report.add(severity,
             {key,
              fmt::format("samples of {} tokens, while encoder_seq_length is {}: NxDT asserts at every step "
                          "that they agree",
                          *width, *sequence),
              fmt::format("write ${{{}}}", kSequence)});
}

// ---- attention

void context_parallel_attention(const Context& x, Report& report) {
  const bool ring = x.is_true(kRing);
  const std::string source = modeling_llama("280-288");
  if (ring && x.is_true(kFlash)) {
    report.error(
        {kRing, "ring and flash attention exclude each other", "write flash_attention: False", source});
  }
  if (x.strategy().context_parallel > 1 && !ring) {
    report.error({kCp, "context parallel needs ring attention",
                  "write ring_attention: True and flash_attention: False", source});
  }
}

void context_parallel_sequence(const Context& x, Report& report) {
  const int cp = x.strategy().context_parallel;
  const int sequence = x.reading.training.sequence;
  if (cp == 1) return;
  if (sequence % cp != 0) {
    report.error({kSequence, fmt::format("sequence {} does not divide by CP {}", sequence, cp),
                  "choose a CP that divides it", nxd("utils/batch_utils.py:33")});
  } else if ((sequence / cp) % 1024 != 0) {
    report.error({kSequence, fmt::format("sequence / CP = {} is not a multiple of 1024", sequence / cp),
                  fmt::format("use a sequence that is a multiple of {}", std::int64_t{1024} * cp),
                  nxd("kernels/ring_attention_kernel.py:148-151")});
  }
}

void context_parallel_support(const Context& x, Report& report) {
  if (x.strategy().context_parallel == 1) return;
  if (!x.hf_llama())
    report.warning({kCp, "context parallel exists for HF Llama only", "write context_parallel_size: 1"});
  if (x.trn2)
    report.warning({kCp, "context parallel is documented for trn1 only", "write context_parallel_size: 1"});
  if (x.reading.training.sequence > 32768) {
    report.warning(
        {kSequence, "context parallel is documented up to a sequence of 32768", "use a shorter sequence"});
  }
}

void flash_sequence(const Context& x, Report& report) {
  const int sequence = x.reading.training.sequence;
  if (!x.is_true(kFlash) || x.megatron || sequence % 2048 == 0) return;
  report.error({kSequence, fmt::format("flash attention wants a multiple of 2048, not {}", sequence),
                fmt::format("use {} or flash_attention: False", (sequence / 2048 + 1) * std::int64_t{2048})});
}

void flash_support(const Context& x, Report& report) {
  if (!x.is_true(kFlash)) return;
  if (x.megatron) {
    report.warning(
        {kFlash, "Megatron models have no flash attention", "write flash_attention: False", kKnownIssues});
  }
  const int heads = x.trained.heads / x.strategy().tensor_parallel;
  const bool paired = x.trn2 && x.lnc() == 2;
  if (!paired || x.trained.heads <= 0 || (heads >= 2 && heads % 2 == 0)) return;
  report.warning(
      {kTp,
       fmt::format(
           "{} heads a rank: with lnc 2 flash attention runs heads in pairs (read from the code, not run)",
           heads),
       "choose a TP that leaves an even number of heads", nxd("kernels/flash_attn.py:51")});
}

void sequence_parallel(const Context& x, Report& report) {
  constexpr std::string_view key = "distributed_strategy.sequence_parallel";
  if (!x.is_true(key)) return;
  const models::Strategy& s = x.strategy();
  const int local = x.reading.training.sequence / s.context_parallel;
  if (s.tensor_parallel == 1) {
    report.warning({key, "has no effect with TP 1", "write sequence_parallel: False"});
  } else if (local % s.tensor_parallel != 0) {
    report.error({key,
                  fmt::format("{} tokens of a sequence do not divide by TP {}", local, s.tensor_parallel),
                  "use a sequence that is a multiple of TP x CP"});
  }
}

void tied_embeddings(const Context& x, Report& report) {
  if (x.strategy().pipeline_parallel == 1 || !x.trained.tied_embeddings) return;
  report.error(
      {x.megatron ? "model.share_embeddings_and_output_weights" : kPp,
       "embedding and head share weights: with a pipeline the shared weight has no gradient",
       x.megatron ? "write False, or PP 1" : "set tie_word_embeddings false in config.json, or PP 1"});
}

constexpr Rule kBatchRules[] = {
    {"batch", batch_divides},
    {"batch", batch_per_stage},
    {"interleaved", interleaved},
    {"sequence", sample_width},
    {"context-parallel", context_parallel_attention},
    {"context-parallel", context_parallel_sequence},
    {"context-parallel", context_parallel_support},
    {"flash-attention", flash_sequence},
    {"flash-attention", flash_support},
    {"sequence-parallel", sequence_parallel},
    {"tied-embeddings", tied_embeddings},
};

}  // namespace

std::span<const Rule> batch_rules() {
  return kBatchRules;
}

}  // namespace trnplan::targets
