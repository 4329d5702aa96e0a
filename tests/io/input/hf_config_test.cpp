#include "io/input/readers.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/io/same_model.h"

using namespace trnplan;
using models::Architecture;

namespace {

io::ArchitectureReading config_of(const std::string& json) {
  return io::hf_config_from(parse_document(json, "config.json"), "m");
}

/// Llama-3 8B (meta-llama/Meta-Llama-3-8B, config.json), with `more` keys in front.
std::string llama3(const std::string& more = "") {
  return "{" + more + R"("architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096,
    "intermediate_size": 14336, "max_position_embeddings": 8192, "num_attention_heads": 32, "num_hidden_layers": 32,
    "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_scaling": null, "rope_theta": 500000.0,
    "tie_word_embeddings": false, "transformers_version": "4.40.0", "vocab_size": 128256, "z": 0})";
}

std::string without(std::string json, const std::string& key) {
  const std::size_t start = json.find('"' + key + '"');
  const std::size_t end = json.find_first_of(",}", start);
  return json.erase(start, end + 1 - start);
}

std::vector<Diagnostic> config_faults(const std::string& json) {
  return faults_in([&] { config_of(json); });
}

}  // namespace

TEST_CASE("Llama-3 8B's config.json", "[io][hf_config]") {
  const auto reading = config_of(llama3());
  const Architecture& a = reading.architecture;
  CHECK(a.layers == 32);
  CHECK(a.hidden == 4096);
  CHECK(a.kv_heads == 8);
  CHECK(a.head_dim == 128);
  CHECK(a.rope_theta == 500000.0);
  CHECK(a.mlp == models::Mlp::gated);
  CHECK(reading.notes.empty());
  CHECK(models::parameters(a) == 8'030'261'248);
}

TEST_CASE("what a config may leave out", "[io][hf_config]") {
  CHECK(config_of(without(llama3(), "num_key_value_heads")).architecture.kv_heads == 32);
  CHECK(config_of(without(llama3(), "model_type")).notes.empty());  // `architectures` says it too
  CHECK(config_of(llama3("\"head_dim\": 64, ")).architecture.head_dim == 64);
  for (const char* key :
       {"num_attention_heads", "hidden_size", "intermediate_size", "num_hidden_layers", "vocab_size"}) {
    CAPTURE(key);
    const auto faults = config_faults(without(llama3(), key));
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].key == key);
  }
}

TEST_CASE("what is read but not modelled is noted", "[io][hf_config]") {
  const std::string scaled = llama3("\"sliding_window\": 4096, ");
  CHECK(config_of(scaled).notes.size() == 1);
  std::string rope = llama3();
  rope.replace(rope.find("\"rope_scaling\": null"), 20, "\"rope_scaling\": {\"type\": \"llama3\"}");
  REQUIRE(config_of(rope).notes.size() == 1);
  CHECK(config_of(rope).notes[0].find("rope_scaling") != std::string::npos);
  // Catches another activation that becomes SwiGLU in a config without a word.
  const std::string gelu = llama3("\"hidden_act\": \"gelu\", ");
  REQUIRE(config_of(gelu).notes.size() == 1);
  CHECK(config_of(gelu).notes[0].find("hidden_act gelu") != std::string::npos);
}

TEST_CASE("every fault of a config at once", "[io][hf_config]") {
  const auto faults = config_faults(
      R"({"model_type": "llama", "hidden_size": 4096.5, "intermediate_size": -1, "num_attention_heads": "32",
          "num_hidden_layers": 99999999999999999999, "vocab_size": 1e5})");
  CHECK(faults.size() == 5);
}

