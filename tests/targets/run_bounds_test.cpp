// Numbers of scripts and configs beyond what any run has, and files too long to be looked at twice.
#include <filesystem>

#include "targets/registry.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "text/document.h"

using namespace trnplan;

namespace {

std::string refusal(const char* target, const std::string& name, const std::string& text) {
  return refusal_of([&] { (void)targets::find(target)->read_run({name, text}, 16); });
}

std::string script(const std::string& more) {
  return "pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32\n--seq-length 2048 "
         "--max-position-embeddings 2048 --micro-batch-size 1 --bf16\n" +
         more;
}

std::string toml(const std::string& parallelism) {
  return "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[parallelism]\n" + parallelism +
         "\n[training]\nseq_len = 8192\n";
}

}  // namespace

// Each of these once crashed, wrapped, or ran without end.
TEST_CASE("files whose numbers are beyond the bounds are refused", "[targets][regress]") {
  const std::pair<const char*, const char*> kinds[] = {
      {"megatron", "megatron"}, {"titan-toml", "torchtitan"}, {"titan-module", "torchtitan"}};
  for (const auto& [folder, target] : kinds) {
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path("tests/regress") / folder)) {
      INFO(entry.path().string());
      const std::string name = entry.path().string();
      const std::string said = refusal(target, name, read_text(entry.path()));
      CHECK(contains(said, name + ":"));
      CHECK(contains(said, "fix: "));
    }
  }
}

TEST_CASE("a number beyond its bounds is named with them", "[targets]") {
  CHECK(contains(
      refusal("megatron", "train.sh", script("--tensor-model-parallel-size 1000001")),
      "train.sh:3:1: --tensor-model-parallel-size: \"1000001\" is not a whole number from 1 to 1000000"));
  CHECK(contains(refusal("megatron", "train.sh", script("--rotary-base 1e13")),
                 "--rotary-base: \"1e13\" is not a number from 1 to 1000000000000"));
  CHECK(contains(refusal("torchtitan", "t.toml", toml("tensor_parallel_degree = 1000001")),
                 "t.toml:5:26: parallelism.tensor_parallel_degree: \"1000001\" is not a whole number from 1 "
                 "to 1000000"));
  CHECK(contains(refusal("torchtitan", "t.toml", toml("data_parallel_shard_degree = -2")),
                 "\"-2\" is too small"));
  CHECK(contains(refusal("torchtitan", "t.toml",
                         toml("data_parallel_shard_degree = 1024\ntensor_parallel_degree = 1024")),
                 "data_parallel_shard_degree: the degrees make 1048576 ranks, the cluster has 16"));
}

// 16 ranks of one layer a stage or chunk: what is at the bounds is read where it is a run.
TEST_CASE("numbers at their bounds are read", "[targets]") {
  const auto run =
      targets::find("megatron")
          ->read_run(
              {"train.sh",
               "pretrain_gpt.py --num-layers 4096 --hidden-size 262144 --num-attention-heads 65536 "
               "--seq-length "
               "16777216 --max-position-embeddings 268435456 --vocab-size 16777216 --ffn-hidden-size 2097152 "
               "--micro-batch-size 1000000 --global-batch-size 16000000\n"},
              16);
  REQUIRE(run);
  CHECK(run->architecture.layers == 4096);
  CHECK(run->architecture.head_dim == 4);
  CHECK(run->config.training.global_batch == 16'000'000);
  CHECK(models::parameters(run->architecture) > 0);
}

