#include <fmt/format.h>

#include <algorithm>

#include "targets/megatron/megatron_questions.h"
#include "targets/megatron/megatron_rules.h"
#include "units/product.h"

namespace trnplan::targets::pretrain_gpt {

namespace {

// Learning and keeping.
Broken iterations_or_samples(const Settings& s, const StartFacts&) {
  const bool iterations = s.whole("--train-iters") > 0, samples = s.whole("--train-samples") > 0;
  if (iterations && s.given("--train-samples"))
    return Breach{"iterations and samples are both given", "drop one of them"};
  if (iterations && (s.given("--lr-decay-samples") || s.whole("--lr-warmup-samples") > 0))
    return Breach{"iterations with a decay or warm-up in samples", "state them in iterations"};
  if (samples &&
      (s.given("--train-iters") || s.given("--lr-decay-iters") || s.whole("--lr-warmup-iters") > 0))
    return Breach{"samples with a length, decay or warm-up in iterations", "state them in samples"};
  if (s.given("--lr-warmup-fraction") &&
      (s.whole("--lr-warmup-iters") > 0 || s.whole("--lr-warmup-samples") > 0))
    return Breach{"the warm-up is stated as a fraction and as a number", "drop one of the two"};
  return {};
}

Broken length_is_stated(const Settings& s, const StartFacts&) {
  if (s.whole("--train-iters") > 0 || s.whole("--train-samples") > 0 || s.on("--skip-train")) return {};
  return Breach{"neither iterations nor samples are stated, and training needs one of them",
                "add --train-iters N, unless it comes from elsewhere", true};
}

Broken rate_is_stated(const Settings& s, const StartFacts&) {
  if (s.given("--lr") || s.on("--skip-train")) return {};
  return Breach{"the learning rate is not stated, and training needs it",
                "add --lr, unless it comes from elsewhere", true};
}

Broken rates_in_order(const Settings& s, const StartFacts&) {
  if (s.number("--min-lr") < 0) return Breach{"is below 0", "write 0 or more"};
  if (!s.given("--lr")) return {};
  if (s.number("--min-lr") > s.number("--lr"))
    return Breach{fmt::format("{} is above --lr, {}", s.text("--min-lr"), s.text("--lr")),
                  "write a smaller one"};
  return {};
}

Broken warmup_starts_below(const Settings& s, const StartFacts&) {
  if (!s.given("--lr") || s.number("--lr-warmup-init") <= s.number("--lr")) return {};
  return Breach{fmt::format("{} is above --lr, {}", s.text("--lr-warmup-init"), s.text("--lr")),
                "write a smaller one"};
}

Broken warmup_ends(const Settings& s, const StartFacts&) {
  const bool samples = s.whole("--train-samples") > 0;
  const char *length = samples ? "--train-samples" : "--train-iters",
             *decay = samples ? "--lr-decay-samples" : "--lr-decay-iters",
             *warm = samples ? "--lr-warmup-samples" : "--lr-warmup-iters";
  const std::int64_t end = s.given(decay) ? s.whole(decay) : s.whole(length);
  if (s.whole(length) < 1) return {};
  if (s.given("--lr-warmup-fraction") && s.number("--lr-warmup-fraction") >= 1)
    return Breach{"the warm-up takes the whole decay", "write a fraction below 1"};
  if (s.whole(warm) < end) return {};
  return Breach{fmt::format("a warm-up of {} in a decay of {}", s.whole(warm), end),
                "write a warm-up that is shorter than the decay"};
}

Broken decay_has_its_end(const Settings& s, const StartFacts&) {
  if (s.text("--lr-decay-style") != "WSD") return {};
  const bool samples = s.whole("--train-samples") > 0;
  const char* key = samples ? "--lr-wsd-decay-samples" : "--lr-wsd-decay-iters";
  if (s.given(key)) return {};
  return Breach{fmt::format("WSD needs {}", key), fmt::format("add {}", key)};
}

Broken weight_decay_in_order(const Settings& s, const StartFacts&) {
  const bool start = s.given("--start-weight-decay"), end = s.given("--end-weight-decay");
  if (s.text("--weight-decay-incr-style") == "constant") {
    if (start || end) return Breach{"a constant weight decay has no start and no end", "drop them"};
    return {};
  }
  if (!start || !end)
    return Breach{"needs a start and an end", "add --start-weight-decay and --end-weight-decay"};
  if (s.number("--start-weight-decay") < 0 ||
      s.number("--end-weight-decay") < s.number("--start-weight-decay"))
    return Breach{"the weight decay falls", "write an end that is at least the start"};
  return {};
}

Broken saving_has_interval(const Settings& s, const StartFacts&) {
  if (!s.given("--save")) return {};
  if (!s.given("--save-interval")) return Breach{"--save needs --save-interval", "add --save-interval N"};
  const std::int64_t every = s.whole("--save-interval");
  if (every > 0 && s.given("--save-retain-interval") && s.whole("--save-retain-interval") % every != 0)
    return Breach{"--save-retain-interval is not a multiple of --save-interval", "write a multiple"};
  return {};
}

Broken memory_log(const Settings& s, const StartFacts&) {
  if (!s.given("--log-memory-interval") || s.whole("--log-memory-interval") % s.whole("--log-interval") == 0)
    return {};
  return Breach{"is not a multiple of --log-interval", "write a multiple"};
}

// Experts.
Broken router_chooses(const Settings& s, const StartFacts&) {
  if (s.whole("--moe-router-topk") != 1 || s.text("--moe-router-score-function") != "softmax" ||
      s.on("--moe-router-pre-softmax") || s.text("--moe-router-load-balancing-type") == "sinkhorn" ||
      !experts(s))
    return {};
  return Breach{"one expert a token needs softmax before the choice", "add --moe-router-pre-softmax"};
}

Broken capacity_balances(const Settings& s, const StartFacts&) {
  if (!experts(s)) return {};
  const bool stated = s.given("--moe-expert-capacity-factor");
  if (s.on("--moe-pad-expert-input-to-capacity") && (!stated || s.number("--moe-expert-capacity-factor") < 0))
    return Breach{"padding to a capacity that is not stated", "add --moe-expert-capacity-factor"};
  const std::string kind = s.text("--moe-router-load-balancing-type");
  if (!stated || (kind != "sinkhorn" && kind != "quantile_balancing")) return {};
  return Breach{"a capacity excludes this kind of balancing",
                "write --moe-router-load-balancing-type aux_loss"};
}

Broken overlapped_exchanges(const Settings& s, const StartFacts&) {
  if (!s.on("--overlap-moe-expert-parallel-comm")) return {};
  if (s.whole("--expert-model-parallel-size") < 2)
    return Breach{"needs expert parallel", "drop it, or raise --expert-model-parallel-size"};
  const std::string dispatcher = s.text("--moe-token-dispatcher-type");
  if (dispatcher != "alltoall" && dispatcher != "flex")
    return Breach{"needs another dispatcher of tokens", "write --moe-token-dispatcher-type alltoall"};
  if (granularity(s) == "full")
    return Breach{"excludes full recomputation", "write --recompute-granularity selective"};
  const std::string modules = " " + s.text("--recompute-modules") + " ";
  if (modules.find(" moe ") != std::string::npos)
    return Breach{"excludes recomputed experts", "leave moe out of --recompute-modules"};
  if (s.given("--moe-shared-expert-overlap"))
    return Breach{"excludes the overlap of shared experts", "drop --moe-shared-expert-overlap"};
  if (stages(s) > 1 && chunks(s) == 1 && !s.given("--pipeline-model-parallel-layout"))
    return Breach{"needs virtual stages in a pipeline",
                  "add --num-virtual-stages-per-pipeline-rank 2 or more"};
  if (!s.on("--bf16") && !s.on("--fp16")) return Breach{"needs BF16 or FP16", "add --bf16"};
  return {};
}

Broken expert_width(const Settings& s, const StartFacts&) {
  if (!s.given("--moe-ffn-hidden-size") || experts(s)) return {};
  return Breach{"a width of experts without experts", "drop it, or add --num-experts"};
}

// What is no longer taken, and the environment.
template <int N>
Broken is_gone(const Settings& s, const StartFacts&) {
  struct Gone {
    const char *flag, *instead;
  };
  static constexpr Gone kGone[] = {
      {"--batch-size", "write --micro-batch-size"},
      {"--warmup", "write --lr-warmup-fraction"},
      {"--model-parallel-size", "write --tensor-model-parallel-size"},
      {"--checkpoint-activations", "write --recompute-activations"},
  };
  if (!s.given(kGone[N].flag)) return {};
  return Breach{"is no longer accepted", kGone[N].instead};
}

Broken local_attention(const Settings& s, const StartFacts&) {
  if (s.text("--attention-backend") != "local") return {};
  const std::vector<std::string>& spec = s.list("--spec");
  if (!spec.empty() && spec.front() == "local") return {};
  return Breach{"local needs --spec local", "write flash, fused, unfused or auto"};
}

/// The data loader makes a square of FP32, which goes to the GPU as one of bytes.
Broken mask_of_data(const Settings& s, const StartFacts& f) {
  constexpr double kNoticed = 0.01;  // of the device's memory; ours
  if (s.given("--no-create-attention-mask-in-dataloader") || s.given("--dataloader-inter-document-masking"))
    return {};
  const double square =
      static_cast<double>(s.whole("--seq-length")) * static_cast<double>(s.whole("--seq-length"));
  const double there = square * static_cast<double>(std::max<std::int64_t>(1, s.whole("--micro-batch-size")));
  if (there < kNoticed * f.core.memory.value) return {};
  return Breach{fmt::format("each sample brings a full square mask, {:.1f} GB of host memory, and each "
                            "micro-batch {:.1f} GB of GPU memory that is not predicted",
                            4 * square / 1e9, there / 1e9),
                "add --no-create-attention-mask-in-dataloader: the kernels need no mask", true};
}

Broken sections_of_rotation(const Settings& s, const StartFacts&) {
  if (s.text("--position-embedding-type") != "mrope" || s.given("--mrope-section")) return {};
  return Breach{"mrope needs --mrope-section", "add it, or write rope"};
}

/// Machines before Blackwell, the first that computes in FP4.
Broken connections(const Settings& s, const StartFacts& f) {
  const bool one = s.given(kMaxConnections) && s.text(kMaxConnections) == "1";
  if (fsdp(s)) {
    if (!one) return {};
    return Breach{"FSDP excludes CUDA_DEVICE_MAX_CONNECTIONS=1", "do not set it"};
  }
  const bool needed = (tensor(s) > 1 || context(s) > 1) && f.core.fp4.value <= 0 &&
                      !s.on("--overlap-moe-expert-parallel-comm");
  if (!needed || one) return {};
  const bool stated = s.given(kMaxConnections);
  return Breach{fmt::format("{} {} 1 with TP or CP above 1 before Blackwell", kMaxConnections,
                            stated ? "has to be" : "is not set, and has to be"),
                fmt::format("export {}=1 before the script starts", kMaxConnections), !f.starts_program,
                stated          ? kMaxConnections
                : tensor(s) > 1 ? "--tensor-model-parallel-size"
                                : "--context-parallel-size"};
}

}  // namespace

const std::vector<StartRule>& training_rules() {
  static const std::vector<StartRule> all = {
      {"schedule", "iterations or samples",
       "--train-samples --train-iters --lr-decay-samples --lr-decay-iters --lr-warmup-samples "
       "--lr-warmup-iters "
       "--lr-warmup-fraction",
       iterations_or_samples, kArguments, true},
      {"schedule", "length", "--train-iters --train-samples", length_is_stated, kTraining},
      {"schedule", "rate", "--lr", rate_is_stated, kRates},
      {"schedule", "least rate", "--min-lr --lr", rates_in_order, kArguments},
      {"schedule", "first rate", "--lr-warmup-init --lr", warmup_starts_below, kRates},
      {"schedule", "warm-up",
       "--lr-warmup-iters --lr-warmup-samples --lr-warmup-fraction --lr-decay-iters --lr-decay-samples "
       "--train-iters --train-samples",
       warmup_ends, kRates},
      {"schedule", "end of WSD",
       "--lr-decay-style --lr-wsd-decay-iters --lr-wsd-decay-samples --train-samples", decay_has_its_end,
       kRates},
      {"weight-decay", "order", "--weight-decay-incr-style --start-weight-decay --end-weight-decay",
       weight_decay_in_order, kArguments},
      {"checkpoint", "interval", "--save-interval --save-retain-interval --save", saving_has_interval,
       kArguments},
      {"logging", "memory", "--log-memory-interval --log-interval", memory_log, kArguments},
      {"moe", "choice of one",
       "--moe-router-topk --moe-router-score-function --moe-router-pre-softmax "
       "--moe-router-load-balancing-type --num-experts",
       router_chooses, kConfig},
      {"moe", "capacity",
       "--moe-expert-capacity-factor --moe-pad-expert-input-to-capacity --moe-router-load-balancing-type "
       "--num-experts",
       capacity_balances, kConfig},
      {"moe", "overlapped exchanges",
       "--overlap-moe-expert-parallel-comm --expert-model-parallel-size --moe-token-dispatcher-type "
       "--recompute-granularity --recompute-activations --recompute-modules --moe-shared-expert-overlap "
       "--pipeline-model-parallel-size --num-virtual-stages-per-pipeline-rank "
       "--num-layers-per-virtual-pipeline-stage --pipeline-model-parallel-layout --bf16 --fp16",
       overlapped_exchanges, kConfig},
      {"moe", "width of experts", "--moe-ffn-hidden-size --num-experts", expert_width, kConfig},
      {"gone", "batch size", "--batch-size", is_gone<0>, kArguments},
      {"gone", "warm-up", "--warmup", is_gone<1>, kArguments},
      {"gone", "model parallel", "--model-parallel-size", is_gone<2>, kArguments},
      {"gone", "recompute", "--checkpoint-activations", is_gone<3>, kArguments},
      {"attention", "local", "--attention-backend", local_attention, kArguments},
      {"attention", "mask of the data",
       "--seq-length --micro-batch-size --no-create-attention-mask-in-dataloader "
       "--dataloader-inter-document-masking",
       mask_of_data, kDataset},
      {"attention", "sections of rotation", "--position-embedding-type", sections_of_rotation, kArguments},
      {"environment", "connections",
       "CUDA_DEVICE_MAX_CONNECTIONS --tensor-model-parallel-size --context-parallel-size", connections,
       kArguments},
  };
  return all;
}

}  // namespace trnplan::targets::pretrain_gpt
