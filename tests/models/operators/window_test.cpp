// A sliding window bounds the work and memory of attention if the sequence is longer.
#include <algorithm>
#include <cmath>

#include "models/memory/memory.h"
#include "models/operators/operators.h"
#include "models/step/step.h"
#include "tests/catch.h"
#include "tests/models/setup.h"

using namespace trnplan;
using namespace trnplan::models;

namespace {

/// Dense, 8 KV heads, a window of 4096.
Job windowed(int sequence) {
  Job job = job_of("llama3-8b", 1, sequence, 32);
  job.architecture.sliding_window = 4096;
  return job;
}

Job full(int sequence) {
  Job job = windowed(sequence);
  job.architecture.sliding_window = 0;
  return job;
}

double attention_seconds(const Job& job, const std::string& strategy) {
  const Strategy s = strategy_of(job, strategy);
  const Profile profile = datasheet();
  double seconds = 0;
  for (const Operator& op : LayerModel(job, s, profile).layer_forward()) {
    if (op.name == "attention") seconds += op.seconds.value;
  }
  return seconds;
}

Flops attention_flops_of(const Job& job, const std::string& strategy) {
  const Strategy s = strategy_of(job, strategy);
  const Profile profile = datasheet();
  Flops flops{};
  for (const Operator& op : LayerModel(job, s, profile).layer_forward())
    if (op.name == "attention") flops += op.flops;
  return flops;
}

double share(int sequence, const std::string& strategy) {
  return attention_seconds(windowed(sequence), strategy) / attention_seconds(full(sequence), strategy);
}

bool near(double a, double b) {
  return std::abs(a - b) < 1e-12;
}

}  // namespace

// Pairs of tokens in a window w of s: s w - w^2 / 2, of s^2 / 2 without one.
TEST_CASE("flash attention skips what the window hides", "[models]") {
  CHECK(share(2048, "tp=8") == 1.0);
  CHECK(share(4096, "tp=8") == 1.0);
  CHECK(near(share(8192, "tp=8"), 0.75));
  CHECK(near(share(16384, "tp=8"), 0.4375));
}

// The last of two ranks of 8192 tokens: its own block and the one before, as shares of L^2: 0.375 and 0.125 where
// there were 0.5 and 1.
TEST_CASE("ring attention computes the blocks that the window reaches", "[models]") {
  CHECK(near(share(16384, "tp=8,cp=2"), 0.5 / 1.5));
  // Of four ranks of 8192 the window reaches the nearest two blocks only.
  CHECK(near(share(32768, "tp=8,cp=4"), 0.5 / 3.5));
  // A window as long as two blocks of 2048: half a block, a whole one, and the far half of a third.
  CHECK(near(share(8192, "tp=8,cp=4"), 2.0 / 3.5));
}

TEST_CASE("without flash attention scores are a band as wide as the window", "[models]") {
  CHECK(share(4096, "tp=8,flash=false") == 1.0);
  CHECK(near(share(8192, "tp=8,flash=false"), 0.5));
  const auto kept = [](const Job& job) {
    return memory_of(job, strategy_of(job, "tp=8,flash=false"), datasheet()).worst().per_layer.value;
  };
  CHECK(kept(windowed(4096)) == kept(full(4096)));
  // 3 x 2 bytes for each score: of 8192 x 8192 per head half are gone.
  CHECK(near((kept(full(8192)) - kept(windowed(8192))) / (6.0 * 32 / 8 * 8192 * 4096), 1.0));
}

// Catches: on GPUs a block without scores took no number of seconds, so that each such layout was refused as longer
// than the clock.
TEST_CASE("a block of context parallel that the window hides takes no time", "[models][gpu]") {
  Job job = windowed(32768);
  job.cluster = {test_catalog().instance("p5.48xlarge"), 1};
  const Profile profile = test_catalog().profile("h100");
  const auto seconds = [&](const std::string& text) {
    const Strategy s = strategy_of(job, text);
    double all = 0;
    for (const Operator& op : LayerModel(job, s, profile).layer_forward())
      if (op.name == "attention") all += op.seconds.value;
    return all;
  };
  // Of four ranks the last one's own 8192 tokens and half of the next window's: no more than of two ranks.
  CHECK(seconds("tp=2,cp=4,framework=megatron") > 0);
  CHECK(seconds("tp=2,cp=4,framework=megatron") < seconds("tp=2,cp=2,framework=megatron"));
}

// Catches: an HFU that counts scores which no kernel computes, 110 % of Mistral 7B at 32768. The shares are of 8192
// tokens, as below, also where they are cut into four ranks of which the window reaches three.
TEST_CASE("executed FLOPs of attention count what the window shows", "[models]") {
  for (const char* strategy : {"tp=8", "tp=8,flash=false", "tp=8,cp=4"}) {
    INFO(strategy);
    CHECK(attention_flops_of(windowed(8192), strategy) / attention_flops_of(full(8192), strategy) ==
          Approx(6144.0 / 8192));
  }
}

