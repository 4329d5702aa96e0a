// Models that TorchTitan knows by name.
#include "targets/torchtitan/titan_models.h"
#include "models/framework/framework.h"
#include "targets/registry.h"
#include "tests/catch.h"
#include "tests/faults.h"

using namespace trnplan;

namespace {

std::string config_of(const std::string& model, const std::string& more = "") {
  return "[model]\n" + model + "\n[training]\nlocal_batch_size = 1\nseq_len = 4096\n" + more;
}

planner::RunReading read_model(const std::string& model, const std::string& more = "") {
  return *targets::find("torchtitan")->read_run({"run.toml", config_of(model, more)}, 8);
}

std::string name_refused(const std::string& name, const std::string& text) {
  return refusal_of([&] { (void)targets::find("torchtitan")->read_run({name, text}, 8); });
}

}  // namespace

// Catches a wrong digit in the table. Llama and Qwen3 8B: as their publishers count them. Qwen3 0.6B: a layer
// is 2 x 1024 x 2048 of q and o, 2 x 1024 x 1024 of k and v, 3 x 1024 x 3072, norms 2 x 1024 + 2 x 128:
// 15,730,944; 28 of them, the embedding 151936 x 1024 once, the last norm 1024. The debug model: 4 x 256^2, 3
// x 256 x 768, 2 x 256 per layer; 6 of them, 2 x 2048 x 256, 256. A layer of the mixture has 64 x 3 x 256 x
// 768 and 64 x 256 of the router, and 2 x 256 x 2048 + 2 x 256 x 1024 and 2 x 256 + 2 x 128; 8 of them.
TEST_CASE("sizes of TorchTitan have the parameters that they are named for", "[targets]") {
  struct Row {
    const char *family, *flavor;
    std::int64_t parameters;
  };
  for (const Row& row : {Row{"llama3", "8B", 8'030'261'248},
                         {"llama3", "70B", 70'553'706'496},
                         {"llama3", "405B", 405'853'388'800},
                         {"llama3_ft", "8B", 8'030'261'248},
                         {"llama3", "debugmodel", 6 * (4 * 65'536 + 3 * 196'608 + 512) + 1'048'576 + 256},
                         {"qwen3", "0.6B", 596'049'920},
                         {"qwen3", "8B", 8'190'735'360},
                         {"qwen3", "debugmodel_moe",
                          8 * (64 * 589'824LL + 16'384 + 1'048'576 + 524'288 + 768) + 1'048'576 + 256}}) {
    INFO(row.family << " " << row.flavor);
    const targets::TitanFlavor* flavor = targets::titan_flavor_named(row.family, row.flavor);
    REQUIRE(flavor != nullptr);
    CHECK(models::parameters(flavor->model) == row.parameters);
  }
  for (const char* family : {"llama3", "qwen3"}) {
    for (const std::string& name : targets::titan_flavor_names(family)) {
      INFO(family << " " << name);
      const models::Architecture& a = targets::titan_flavor_named(family, name)->model;
      CHECK(a.heads % a.kv_heads == 0);
      CHECK(a.qk_norm == (std::string(family) == "qwen3"));
    }
  }
}

// A message on a file of qwen3 said that "8B" is no size of llama3.
TEST_CASE("messages on a file name the model that it trains", "[targets]") {
  CHECK(read_model("name = \"qwen3\"\nflavor = \"8B\"").architecture.layers == 36);
  CHECK(read_model("name = \"qwen3\"\nflavor = \"1.7B\"").architecture.tied_embeddings);
  CHECK(read_model("flavor = \"8B\"").architecture.layers == 32);  // llama3 where nobody says
  const planner::RunReading moe = read_model("name = \"qwen3\"\nflavor = \"30B-A3B\"");
  CHECK(moe.architecture.experts == 128);
  // As its training loop has it.
  CHECK(models::capacity_factor(moe.architecture, moe.config.strategy) == 0);
  CHECK(read_model("name = \"llama3\"\nflavor = \"8B_flex\"").config.not_modelled ==
        std::vector<std::string>{"attention within documents"});
  // A part that is not modelled is named, and none of its keys is called unknown.
  const planner::RunReading flux =
      read_model("name = \"flux\"\nflavor = \"flux-dev\"", "img_size = 256\n[encoder]\nt5_encoder = \"x\"\n");
  CHECK(flux.unmodelled == "a TorchTitan config of flux, an image model");
  CHECK(contains(read_model("name = \"deepseek_v3\"\nflavor = \"16B\"").unmodelled, "latent attention"));
  CHECK(read_model("name = \"llama3\"\nflavor = \"8B\"").unmodelled.empty());
  CHECK(contains(name_refused("run.toml", config_of("name = \"qwen3\"\nflavor = \"9B\"")),
                 "run.toml:3:10: model.flavor: \"9B\" is not a size of qwen3 in v0.2.2"));
  CHECK(contains(name_refused("run.toml", config_of("name = \"qwen2\"\nflavor = \"8B\"")),
                 "model.name: \"qwen2\" is not a model of TorchTitan v0.2.2"));
}

// A module of a person's own may add any key; of TorchTitan's own for fault tolerance the keys are known.
TEST_CASE("keys that a custom config module adds are not unknown", "[targets]") {
  const std::string model = "name = \"llama3\"\nflavor = \"8B\"";
  const std::string fault = "[fault_tolerance]\nenable = true\nsemi_sync_method = \"diloco\"\n";
  CHECK(contains(name_refused("run.toml", config_of(model, fault + "sync_steps = 10\n")),
                 "does not have this key"));
  const std::string known = "[job]\ncustom_config_module = \"torchtitan.components.ft.config\"\n";
  CHECK(read_model(model, fault + "sync_steps = 10\n" + known).config.not_modelled.empty());
  CHECK(contains(name_refused("run.toml", config_of(model, fault + "sync_step = 10\n" + known)),
                 "sync_step: "));
  CHECK(
      read_model(model, "[job]\ncustom_config_module = \"my.own\"\n[mine]\nkey = 1\n").architecture.layers ==
      32);
}

// Python is not run: a config registry of the later revision is called what it is.
TEST_CASE("a config registry in Python is not read as a config", "[targets]") {
  const std::string text =
      "def llama3_tiny() -> Trainer.Config:\n    spec = model_registry(\"tiny\")\n    return "
      "Trainer.Config(model_spec=spec)\n\ndef llama3_small() -> Trainer.Config:\n    return llama3_tiny()\n";
  const std::string said = name_refused("config_registry.py", text);
  CHECK(contains(
      said, "Python code of TorchTitan's config registry (llama3_tiny and 1 more), which is not run here"));
  CHECK(contains(said, "trnplan_config.py"));
  CHECK(contains(name_refused("other.py", "print(1)\n"), "this is not a config of TorchTitan"));
}
