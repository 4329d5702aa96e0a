#include "io/input/readers.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/io/same_model.h"

using namespace trnplan;
using models::Architecture;

namespace {

io::ArchitectureReading read(const std::string& json) {
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

std::vector<Diagnostic> faults_of(const std::string& json) {
  return faults_in([&] { read(json); });
}

}  // namespace

TEST_CASE("Llama-3 8B's config.json", "[io][hf_config]") {
  const auto reading = read(llama3());
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
  CHECK(read(without(llama3(), "num_key_value_heads")).architecture.kv_heads == 32);
  CHECK(read(without(llama3(), "model_type")).notes.empty());  // `architectures` says it too
  CHECK(read(llama3("\"head_dim\": 64, ")).architecture.head_dim == 64);
  for (const char* key :
       {"num_attention_heads", "hidden_size", "intermediate_size", "num_hidden_layers", "vocab_size"}) {
    CAPTURE(key);
    const auto faults = faults_of(without(llama3(), key));
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].key == key);
  }
}

TEST_CASE("what is read but not modelled is noted", "[io][hf_config]") {
  const std::string scaled = llama3("\"sliding_window\": 4096, ");
  CHECK(read(scaled).notes.size() == 1);
  std::string rope = llama3();
  rope.replace(rope.find("\"rope_scaling\": null"), 20, "\"rope_scaling\": {\"type\": \"llama3\"}");
  REQUIRE(read(rope).notes.size() == 1);
  CHECK(read(rope).notes[0].find("rope_scaling") != std::string::npos);
}

TEST_CASE("every fault of a config at once", "[io][hf_config]") {
  const auto faults = faults_of(
      R"({"model_type": "llama", "hidden_size": 4096.5, "intermediate_size": -1, "num_attention_heads": "32",
          "num_hidden_layers": 99999999999999999999, "vocab_size": 1e5})");
  CHECK(faults.size() == 5);
}

TEST_CASE("other model types", "[io][hf_config]") {
  const Architecture mixtral =
      read(R"({"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336,
      "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "max_position_embeddings": 32768,
      "vocab_size": 32000, "num_local_experts": 8, "num_experts_per_tok": 2})")
          .architecture;
  CHECK(mixtral.norm == models::Norm::rms);
  CHECK(mixtral.experts == 8);
  CHECK(mixtral.experts_per_token == 2);
  const Architecture gpt2 =
      read(R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_inner": null,
      "n_positions": 1024, "vocab_size": 50257})")
          .architecture;
  CHECK(gpt2.intermediate == 3072);
  CHECK(gpt2.learned_positions);
  CHECK(gpt2.tied_embeddings);
  CHECK(gpt2.mlp == models::Mlp::plain);
  const Architecture bert = read(R"({"model_type": "bert", "hidden_size": 1024, "num_hidden_layers": 24,
      "num_attention_heads": 16, "intermediate_size": 4096, "max_position_embeddings": 512, "vocab_size": 30522})")
                                .architecture;
  CHECK_FALSE(bert.causal);
  CHECK(bert.token_types == 2);
  CHECK(bert.norm == models::Norm::layer);
  CHECK(bert.kv_heads == 16);
  const auto faults = faults_of(R"({"model_type": "t5"})");
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].fix.find("mixtral") != std::string::npos);
}

TEST_CASE("Mistral has a window, of 4096 tokens where its config does not say", "[io][hf_config]") {
  const auto mistral = [](const std::string& more) {
    return read(R"({"model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336,
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

TEST_CASE("a written config reads back the same", "[io][hf_config]") {
  const io::Catalog catalog(TRNPLAN_SOURCE_DIR "/catalog");
  for (const std::string& name : catalog.models()) {
    CAPTURE(name);
    const Architecture a = catalog.architecture(name);
    const std::string json = io::hf_config_json(a);
    CAPTURE(json);
    CHECK(json.back() == '\n');
    CHECK(same_model(read(json).architecture, a));
  }
  const Architecture llama = read(llama3()).architecture;
  const std::string json = io::hf_config_json(llama);
  for (const char* part : {"\"LlamaForCausalLM\"", "\"pretraining_tp\": 1", "\"hidden_act\": \"silu\"",
                           "\"rope_theta\": 500000.0", "\"torch_dtype\": \"bfloat16\"", "\"use_cache\": true",
                           "\"attention_bias\": false"}) {
    CHECK(json.find(part) != std::string::npos);
  }
  Architecture wide = llama;
  wide.head_dim = 64;
  CHECK(same_model(read(io::hf_config_json(wide)).architecture, wide));
}

TEST_CASE("rope scaling reaches the written config", "[io]") {
  const trnplan::io::Catalog catalog(TRNPLAN_SOURCE_DIR "/catalog");
  const std::string text = trnplan::io::hf_config_json(catalog.architecture("llama3.1-8b"));
  CHECK(text.find("\"rope_type\": \"llama3\"") != std::string::npos);
  CHECK(text.find("\"factor\": 8.0") != std::string::npos);
  CHECK(trnplan::io::hf_config_json(catalog.architecture("llama3-8b")).find("\"rope_scaling\": null") !=
        std::string::npos);
}
