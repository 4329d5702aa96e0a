#include "tests/hostile/hostile.h"

namespace trnplan::hostile {

namespace {

/// `name` and `value` as the sound file of `kind` has them, with `between` between them.
struct Number {
  const char *name, *value;
};

void add(std::vector<Edit>& rows, const char* kind, const std::string& section, const Number& n,
         const std::string& between, const std::string& bad) {
  const std::string start = n.name + between;
  rows.push_back({kind, start + n.value, start + bad, section + n.name + ": "});
}

void add_script(std::vector<Edit>& rows) {
  constexpr Number kFlags[] = {{"--num-layers", "8"},
                               {"--hidden-size", "1024"},
                               {"--ffn-hidden-size", "2816"},
                               {"--num-attention-heads", "16"},
                               {"--num-query-groups", "8"},
                               {"--kv-channels", "64"},
                               {"--seq-length", "2048"},
                               {"--max-position-embeddings", "4096"},
                               {"--micro-batch-size", "1"},
                               {"--global-batch-size", "16"},
                               {"--vocab-size", "32000"},
                               {"--padded-vocab-size", "32256"},
                               {"--tensor-model-parallel-size", "2"},
                               {"--pipeline-model-parallel-size", "2"},
                               {"--context-parallel-size", "1"},
                               {"--expert-model-parallel-size", "1"}};
  for (const Number& flag : kFlags) {
    for (const char* bad : {"0", "-1", "\\", "nan", "inf", "$N", "0x10", "2e15", "2147483648",
                            "9223372036854775808", "99999999999999999999999"})
      add(rows, "script", "", flag, " ", bad);
  }
  for (const char* bad : {"0", "-1", "nan", "inf", "$N", "1e13"})
    add(rows, "script", "", {"--rotary-base", "500000"}, " ", bad);
  const std::string pp = "--pipeline-model-parallel-size 2";
  const std::string many = "--pipeline-model-parallel-size 65536";
  rows.insert(
      rows.end(),
      {{"script", pp, many + " --num-layers-per-virtual-pipeline-stage 65536",
        "--num-layers-per-virtual-pipeline-stage: \"65536\" is not a whole number from 1 to 4096"},
       {"script", pp, many + " --num-layers-per-virtual-pipeline-stage 4096", "--num-layers: 8 on PP 65536"},
       {"script", pp, "--pipeline-model-parallel-size 1000000 --decoder-first-pipeline-num-layers 3",
        "leaves 5 of 8 layers to 999999 stages"},
       {"script", "--num-layers 8", "--num-layers 1000000",
        "train.sh:2:3: --num-layers: \"1000000\" is not a whole number from 1 to 4096"},
       {"script", "--num-query-groups 8", "--num-query-groups 17", "16 heads cannot form 17 groups"},
       {"script", "--kv-channels 64", "--kv-channels 262144", "16 heads of 262144 channels"},
       {"script", "--micro-batch-size 1", "--micro-batch-size 1000000",
        "--global-batch-size: 16 is not a multiple of"},
       {"script", kWhole, repeat("# none\n", 200'000), "train.sh: the script is larger than 1048576 bytes"},
       {"script", kWhole, repeat("--a ", 200'000), "--num-layers: is missing"},
       {"script", kWhole, "A=xxxxxxxx\n" + repeat("A=\"$A$A\"\n", 64),
        "train.sh: the script expands to more than 8 MiB"},
       {"script", kWhole, repeat("if true; then\n", 65), "train.sh:65:3: commands are nested deeper than 64"},
       {"script", kWhole, "A=$A\nB=$C\nC=$B\npretrain_gpt.py --num-layers $A $B\n",
        "--hidden-size: is missing"},
       {"script", kWhole, "pretrain_gpt.py --num-layers $(touch gone) `touch gone`\n",
        "--hidden-size: is missing"}});
}

void add_titan(std::vector<Edit>& rows) {
  constexpr Number kBatches[] = {{"local_batch_size", "2"}, {"global_batch_size", "8"}, {"seq_len", "4096"}};
  constexpr Number kDegrees[] = {{"data_parallel_replicate_degree", "1"},
                                 {"data_parallel_shard_degree", "2"},
                                 {"tensor_parallel_degree", "2"},
                                 {"context_parallel_degree", "1"},
                                 {"pipeline_parallel_degree", "2"},
                                 {"expert_parallel_degree", "1"},
                                 {"pipeline_parallel_microbatch_size", "1"},
                                 {"pipeline_parallel_first_stage_less_layers", "1"},
                                 {"pipeline_parallel_last_stage_less_layers", "1"}};
  const auto all = [&](const char* kind, const char* between, const std::vector<const char*>& bad) {
    for (const char* b : bad) {
      for (const Number& n : kBatches) add(rows, kind, "training.", n, between, b);
      for (const Number& n : kDegrees) add(rows, kind, "parallelism.", n, between, b);
    }
  };
  all("toml", " = ",
      {"-2", "1.5", "1e99", "true", "\"8\"", "[8]", "2147483648", "9223372036854775807", "1_000_000_001"});
  rows.push_back(
      {"toml", "seq_len = 4096", "seq_len = 99999999999999999999", "run.toml:7:31: this is not valid TOML"});
  all("module", "=", {"-2", "1.5", "1e99", "True", "None", "nan", "2147483648", "99999999999999999999"});
  for (const char* kind : {"toml", "module"}) {
    const std::string is = std::string(kind) == "toml" ? " = " : "=";
    const auto put = [&](const char* name, const char* was, const char* now, const char* says) {
      rows.push_back({kind, name + is + was, name + is + now, says});
    };
    put("tensor_parallel_degree", "2", "1000000", "the degrees make 4000000 ranks, the cluster has 8");
    put("data_parallel_replicate_degree", "1", "1000000",
        "the degrees make 8000000 ranks, the cluster has 8");
    put("data_parallel_shard_degree", "2", "65536", "the degrees make 262144 ranks, the cluster has 8");
    put("pipeline_parallel_first_stage_less_layers", "1", "4096", "32 layers cannot form 2 stages");
    put("pipeline_parallel_last_stage_less_layers", "1", "40", "32 layers cannot form 2 stages");
    put("local_batch_size", "2", "1000000", "training.global_batch_size: 8 is not a multiple of 1000000");
  }
  std::string unknown = "[model]\nflavor = \"8B\"\n[training]\n",
              equals = "def trnplan():\n    put(config.training, a", settings = "def trnplan():\n";
  for (int i = 0; i < 60'000; ++i) unknown += "unknown_setting_" + std::to_string(i) + " = 1\n";
  for (int i = 0; i < 100'000; ++i) settings += "    put(config.training, s" + std::to_string(i) + "=1)\n";
  rows.push_back(
      {"toml", kWhole, unknown, "training.unknown_setting_0: TorchTitan v0.2.2 does not have this key"});
  rows.push_back(
      {"module", kWhole, equals + repeat("=", 200'000) + ")\n", "this is not a config of TorchTitan"});
  rows.push_back(
      {"module", kWhole, equals + repeat("=a", 100'000) + ")\n", "this is not a config of TorchTitan"});
  rows.push_back({"module", kWhole, settings, "this is not a config of TorchTitan"});
}

}  // namespace

std::vector<Edit> run_rows() {
  std::vector<Edit> rows;
  add_script(rows);
  add_titan(rows);
  return rows;
}

}  // namespace trnplan::hostile
