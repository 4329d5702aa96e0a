#include "io/input/job_keys.h"

#include <string_view>
#include <utility>

namespace trnplan::io {

namespace {

constexpr const char* kAlignment = "model alignment (SFT, DPO, ORPO)";
constexpr const char* kAdapters = "LoRA";

constexpr std::pair<const char*, const char*> kNotModelled[] = {{"model_alignment_strategy", kAlignment},
                                                                {"model_alignment", kAlignment},
                                                                {"alignment", kAlignment},
                                                                {"fine_tuning", kAlignment},
                                                                {"finetuning", kAlignment},
                                                                {"sft", kAlignment},
                                                                {"dpo", kAlignment},
                                                                {"orpo", kAlignment},
                                                                {"peft", kAdapters},
                                                                {"lora", kAdapters}};

}  // namespace

void refuse_not_modelled(MapReader& map) {
  for (const auto& [key, what] : kNotModelled) {
    if (!map.has(key)) continue;
    map.ignore({key});
    map.fault(key, std::string(what) + " is not modelled: the plan would be of another job",
              what == std::string_view(kAdapters)
                  ? "remove it to plan training of every weight, which needs more memory and time"
                  : "remove it to plan pre-training; trnplan check judges an NxDT YAML with alignment");
  }
}

}  // namespace trnplan::io
