#include "models/job/strategy.h"

#include "models/job/sharding_words.h"
#include "tests/catch.h"

using namespace trnplan::models;

TEST_CASE("recompute policies read and print", "[models]") {
  for (const char* text : {"none", "full", "CoreAttention", "LlamaMLP", "CoreAttention+LlamaMLP",
                           "LlamaRMSNorm+ActivationMultiplyMLP"}) {
    CAPTURE(text);
    REQUIRE(recompute_from(text));
    CHECK(to_string(*recompute_from(text)) == text);
  }
  for (const char* bad : {"", "Full", "CoreAttention+", "+LlamaMLP", "none+full", "MLP"}) {
    CAPTURE(bad);
    CHECK_FALSE(recompute_from(bad));
  }
  // Words of Megatron-LM and TorchTitan for the same classes.
  CHECK(to_string(*recompute_from("core_attn+mlp+layernorm")) == "CoreAttention+LlamaMLP+LlamaRMSNorm");
  CHECK(recompute_from("moe") == recompute_from("LlamaMLP"));
  CHECK(recompute_from("op") == recompute_from("SelectiveOp"));
}

TEST_CASE("groups of ranks are named with what they share", "[models]") {
  Strategy s;
  s.zero1 = true;
  s.data_parallel = 8;
  CHECK(sharding_words(s).empty());
  s.shard_ranks = 2;
  CHECK(sharding_words(s) == ", ZeRO-1 over 2 ranks");
  s.sharding = Sharding::parameters;
  CHECK(sharding_words(s) == ", ZeRO-3 over 2 ranks");
}

TEST_CASE("one program has one name", "[models]") {
  Strategy flash;
  flash.tensor_parallel = 8;
  Strategy with_core_attention = flash;
  with_core_attention.recompute.core_attention = true;
  CHECK(canonical(flash) == canonical(with_core_attention));
  CHECK(to_string(canonical(flash).recompute) == "CoreAttention");

  Strategy plain = flash, plain_core = with_core_attention;
  plain.flash_attention = plain_core.flash_attention = false;
  CHECK(canonical(plain) != canonical(plain_core));

  Strategy full = flash;
  full.recompute = {.full = true, .mlp = true};
  CHECK(to_string(canonical(full).recompute) == "full");

  Strategy alone;
  alone.sequence_parallel = true;
  CHECK_FALSE(canonical(alone).sequence_parallel);

  Strategy one_stage;
  one_stage.virtual_pipeline = 2;
  CHECK(canonical(one_stage) == canonical({}));
  one_stage.pipeline_parallel = 2;
  CHECK(canonical(one_stage).virtual_pipeline == 2);
  CHECK(canonical(canonical(full)) == canonical(full));
}

TEST_CASE("precisions read and print", "[models]") {
  CHECK(precision_from("bf16SR") == Precision::bf16_sr);
  CHECK(to_string(Precision::mixed_precision) == "mixed_precision");
  CHECK_FALSE(precision_from("mixed_precisionSR"));
}