TEST_CASE("other model types", "[io][hf_config]") {
  const Architecture mixtral =
      config_of(R"({"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336,
      "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "max_position_embeddings": 32768,
      "vocab_size": 32000, "num_local_experts": 8, "num_experts_per_tok": 2})")
          .architecture;
  CHECK(mixtral.norm == models::Norm::rms);
  CHECK(mixtral.experts == 8);
  CHECK(mixtral.experts_per_token == 2);
  const Architecture gpt2 =
      config_of(R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_inner": null,
      "n_positions": 1024, "vocab_size": 50257})")
          .architecture;
  CHECK(gpt2.intermediate == 3072);
  CHECK(gpt2.learned_positions);
  CHECK(gpt2.tied_embeddings);
  CHECK(gpt2.mlp == models::Mlp::plain);
  const Architecture bert = config_of(R"({"model_type": "bert", "hidden_size": 1024, "num_hidden_layers": 24,
      "num_attention_heads": 16, "intermediate_size": 4096, "max_position_embeddings": 512, "vocab_size": 30522})")
                                .architecture;
  CHECK_FALSE(bert.causal);
  CHECK(bert.token_types == 2);
  CHECK(bert.norm == models::Norm::layer);
  CHECK(bert.kv_heads == 16);
  const auto faults = config_faults(R"({"model_type": "t5"})");
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].fix.find("mixtral") != std::string::npos);
}

TEST_CASE("Mistral has a window, of 4096 tokens where its config does not say", "[io][hf_config]") {
  const auto mistral = [](const std::string& more) {
    return config_of(R"({"model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336,
      "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
      "max_position_embeddings": 32768, "vocab_size": 32000, "rms_norm_eps": 1e-05)" +
                     more + "}");
  };
  CHECK(mistral("").architecture.sliding_window == 4096);
  CHECK(mistral("").notes.empty());
  CHECK(mistral(R"(, "sliding_window": 1024)").architecture.sliding_window == 1024);
  CHECK(mistral(R"(, "sliding_window": null)").architecture.sliding_window == 0);
  CHECK(mistral(R"(, "use_sliding_window": false)").architecture.sliding_window == 0);
  CHECK(same_model(mistral("").architecture,
                   io::Catalog(TRNPLAN_SOURCE_DIR "/catalog").architecture("mistral-7b")));
}

namespace {

/// A model of 2 layers with h = 8, f = 12, 4 heads and 2 KV heads, and a vocabulary of 10 words.
Architecture tiny(const std::string& type, const std::string& more = "") {
  return config_of("{" + more + "\"model_type\": \"" + type + R"(", "hidden_size": 8, "intermediate_size": 12,
      "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2, "vocab_size": 10,
      "max_position_embeddings": 64, "rms_norm_eps": 1e-06})")
      .architecture;
}

const std::string kHead4 = "\"head_dim\": 4, ";
const std::string kExperts4 = kHead4 + R"("num_experts": 4, "num_experts_per_tok": 2,
    "moe_intermediate_size": 6, )";
const std::string kLatent = R"({"model_type": "deepseek_v3", "hidden_size": 8, "intermediate_size": 12,
    "num_attention_heads": 2, "num_hidden_layers": 3, "vocab_size": 10, "max_position_embeddings": 64,
    "first_k_dense_replace": 1, "moe_intermediate_size": 6, "n_routed_experts": 4, "n_shared_experts": 2,
    "num_experts_per_tok": 2, "q_lora_rank": 4, "kv_lora_rank": 3, "qk_nope_head_dim": 2,
    "qk_rope_head_dim": 1, "v_head_dim": 2, "num_nextn_predict_layers": 1})";

}  // namespace

