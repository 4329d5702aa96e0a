#include "models/framework/strategy_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/framework/framework.h"
#include "models/job/sharding_words.h"

namespace trnplan::models {

std::string degree_words(const Strategy& s) {
  struct Degree {
    const char* name;
    int value;
  };
  std::string text;
  for (const Degree& d : {Degree{"TP", s.tensor_parallel},
                          {"PP", s.pipeline_parallel},
                          {"CP", s.context_parallel},
                          {"EP", s.expert_parallel},
                          {"DP", s.data_parallel}}) {
    if (d.value > 1) text += fmt::format("{}{} {}", text.empty() ? "" : " x ", d.name, d.value);
  }
  if (text.empty()) text = "one rank";
  if (s.expert_parallel > 1 && expert_tensor_degree(s) != s.tensor_parallel)
    text += fmt::format(", ETP {}", expert_tensor_degree(s));
  if (s.virtual_pipeline > 1) text += fmt::format(", {} virtual stages each", s.virtual_pipeline);
  return text;
}

std::string layout_words(const Strategy& s) {
  const std::string degrees = degree_words(s);
  return s.micro_batch == 1 ? degrees : fmt::format("{}, micro-batch {}", degrees, s.micro_batch);
}

std::string strategy_words(const Strategy& s) {
  std::string text = layout_words(s);
  if (s.tensor_parallel > 1 && !s.sequence_parallel) text += ", no sequence parallel";
  text += sharding_words(s);
  if (!s.flash_attention) text += ", plain attention";
  text += ", " + recompute_words(s);
  if (!s.pipeline_cuts.empty()) text += fmt::format(", cuts {}", fmt::join(s.pipeline_cuts, "/"));
  return text;
}

}  // namespace trnplan::models
