#include "io/catalog/observations.h"

#include "io/catalog/catalog.h"
#include "io/catalog/profile_reader.h"
#include "tests/catch.h"

using namespace trnplan;
using planner::Observation;

namespace {

const std::string kHash(64, 'a');

Observation group_refused() {
  Observation e;
  e.rule = "replica-group";
  e.instance = "trn1.32xlarge";
  e.kind = "dp";
  e.ranks = {1, 17};
  e.chips = {0, 8};
  e.file = "log \"1\".txt";
  e.sha256 = kHash;
  e.line = 3;
  return e;
}

Observation memory_full() {
  Observation e;
  e.rule = "memory";
  e.instance = "trn1.32xlarge";
  e.model = "llama3-8b";
  e.parameters = 8'030'261'248;
  e.strategy.tensor_parallel = 8;
  e.strategy.data_parallel = 4;
  e.strategy.sequence_parallel = true;
  e.strategy.recompute.mlp = true;
  e.strategy.flash_attention = false;
  e.strategy.kv_replicator = 2;
  e.strategy.precision = models::Precision::fp32;
  e.strategy.bucket_mb = 20;
  e.strategy.pipeline_cuts = {9, 19};
  e.sequence = 8192;
  e.bytes = 22.839451 * 0x1p30;
  e.file = "compile.log";
  e.sha256 = kHash;
  return e;
}

std::vector<Observation> evidence_of(const std::string& text) {
  std::vector<Diagnostic> faults;
  const Node root = parse_document(text, "p.json");
  const auto all = io::observations_from(*root.find("evidence"), faults);
  CHECK(faults.empty());
  return all;
}

std::vector<Diagnostic> evidence_faults(const std::string& list) {
  std::vector<Diagnostic> faults;
  io::observations_from(parse_document("{\"evidence\":\n" + list + "}", "p.json").entries[0].value, faults);
  return faults;
}

bool blames(const std::vector<Diagnostic>& faults, const std::string& key, int line, int column) {
  for (const Diagnostic& f : faults)
    if (f.key == key && f.at.line == line && f.at.column == column && !f.fix.empty()) return true;
  return false;
}

}  // namespace

TEST_CASE("evidence is read back as it was written", "[io]") {
  const std::string text =
      io::with_observations(io::profile_on("trn1", "mine"), {memory_full(), group_refused()});
  const auto all = evidence_of(text);
  REQUIRE(all.size() == 2);  // by rule: memory, replica-group
  CHECK(all[0].bytes == memory_full().bytes);
  CHECK(all[0].strategy == memory_full().strategy);
  CHECK(all[0].strategy_whole);
  CHECK(all[0].parameters == 8'030'261'248);
  CHECK(all[0].sequence == 8192);
  CHECK(all[1].ranks == std::vector<int>{1, 17});
  CHECK(all[1].chips == std::vector<int>{0, 8});
  CHECK(all[1].kind == "dp");
  CHECK(all[1].file == "log \"1\".txt");
  CHECK(all[1].line == 3);
  CHECK_FALSE(all[1].accepted);
}

TEST_CASE("evidence has one order and each case once", "[io]") {
  const std::string empty = io::profile_on("trn1", "mine");
  const std::string both = io::with_observations(empty, {memory_full(), group_refused()});
  CHECK(both == io::with_observations(io::with_observations(empty, {group_refused()}), {memory_full()}));
  // The log grew: the same case, with another hash.
  Observation later = group_refused();
  later.sha256 = std::string(64, 'b');
  const auto all = evidence_of(io::with_observations(both, {later}));
  REQUIRE(all.size() == 2);
  CHECK(all[1].sha256 == later.sha256);
  Observation works = group_refused();
  works.accepted = true;
  CHECK(evidence_of(io::with_observations(both, {works})).size() == 3);
}

TEST_CASE("a profile keeps everything else when evidence is added", "[io]") {
  const io::Catalog catalog(TRNPLAN_SOURCE_DIR "/catalog");
  const std::string text = read_text(TRNPLAN_SOURCE_DIR "/catalog/profiles/trn1.json");
  const std::string with = io::with_observations(text, {group_refused()});
  const auto a = io::profile_from(parse_document(text, "a.json"), &catalog);
  const auto b = io::profile_from(parse_document(with, "b.json"), &catalog);
  CHECK(a.name == b.name);
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    CHECK(a.values[i].median == b.values[i].median);
    CHECK(a.values[i].log_sd == b.values[i].log_sd);
  }
  CHECK(a.calibration->covariance == b.calibration->covariance);
}