// Weights of a layer with heads of 2: q and o 8 x 8, k and v 8 x 4, in all 192; with heads of 4: 16 x 8 and
// 8 x 8, 384. The MLP: 3 x 8 x 12 = 288. Two norms: 16. Outside: the final norm 8, embedding and head 80 each.
TEST_CASE("parameters of families whose steps are timed", "[io][hf_config]") {
  using models::parameters;
  CHECK(parameters(tiny("llama")) == 2 * (192 + 288 + 16) + 8 + 160);
  // Biases 8 + 4 + 4 + 8 of attention, 12 + 12 + 8 of the MLP.
  CHECK(parameters(tiny("llama", R"("attention_bias": true, "mlp_bias": true, )")) ==
        2 * (192 + 24 + 288 + 32 + 16) + 8 + 160);
  CHECK(parameters(tiny("mistral")) == parameters(tiny("llama")));
  // Qwen2: biases 8 + 4 + 4; tied.
  CHECK(parameters(tiny("qwen2", "\"tie_word_embeddings\": true, ")) == 2 * (192 + 16 + 288 + 16) + 8 + 80);
  // Qwen3: a norm of 4 for queries and one for keys.
  CHECK(parameters(tiny("qwen3", kHead4)) == 2 * (384 + 8 + 288 + 16) + 8 + 160);
  // Qwen3-MoE: 4 experts of 3 x 8 x 6 = 144, and a router of 4 x 8.
  const Architecture mixture = tiny("qwen3_moe", kExperts4);
  CHECK(parameters(mixture) == 2 * (384 + 8 + 4 * 144 + 32 + 16) + 8 + 160);
  CHECK(models::active_parameters(mixture) == 2 * (384 + 8 + 2 * 144 + 32 + 16) + 8 + 160);
  CHECK_FALSE(mixture.capacity_factor.has_value());  // the training loop's own
  CHECK(tiny("qwen3_moe", std::string(kExperts4) + "\"capacity_factor\": 1.5, ").capacity_factor == 1.5);
  CHECK(mixture.intermediate == 6);
  for (const Architecture& a : {mixture, tiny("qwen2"), tiny("qwen3", kHead4), tiny("llama")}) {
    CHECK(a.blocks.untimed.empty());
    CHECK(same_model(config_of(io::hf_config_json(a)).architecture, a));
  }
  const Architecture biased = tiny("llama", R"("attention_bias": true, "mlp_bias": true, )");
  CHECK(same_model(config_of(io::hf_config_json(biased)).architecture, biased));
}

TEST_CASE("parameters of families that are counted alone", "[io][hf_config]") {
  using models::parameters;
  CHECK(parameters(tiny("phi3")) == 2 * (192 + 288 + 16) + 8 + 160);
  // Gemma: four norms a layer, tied; Gemma 3: norms of queries and keys too.
  CHECK(parameters(tiny("gemma2", kHead4)) == 2 * (384 + 288 + 32) + 8 + 80);
  CHECK(parameters(tiny("gemma3_text", kHead4)) == 2 * (384 + 8 + 288 + 32) + 8 + 80);
  const Architecture seeing =
      config_of(R"({"model_type": "gemma3", "text_config": {"hidden_size": 8, "head_dim": 4,
      "intermediate_size": 12, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2,
      "vocab_size": 10}})")
          .architecture;
  CHECK(parameters(seeing) == parameters(tiny("gemma3_text", kHead4)));
  // gpt-oss: biases 16 + 8 + 8 + 8, 4 sinks; an expert has 3 x 8 x 12 = 288 weights and biases 12 + 12 + 8,
  // the router 4 x 8 and 4.
  const Architecture sinks = tiny(
      "gpt_oss", kHead4 + R"("attention_bias": true, "num_local_experts": 4, "num_experts_per_tok": 2, )");
  CHECK(parameters(sinks) == 2 * (384 + 40 + 4 + 4 * 320 + 36 + 16) + 8 + 160);
  CHECK(models::active_parameters(sinks) == 2 * (384 + 40 + 4 + 2 * 320 + 36 + 16) + 8 + 160);
  // DeepSeek-V3. Queries 8 x 4, a norm of 4, 4 x 2 heads of 2 + 1: 60. Keys and values 8 x (3 + 1), a norm of
  // 3, 3 x 2 heads of 2 + 2: 59. Output 4 x 8: 32. One dense layer; in two 4 experts of 144, the router of 32,
  // and two shared experts: 288.
  const auto reading = config_of(kLatent);
  const Architecture& latent = reading.architecture;
  CHECK(parameters(latent) == 3 * (60 + 59 + 32 + 16) + 288 + 2 * (4 * 144 + 32 + 288) + 8 + 160);
  CHECK(models::active_parameters(latent) ==
        3 * (60 + 59 + 32 + 16) + 288 + 2 * (2 * 144 + 32 + 288) + 8 + 160);
  REQUIRE(reading.notes.size() == 1);
  CHECK(reading.notes[0].find("num_nextn_predict_layers") != std::string::npos);
  // Without a rank the queries are 8 x 2 heads of 3.
  std::string direct = kLatent;
  direct.replace(direct.find("\"q_lora_rank\": 4"), 16, "\"q_lora_rank\": null");
  CHECK(parameters(config_of(direct).architecture) == parameters(latent) - 3 * (60 - 48));
  CHECK(sinks.blocks.untimed.empty());
  CHECK(same_model(config_of(io::hf_config_json(sinks)).architecture, sinks));
  for (const Architecture& a : {tiny("phi3"), tiny("gemma2", kHead4), seeing, latent}) {
    CAPTURE(a.blocks.untimed);
    CHECK_FALSE(a.blocks.untimed.empty());
    CHECK_THROWS_AS(io::hf_config_json(a), std::invalid_argument);
  }
}