// Of 8192 tokens the first 4096 see 2048 on average, the others 4096: 3072, twice of which stand for the square.
// Catches: scores that no kernel computes in the MFU, which was above 100 % of long sequences.
TEST_CASE("the model's own FLOPs count the full square, or what a window sees", "[models]") {
  const Architecture a = windowed(8192).architecture;
  const double square = model_flops_per_token(full(8192).architecture, 8192), n = six_n_flops_per_token(a);
  CHECK(model_flops_per_token(a, 8192) - n == Approx((square - n) * 6144 / 8192));
  CHECK(model_flops_per_token(a, 4096) == model_flops_per_token(full(4096).architecture, 4096));
  // A framework that counts the square, or a kernel that computes the band: both are products of these layers.
  const ProductFlops products = product_flops_per_token(a, 8192);
  CHECK(products.seen == Approx(products.attention * 6144 / 8192));
  CHECK(products.least(true) == Approx(products.weights + products.seen / 2));
}

namespace {

/// windowed(), but each N-th layer sees all tokens.
Job alternating(int sequence, int pattern) {
  Job job = windowed(sequence);
  job.architecture.sliding_window_pattern = pattern;
  return job;
}

}  // namespace

// Of 32 layers 16 have a window with pattern 2, 27 with pattern 6 (layers 6, 12, 18, 24 and 30 have none), none with
// pattern 1, all with pattern 33.
TEST_CASE("a pattern says which layers have the window", "[models]") {
  const auto layers = [](int pattern) { return windowed_layers(alternating(8192, pattern).architecture); };
  CHECK(layers(0) == 32);
  CHECK(layers(1) == 0);
  CHECK(layers(2) == 16);
  CHECK(layers(6) == 27);
  CHECK(layers(33) == 32);
  CHECK(has_window(alternating(8192, 2).architecture, 8192));
  CHECK_FALSE(has_window(alternating(8192, 1).architecture, 8192));
  CHECK_FALSE(has_window(alternating(4096, 2).architecture, 4096));
  CHECK(alternates_windows(alternating(8192, 2).architecture));
  for (const int same : {0, 1, 33}) CHECK_FALSE(alternates_windows(alternating(8192, same).architecture));
}

// Each layer is timed as the mean of all: at 8192 tokens a windowed one takes 3/4 of a full one, so 16 of 32 give
// 7/8, and 27 of 32 give 1 - 27 / (4 * 32).
TEST_CASE("alternating layers take the sum of both kinds", "[models]") {
  const auto of_full = [](const Job& job, const std::string& strategy) {
    return attention_seconds(job, strategy) / attention_seconds(full(8192), strategy);
  };
  CHECK(near(of_full(alternating(8192, 2), "tp=8"), 0.875));
  CHECK(near(of_full(alternating(8192, 6), "tp=8"), 1 - 27.0 / 128));
  CHECK(near(of_full(alternating(8192, 2), "tp=8,flash=false"), 0.75));
  for (const char* strategy : {"tp=8", "tp=8,flash=false", "tp=8,cp=4"}) {
    INFO(strategy);
    const double sum = attention_seconds(windowed(8192), strategy) + attention_seconds(full(8192), strategy);
    CHECK(attention_seconds(alternating(8192, 2), strategy) == Approx(sum / 2));
    const double flops =
        attention_flops_of(windowed(8192), strategy).value + attention_flops_of(full(8192), strategy).value;
    CHECK(attention_flops_of(alternating(8192, 2), strategy).value == Approx(flops / 2));
  }
}

// The sums of a model of 16 windowed and 16 full layers: half of each model of one kind, for MFU's FLOPs and for
// bytes kept by plain attention.
TEST_CASE("sums over alternating layers are exact", "[models]") {
  const Job job = alternating(8192, 2), all = full(8192), none = windowed(8192);
  CHECK(model_flops_per_token(job.architecture, 8192) ==
        Approx(
            (model_flops_per_token(all.architecture, 8192) + model_flops_per_token(none.architecture, 8192)) /
            2));
  const auto kept = [](const Job& j) {
    return memory_of(j, strategy_of(j, "tp=8,flash=false"), datasheet()).worst().per_layer.value;
  };
  CHECK(kept(job) == Approx((kept(all) + kept(none)) / 2));
}

// Catches: a kind of layer that is counted though no layer is of it, or twice.
TEST_CASE("a pattern that all layers share changes no tick", "[models]") {
  const Profile trn1 = datasheet(), h100 = test_catalog().profile("h100");
  const auto same = [&](Job a, Job b, const std::string& text, bool gpu) {
    CAPTURE(text);
    for (Job* job : {&a, &b})
      if (gpu) job->cluster = {test_catalog().instance("p5.48xlarge"), 1};
    const Profile& profile = gpu ? h100 : trn1;
    const Strategy s = strategy_of(a, text);
    const StepReport one = simulate_step(a, s, profile), other = simulate_step(b, s, profile);
    CHECK(one.step.value == other.step.value);
    CHECK(one.mfu == other.mfu);
    CHECK(one.hfu == other.hfu);
    CHECK(memory_of(a, s, profile).worst().peak().value == memory_of(b, s, profile).worst().peak().value);
  };
  for (const char* text : {"tp=8,pp=4", "tp=8,flash=false,recompute=CoreAttention", "tp=8,cp=4"}) {
    same(alternating(8192, 33), windowed(8192), text, false);
    same(alternating(8192, 1), full(8192), text, false);
  }
  for (const char* text : {"tp=2,pp=2,framework=megatron", "tp=8,framework=fsdp,shard=fsdp"}) {
    same(alternating(8192, 33), windowed(8192), text, true);
    same(alternating(8192, 1), full(8192), text, true);
  }
}