TEST_CASE("every fault of evidence has its place", "[io]") {
  CHECK(evidence_faults("[]").empty());
  CHECK(blames(evidence_faults("{}"), "evidence", 2, 1));
  const auto faults = evidence_faults(
      "[{\"rule\": \"replica-group\", \"verdict\": \"maybe\", \"instance\": \"i\",\n"
      "  \"ranks\": [17, 1], \"chips\": [0, -8], \"nodes\": 0,\n"
      "  \"file\": \"f\", \"sha256\": \"xyz\", \"lime\": 1}]");
  CHECK(blames(faults, "evidence.verdict", 2, 39));
  CHECK(blames(faults, "evidence.ranks", 3, 12));
  CHECK(blames(faults, "evidence.chips", 3, 30));
  CHECK(blames(faults, "evidence.nodes", 3, 48));
  CHECK(blames(faults, "evidence.sha256", 4, 26));
  CHECK(faults.size() == 6);  // and the key that nobody knows
  CHECK(blames(evidence_faults("[{\"rule\": \"other\", \"verdict\": \"refused\", \"instance\": \"i\"}]"),
               "evidence.rule", 2, 11));
  // The profile's reader asks for them, too.
  const io::Catalog catalog(TRNPLAN_SOURCE_DIR "/catalog");
  CHECK_THROWS_AS(io::profile_from(parse_document("{\"name\": \"x\", \"base\": \"trn1\", \"parameters\": {}, "
                                                  "\"evidence\": [1]}",
                                                  "p.json"),
                                   &catalog),
                  InputError);
}

TEST_CASE("evidence whose strategy is prose is read as far as it goes", "[io]") {
  const auto with = [](const std::string& strategy) {
    return R"([{"rule": "memory", "verdict": "refused", "instance": "trn1.32xlarge", "model": "llama3-8b",
 "strategy": )" +
           strategy + R"(, "sequence": 8192, "file": "c.log", "sha256": ")" + kHash + "\"}]";
  };
  const std::string profile = R"({"name": "mine", "base": "trn1", "parameters": {}, "evidence": )";
  const auto old =
      evidence_of(profile +
                  with("\"TP 8 x PP 4 x DP 2 x CP 2, VPP 2, micro-batch 1, SP, no ZeRO-1, recompute "
                       "CoreAttention+LlamaMLP, cuts 9/19/29\"") +
                  "}");
  REQUIRE(old.size() == 1);
  CHECK_FALSE(old[0].strategy_whole);
  models::Strategy s;
  s.tensor_parallel = 8;
  s.pipeline_parallel = 4;
  s.data_parallel = s.context_parallel = s.virtual_pipeline = 2;
  s.sequence_parallel = true;
  s.zero1 = false;
  s.recompute.core_attention = s.recompute.mlp = true;
  s.pipeline_cuts = {9, 19, 29};
  s.schedule = models::Schedule::interleaved;
  CHECK(old[0].strategy == s);
  // Written again it still says that the rest is not known; recorded again it is known.
  const std::string text = io::with_observations(profile + "[]}", old);
  CHECK(text.find("precision") == std::string::npos);
  const auto again = evidence_of(text);
  REQUIRE(again.size() == 1);
  CHECK(again[0].strategy == s);
  CHECK_FALSE(again[0].strategy_whole);
  Observation whole = old[0];
  whole.strategy_whole = true;
  whole.strategy.precision = models::Precision::fp32;
  const std::string known = io::with_observations(text, {whole});
  REQUIRE(evidence_of(known).size() == 1);
  CHECK(evidence_of(known)[0].strategy == whole.strategy);
  CHECK(io::with_observations(known, old) == known);  // what knows more stays

  for (const char* strange : {R"("TP 8 x PP 1 x DP 4")", R"("tp=8,pp=1")", R"("")", "7", "[1]", "null",
                              R"("TP 0 x PP 1 x DP 4, micro-batch 1, recompute none")",
                              R"("TP 8 x PP 1 x DP 4, micro-batch 1, SP, recompute none, cuts 9/")",
                              R"("TP 8 x PP 1 x DP 4, micro-batch 1, SP, recompute none, twice")"}) {
    CAPTURE(strange);
    CHECK(blames(evidence_faults(with(strange)), "evidence.strategy", 3, 14));
  }
  // What is missing would make it another strategy.
  const auto missing = evidence_faults(with(R"({"tensor_parallel": 8, "precision": "fp4"})"));
  for (const char* key : {"sequence_parallel", "zero1", "flash_attention", "kv_replicator", "recompute"})
    CHECK(blames(missing, std::string("evidence.strategy.") + key, 3, 14));
  CHECK(blames(evidence_faults(with(R"({"tensor_parallel": 8, "precision": "fp4"})")),
               "evidence.strategy.precision", 3, 50));
}