TEST_CASE("a variant that no step is modelled of is counted", "[io][hf_config]") {
  // One layer of two dense, by either key: 288 instead of 4 x 144 + 32.
  for (const char* dense : {"\"mlp_only_layers\": [0], ", "\"decoder_sparse_step\": 2, "}) {
    const Architecture a = tiny("qwen3_moe", dense + kExperts4);
    CHECK(models::parameters(a) == 2 * (384 + 8 + 16) + 288 + 4 * 144 + 32 + 8 + 160);
    CHECK(a.blocks.untimed.find("layers without") != std::string::npos);
  }
  const std::string window = R"("use_sliding_window": true, "sliding_window": 32, )";
  CHECK(tiny("qwen2", window + "\"max_window_layers\": 2, ").blocks.untimed.empty());
  CHECK_FALSE(tiny("qwen2", window + "\"max_window_layers\": 1, ").blocks.untimed.empty());
  CHECK(tiny("qwen2", "\"sliding_window\": 32, \"max_window_layers\": 1, ").blocks.untimed.empty());
}

// huggingface/transformers, configuration_*.py of each model type: without layer_types the layers with a window are
// those that sliding_window_pattern (Gemma 3), every other (Gemma 2, GPT-OSS) or max_window_layers (Qwen) imply.
TEST_CASE("windows of some layers", "[io][hf_config]") {
  const std::string oss = kHead4 + R"("num_local_experts": 4, "num_experts_per_tok": 2, )";
  const auto pattern = [](const Architecture& a) {
    return std::pair(a.sliding_window, a.sliding_window_pattern);
  };
  CHECK(pattern(tiny("gpt_oss", oss)) == std::pair(128, 2));
  CHECK(pattern(tiny("gpt_oss", oss + "\"sliding_window\": null, ")) == std::pair(0, 0));
  CHECK(pattern(tiny("gemma2", kHead4)) == std::pair(4096, 2));
  CHECK(models::windowed_layers(tiny("gemma3_text", kHead4)) == 2);  // of two layers
  CHECK(pattern(tiny("gemma3_text", kHead4 + "\"sliding_window_pattern\": 2, ")) == std::pair(4096, 2));
  const auto types = [&](const std::string& list) {
    return tiny("gpt_oss", oss + "\"layer_types\": [" + list + "], ");
  };
  const std::string sliding = "\"sliding_attention\"", full = "\"full_attention\"";
  CHECK(pattern(types(sliding + ", " + full)) == std::pair(128, 2));
  CHECK(pattern(types(sliding + ", " + sliding)) == std::pair(128, 0));
  CHECK(pattern(types(full + ", " + full)) == std::pair(0, 0));
  CHECK(types(full + ", " + sliding).blocks.untimed.find("all but each N-th") != std::string::npos);
  CHECK(types(full + ", " + full).blocks.untimed.empty());
  const std::string asked = R"("use_sliding_window": true, "sliding_window": 32, )";
  CHECK(pattern(tiny("qwen2", asked + "\"max_window_layers\": 0, ")) == std::pair(32, 0));
  CHECK(pattern(tiny("qwen2", asked)) == std::pair(0, 0));  // from layer 28 on
  CHECK(pattern(tiny("qwen2", asked + "\"layer_types\": [" + sliding + ", " + full + "], ")) ==
        std::pair(32, 2));
  CHECK(pattern(tiny("qwen3_moe", asked + kExperts4)) == std::pair(32, 0));
  CHECK(pattern(tiny("qwen2", "\"layer_types\": [" + sliding + ", " + sliding + "], ")) == std::pair(0, 0));
  for (const Architecture& a :
       {types(sliding + ", " + full), types(sliding + ", " + sliding), types(full + ", " + full),
        tiny("qwen2", asked + "\"max_window_layers\": 0, "),
        tiny("qwen2", asked + "\"layer_types\": [" + sliding + ", " + full + "], "),
        tiny("qwen3_moe", asked + kExperts4)}) {
    CAPTURE(io::hf_config_json(a));
    CHECK(same_model(config_of(io::hf_config_json(a)).architecture, a));
  }
}

