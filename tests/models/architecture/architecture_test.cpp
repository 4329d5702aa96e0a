#include "models/architecture/architecture.h"

#include <cmath>

#include "models/framework/framework.h"
#include "models/memory/memory.h"
#include "tests/catch.h"
#include "tests/models/setup.h"

using namespace trnplan;
using namespace trnplan::models;

// Derivation for Llama-3 8B, h = 4096, f = 14336, 32 heads and 8 KV heads of 128, 32 layers, vocabulary
// 128256:
//   layer = h*4096 (q) + 2*h*1024 (k, v) + 4096*h (o) + 3*h*f (gate, up, down) + 2h (norms) = 218,112,000
//   total = 32 * 218,112,000 + 2 * 128256*h (embedding, head) + h (final norm) = 8,030,261,248
TEST_CASE("parameters of the published models", "[models]") {
  struct Case {
    const char* name;
    std::int64_t parameters;
  };
  const auto c = GENERATE(values<Case>({{"llama2-7b", 6'738'415'616},
                                        {"llama2-13b", 13'015'864'320},
                                        {"llama2-70b", 68'976'648'192},
                                        {"llama3-8b", 8'030'261'248},
                                        {"llama3-70b", 70'553'706'496},
                                        {"llama3.1-405b", 405'853'388'800},
                                        {"mixtral-8x7b", 46'702'792'704},
                                        {"mistral-7b", 7'241'732'096},
                                        {"gpt-oss-20b", 20'914'757'184},
                                        {"gpt-oss-120b", 116'829'156'672},
                                        {"gpt-neox-20b", 20'554'567'680},
                                        {"gpt3-175b", 174'641'012'736},
                                        {"bert-large", 334'092'288}}));
  CAPTURE(c.name);
  INFO(
      (c.parameters == 0
           ? "write next: the sizes in catalog/models/" + std::string(c.name) +
                 ".json with their source, and the number that is published, derived by hand, in its row here"
           : ""));
  CHECK(parameters(test_catalog().architecture(c.name)) == c.parameters);
}

// Of 8 experts a token meets 2: 32 layers less 6 x 3 x 4096 x 14336; the router stays whole.
TEST_CASE("parameters that a token meets", "[models]") {
  const Architecture mixtral = test_catalog().architecture("mixtral-8x7b");
  CHECK(active_parameters(mixtral) == 46'702'792'704 - 32LL * 6 * 3 * 4096 * 14336);
  CHECK(active_parameters(mixtral) == 12'879'925'248);
  const Architecture dense = test_catalog().architecture("llama3-8b");
  CHECK(active_parameters(dense) == parameters(dense));
}

// GPT-OSS 120B, 36 layers of 2880. Attention: queries and output 2 x 2880 x 4096, keys and values 2 x 2880 x 512,
// biases 4096 + 2 x 512 + 2880, 64 sinks: 26,550,144. An expert: 3 x 2880^2 and biases 2 x 2880 + 2880: 24,891,840;
// 128 of them. The router: 128 x 2881. Norms: 2 x 2880. Embedding and head: 2 x 201,088 x 2880, a norm of 2880.
// Published: 117 B and 5.1 B active.
TEST_CASE("parameters of GPT-OSS", "[models]") {
  const Architecture a = test_catalog().architecture("gpt-oss-120b");
  const std::int64_t attention = 26'550'144, expert = 24'891'840, rest = 128 * 2881 + 2 * 2880;
  const std::int64_t ends = 2LL * 201'088 * 2880 + 2880;
  CHECK(parameters(a) == 36 * (attention + 128 * expert + rest) + ends);
  CHECK(active_parameters(a) == 36 * (attention + 4 * expert + rest) + ends);
  CHECK(active_parameters(a) - 201'088LL * 2880 == Approx(5.13e9).epsilon(0.001));  // it counts no look-up
  Strategy whole;
  whole.framework = stated_framework("megatron");
  CHECK(stage_parameters(a, whole, 0, a.layers) == static_cast<double>(parameters(a)));
  // A token of 4096 sees 2048 on average, twice that in the square; with the window 128 - 128^2 / 8192 = 126.
  const double heads = 12.0 * 64 * 64;
  CHECK(model_flops_per_token(a, 4096) - six_n_flops_per_token(a) ==
        Approx(heads * (18 * 4096 + 18 * 2 * 126)));
}

TEST_CASE("training FLOPs per token", "[models]") {
  const Architecture a = test_catalog().architecture("llama3-8b");
  CHECK(six_n_flops_per_token(a) == 6.0 * 8'030'261'248);
  // 12 * 32 layers * 4096 * 8192 tokens = 12.88 GFLOP of attention on top of 48.18.
  CHECK(model_flops_per_token(a, 8192) == 6.0 * 8'030'261'248 + 12.0 * 32 * 4096 * 8192);
  // The tutorial of 2026-01-17: 634 TFLOPS by 6ND at about 626-635 s a step of 1024 sequences of 8192 tokens.
  const double tokens_per_second = 1024.0 * 8192 / 630;
  CHECK(std::abs(tokens_per_second * six_n_flops_per_token(a) / 1e12 - 634) < 10);
}
