#include "targets/megatron/megatron_questions.h"

#include <algorithm>

#include "units/product.h"

namespace trnplan::targets::pretrain_gpt {

std::int64_t tensor(const Settings& s) {
  return s.whole("--tensor-model-parallel-size");
}

std::int64_t stages(const Settings& s) {
  return s.whole("--pipeline-model-parallel-size");
}

std::int64_t context(const Settings& s) {
  return s.whole("--context-parallel-size");
}

std::int64_t model_parallel(const Settings& s) {
  return saturating_product({tensor(s), stages(s), context(s)});
}

std::int64_t replicas(const Settings& s, const StartFacts& f) {
  return f.ranks / std::max<std::int64_t>(1, model_parallel(s));
}

bool degrees_fit(const Settings& s, const StartFacts& f) {
  return f.ranks > 0 && f.ranks % model_parallel(s) == 0;
}

bool fsdp(const Settings& s) {
  return s.on("--use-megatron-fsdp") || s.on("--use-torch-fsdp2");
}

bool experts(const Settings& s) {
  return s.whole("--num-experts") > 0;
}

std::string granularity(const Settings& s) {
  return s.on("--recompute-activations") ? "selective" : s.text("--recompute-granularity");
}

std::int64_t counted_layers(const Settings& s) {
  return s.whole("--num-layers") + (s.on("--account-for-embedding-in-pipeline-split") ? 1 : 0) +
         (s.on("--account-for-loss-in-pipeline-split") ? 1 : 0);
}

bool uneven_ends(const Settings& s) {
  return s.given("--decoder-first-pipeline-num-layers") || s.given("--decoder-last-pipeline-num-layers");
}

std::int64_t chunks(const Settings& s) {
  if (s.given("--num-virtual-stages-per-pipeline-rank"))
    return std::max<std::int64_t>(1, s.whole("--num-virtual-stages-per-pipeline-rank"));
  if (!s.given("--num-layers-per-virtual-pipeline-stage")) return 1;
  const std::int64_t each = s.whole("--num-layers-per-virtual-pipeline-stage");
  return std::max<std::int64_t>(1, counted_layers(s) / stages(s) / std::max<std::int64_t>(1, each));
}

}  // namespace trnplan::targets::pretrain_gpt