TEST_CASE("faults of the keys of experts and latent attention", "[io][hf_config]") {
  struct Case {
    std::string was, now, key;
  };
  for (const Case& c :
       {Case{"\"q_lora_rank\": 4", "\"q_lora_rank\": -4", "q_lora_rank"},
        {"\"kv_lora_rank\": 3,", "", "kv_lora_rank"},
        {"\"qk_rope_head_dim\": 1", "\"qk_rope_head_dim\": 2097152", "qk_rope_head_dim"},
        {"\"first_k_dense_replace\": 1", "\"first_k_dense_replace\": 4", "first_k_dense_replace"},
        {"\"first_k_dense_replace\": 1", "\"moe_layer_freq\": 2", "moe_layer_freq"},
        {"\"first_k_dense_replace\": 1", "\"mlp_only_layers\": [3]", "mlp_only_layers"},
        {"\"first_k_dense_replace\": 1", "\"mlp_only_layers\": 1", "mlp_only_layers"},
        {"\"first_k_dense_replace\": 1", "\"attention_bias\": true", "attention_bias"},
        {"\"moe_intermediate_size\": 6", "\"moe_intermediate_size\": 2000000", "n_shared_experts"},
        {"\"num_experts_per_tok\": 2", "\"num_experts_per_tok\": 5", "num_experts_per_tok"}}) {
    std::string json = kLatent;
    json.replace(json.find(c.was), c.was.size(), c.now);
    CAPTURE(json);
    const auto faults = config_faults(json);
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].key == c.key);
    CHECK(faults[0].at.line > 0);
  }
  const auto missing = config_faults(R"({"model_type": "gemma3"})");
  REQUIRE(missing.size() == 1);
  CHECK(missing[0].key == "text_config");
  const auto unknown = config_faults(R"({"model_type": "mamba"})");
  REQUIRE(unknown.size() == 1);
  for (const char* part : {"llama", "qwen3_moe", "deepseek_v3", "by hand"})
    CHECK(unknown[0].fix.find(part) != std::string::npos);
}

TEST_CASE("a written config reads back the same", "[io][hf_config]") {
  const io::Catalog catalog(TRNPLAN_SOURCE_DIR "/catalog");
  for (const std::string& name : catalog.models()) {
    CAPTURE(name);
    const Architecture a = catalog.architecture(name);
    const std::string json = io::hf_config_json(a);
    CAPTURE(json);
    CHECK(json.back() == '\n');
    CHECK(same_model(config_of(json).architecture, a));
  }
  const Architecture llama = config_of(llama3()).architecture;
  const std::string json = io::hf_config_json(llama);
  for (const char* part : {"\"LlamaForCausalLM\"", "\"pretraining_tp\": 1", "\"hidden_act\": \"silu\"",
                           "\"rope_theta\": 500000.0", "\"torch_dtype\": \"bfloat16\"", "\"use_cache\": true",
                           "\"attention_bias\": false"}) {
    CHECK(json.find(part) != std::string::npos);
  }
  Architecture wide = llama;
  wide.head_dim = 64;
  CHECK(same_model(config_of(io::hf_config_json(wide)).architecture, wide));
}

TEST_CASE("rope scaling reaches the written config", "[io]") {
  const trnplan::io::Catalog catalog(TRNPLAN_SOURCE_DIR "/catalog");
  const std::string text = trnplan::io::hf_config_json(catalog.architecture("llama3.1-8b"));
  CHECK(text.find("\"rope_type\": \"llama3\"") != std::string::npos);
  CHECK(text.find("\"factor\": 8.0") != std::string::npos);
  CHECK(trnplan::io::hf_config_json(catalog.architecture("llama3-8b")).find("\"rope_scaling\": null") !=
        std::string::npos);
}