// They took a time that grew with the square of the file: from 6 seconds to more than 25.
TEST_CASE("long configs end", "[targets]") {
  std::string keys, sections, settings = "def trnplan():\n    config = shipped(\"llama3_8b\")\n";
  for (int i = 0; i < 60'000; ++i) keys += "unknown_setting_" + std::to_string(i) + " = 1\n";
  for (int i = 0; i < 60'000; ++i) sections += "[s" + std::to_string(i) + "]\n";
  for (int i = 0; i < 100'000; ++i) settings += "    put(config.training, s" + std::to_string(i) + "=1)\n";
  CHECK(contains(refusal("torchtitan", "t.toml", toml(keys)), "parallelism.unknown_setting_59999"));
  CHECK(contains(refusal("torchtitan", "t.toml", toml("") + sections), "s59999: TorchTitan"));
  CHECK(contains(refusal("torchtitan", "t.py", settings), "training.s99999"));
  for (const std::string& part : {std::string(200'000, '='), std::string(200'000, 'a')}) {
    std::string line = "def trnplan():\n    put(config.training, ";
    for (std::size_t i = 0; i < part.size(); i += 2) line += part.substr(i, 2) + (part[i] == 'a' ? "=" : "");
    CHECK(contains(refusal("torchtitan", "t.py", line + ")\n"), "not a config of TorchTitan"));
  }
  std::string flags = script("");
  for (int i = 0; i < 40'000; ++i) flags += "--numb-layer" + std::to_string(i) + " 1\n";
  CHECK(targets::find("megatron")->read_run({"train.sh", flags}, 16)->notes.size() > 0);
  CHECK(contains(refusal("megatron", "train.sh", script(std::string(1 << 20, ' '))),
                 "larger than 1048576 bytes"));
  std::string many = settings;
  for (int i = 100'000; i < 250'000; ++i) many += "    put(config.training, s" + std::to_string(i) + "=1)\n";
  CHECK(contains(refusal("torchtitan", "t.py", many), "too many settings"));
}

TEST_CASE("a key with a point and a key in a table are two", "[targets]") {
  const Node root = parse_document("[\"a.b\"]\nc = 1\n[a.b]\nc = 2\n[a]\nd.e = 3\nd.f = 4\n", "t.toml");
  CHECK(root.find("a.b")->find("c")->scalar == "1");
  CHECK(root.at_path("a.b.c")->scalar == "2");
  CHECK(root.at_path("a.d.f")->scalar == "4");
  CHECK(contains(refusal_of([] { (void)parse_document("[a]\nb = 1\n[a.b]\n", "t.toml"); }),
                 "t.toml:3:1: this is not valid TOML: Error while parsing table header: cannot redefine"));
  CHECK(contains(refusal_of([] { (void)parse_document("[a.b]\nc = 1\n[a]\nb.c = 2\n", "t.toml"); }),
                 "t.toml:4:1: this is not valid TOML"));
  CHECK(contains(refusal_of([] { (void)parse_document("[a.b]\n[a]\n[a.b]\n", "t.toml"); }),
                 "cannot redefine existing table 'a.b'"));
}

// Catches a library that calls itself as deep as the file is, and values that change on their way.
TEST_CASE("TOML is bounded, and read whole", "[targets]") {
  const auto refused = [](const std::string& text) {
    return refusal_of([&] { (void)parse_document(text, "t.toml"); });
  };
  std::string dotted = "a";
  for (int i = 0; i < 100'000; ++i) dotted += ".a";
  CHECK(contains(refused(dotted + " = 1\n"), "nested too deep"));
  CHECK(contains(refused("x = 1\n[" + dotted + "]\n"), "t.toml:2:129: keys are nested too deep"));
  CHECK(contains(refused("a = " + std::string(100'000, '[')), "not valid TOML"));
  // Dots of comments and texts part no keys; those behind them do.
  const std::string dots(100'000, '.');
  const Node words = parse_document("# " + dots + "\na = \"" + dots + "\" # " + dots + "\nb = '" + dots +
                                        "'\nc = \"\"\"#\n" + dots + "\"\"\"\"\nd = \"\\\"#\"\n",
                                    "t.toml");
  CHECK(words.find("a")->scalar == dots);
  CHECK(words.find("c")->scalar == "#\n" + dots + "\"");
  CHECK(words.find("d")->scalar == "\"#");
  CHECK(contains(refused("a = {b = \"#\", " + dotted + " = 1}\n"), "t.toml:1:"));
  CHECK(contains(refused("a = \"\"\"\n\n\"\"\"\n" + dotted + " = 1\n"),
                 "t.toml:4:128: keys are nested too deep"));
  std::string inlined = "b = 1";
  for (int i = 0; i < 10'000; ++i) inlined = "a = {" + inlined + "}";
  CHECK(contains(refused(inlined), "not valid TOML"));
  CHECK(contains(refused("a = 1979-05-27\n"), "t.toml:1:5: dates and times are not read"));
  CHECK(contains(refused("a = nan\n"), "not a finite number"));
  const Node root = parse_document(
      "z = 1_000\ny = {b = 2.0, a = 'true'}\nx = [\n  1e-5, # of two\n  true,\n]\n[[t]]\nq = \"\\u00e9\"\n",
      "t.toml");
  REQUIRE(root.entries.size() == 4);
  CHECK(root.entries[0].key == "z");  // in the order of the file
  CHECK(root.find("z")->scalar == "1000");
  CHECK(root.at_path("y.b")->scalar == "2.0");
  CHECK(root.at_path("y.a")->quoted);
  CHECK(root.find("x")->items[0].scalar == "1e-05");
  CHECK(root.find("x")->items[1].at.line == 5);
  CHECK_FALSE(root.find("x")->items[1].quoted);
  CHECK(root.find("t")->items[0].find("q")->scalar == "\u00e9");
}
