// Tables of layouts, predictions of them, and the rules of catalog/scoring.json by which they are scored.
#include "tests/hostile/hostile.h"

namespace trnplan::hostile {

namespace {

/// One key of scoring.json, as it stands there, and what it cannot be.
struct Key {
  std::string key, sound;
  std::vector<std::string> wrong;
};

std::vector<Key> keys_of_scoring() {
  const std::string huge = "1" + repeat("0", 30);
  return {
      {"schema_version", "1", {"0", "-1", "99", "1.5", "\"1\"", "null", "[]", huge}},
      {"column", "\"source\"", {"\"nope\"", "\"\"", "5", "null", "[]", "{}"}},
      {"text", "\"VIA-Research/vTrain\"", {"[]", "{}", "[[]]"}},
      {"vocabulary_multiple", "128", {"0", "-1", "1.5", "1e300", "\"x\"", "true", "[]", huge}},
      {"keys",
       "\"framework=megatron-deepspeed,flash=false,sp=false\"",
       {"\"\"", "[]", "{}", "null", "\"nope=1\"", "\"framework\"", "\"framework=nope\"", "\"flash=maybe\"",
        "\"shard=zero9\"", "\"tp=0\"", "\"tp=8,tp=8\"", "\"tp=8,\"", "\",\"", "\"=\""}},
      {"why",
       "\"VIA-Research/vTrain@f8dda84: ground truth of Megatron-DeepSpeed, plain attention, no sequence "
       "parallel\"",
       {"\"\"", "[]", "{}"}},
      {"learned_positions", "false", {"\"x\"", "2", "[]", "{}"}},
      {"tied", "true", {"\"x\"", "2", "[]", "{}"}},
      {"biases", "true", {"\"x\"", "2", "[]", "{}"}},
      {"tied_below", "10000", {"0", "-1", "1.5", "1e300", "\"x\"", "[]", huge}},
      {"mlp", "\"plain\"", {"\"none\"", "\"Plain\"", "\"\"", "5", "true", "[]", "{}"}},
      {"memory", "\"allocated\"", {"\"kept\"", "5", "true", "[]", "{}"}},
  };
}

}  // namespace

std::vector<Edit> scoring_rows() {
  std::vector<Edit> all;
  for (const Key& k : keys_of_scoring()) {
    const std::string named = "\"" + k.key + "\": ";
    for (const std::string& wrong : k.wrong)
      all.push_back({"scoring", named + k.sound, named + wrong, "catalog/scoring.json:"});
  }
  for (const char* text :
       {"", "null", "{}", "[]", "{", "{\"rules\": {}}", "{\"rules\": 5}", "{\"rules\": [5]}"})
    all.push_back({"scoring", kWhole, text, "catalog/scoring.json:"});
  const std::vector<Edit> tables = {
      {"scoring", "\"mlp\": \"plain\"", "\"mlp\": \"none\"", "rules[9].mlp: \"none\" is not a kind of MLP"},
      {"scoring", "\"framework=nanotron\"", "\"framework=nanotron,flsh=true\"",
       "rules[2].keys: \"flsh\" is not a key of a strategy"},
      {"scoring", "\"tied_below\": 10000", "\"tied_belo\": 10000", "rules[2].tied_belo: unknown key"},
      {"scoring", "\"qk_norm\": true", "\"qk_nor\": true", "qk_nor: unknown key"},
      {"layouts", kWhole, "", "layouts.csv: the file is empty"},
      {"layouts", kWhole, "[]", "layouts.csv:1:1: this is not the header"},
      {"layouts", "id,source", "ID,source", "layouts.csv:1:1: id: the column is missing"},
      {"layouts", "source_rev", "source", "source: two columns have this name"},
      {"layouts", kAppend, "\"", "the quotes of this field are never closed"},
      {"predictions", kWhole, "", "p.csv: the file is empty"},
      {"predictions", kWhole, "[]", "p.csv:1:1: id: the column is missing"},
      {"predictions", kWhole, "id\nU0004\n", "p.csv:1:1: step_s: the column is missing"},
      {"predictions", kWhole, "step_s\n1\n", "p.csv:1:1: id: the column is missing"},
      {"predictions", kAgain, "", "p.csv:3:1: id: line 2 has this id too"},
      {"predictions", "0.16", "nan", "p.csv:2:7: step_s: "},
      {"predictions", "0.16", "-1", "p.csv:2:7: step_s: "},
      {"predictions", "0.16", "0", "p.csv:2:7: step_s: "},
      {"predictions", "0.16", "1e400", "p.csv:2:7: step_s: "},
      {"predictions", "0.16", "x", "p.csv:2:7: step_s: "},
      {"predictions", ",20", ",-1", "p.csv:2:12: mem_gib: "},
      {"predictions", ",20", ",nan", "p.csv:2:12: mem_gib: "},
      {"predictions", ",20", "", "p.csv:2:1: 2 fields, the header has 3"},
      {"predictions", ",20", ",20,1", "p.csv:2:1: 4 fields, the header has 3"},
      {"predictions", "U0004", "\"U0004", "the quotes of this field are never closed"},
  };
  all.insert(all.end(), tables.begin(), tables.end());
  return all;
}

}  // namespace trnplan::hostile
