// Rows of api/rules against what the program prints: of strategies and configs an id without a row and a row that
// nothing prints; a row without a source or a fix, and a finding whose source its row lacks.
#include "api/explain.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "api/check.h"
#include "planner/check/rules.h"
#include "targets/megatron/megatron_rules.h"
#include "targets/nemo_megatron/nemo_rules.h"
#include "targets/nxd/nxd_read.h"
#include "targets/nxd/nxd_rules.h"
#include "targets/nxdt/nxdt_lint_rules.h"
#include "targets/torchtitan/titan_rules.h"
#include "tests/folder.h"
#include "text/diagnostic.h"
#include "text/remarks.h"

using namespace trnplan;

namespace {

const api::RuleSet& set_of(const std::string& name) {
  const auto& sets = api::rule_sets();
  const auto found = std::find_if(sets.begin(), sets.end(), [&](const auto& s) { return s.name == name; });
  REQUIRE(found != sets.end());
  return *found;
}

const api::RuleRow* row_of(const std::string& set, const std::string& id) {
  const auto& rules = set_of(set).rules;
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const auto& r) { return r.id == id; });
  return found == rules.end() ? nullptr : &*found;
}

std::set<std::string> ids_of(const std::string& set) {
  std::set<std::string> ids;
  for (const api::RuleRow& row : set_of(set).rules) ids.insert(row.id);
  return ids;
}

std::set<std::string> words_of(const targets::StartTable& table) {
  std::set<std::string> words = {"value"};
  for (const targets::StartRule& rule : table.rules) words.insert(rule.word);
  return words;
}

/// A row's sources name files, a finding's may say lines of one, or a file of a folder.
bool is_among(const std::string& source, const std::vector<std::string>& of_row) {
  return std::any_of(of_row.begin(), of_row.end(), [&](const std::string& one) {
    const std::size_t lines = one.find_last_not_of("0123456789,-");
    const std::string file = lines != std::string::npos && one[lines] == ':' ? one.substr(0, lines) : one;
    return source.starts_with(file);
  });
}

}  // namespace

TEST_CASE("every row says what, why, how to mend it and where it is from", "[api]") {
  for (const api::RuleSet& set : api::rule_sets()) {
    std::set<std::string> seen;
    for (const api::RuleRow& row : set.rules) {
      CAPTURE(set.name, row.id);
      CHECK(seen.insert(row.id).second);
      CHECK(row.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos);
      CHECK(std::min({row.what.size(), row.why.size(), row.fix.size(), row.sources.size()}) > 0);
      CHECK(row.id.size() <= 18);  // columns of the list: 18, two blanks, 60
      CHECK(row.what.find(';') == row.what.substr(0, 61).find(';'));
      CHECK((row.what.find(';') <= 60 || row.what.size() <= 60));
      for (const std::string& source : row.sources) {
        CAPTURE(source);
        CHECK(source.find('|') == std::string::npos);  // a column of docs/rules.md
        CHECK(source.size() > 5);
      }
    }
  }
}

TEST_CASE("rules of the tables have rows, and rows have rules", "[api]") {
  std::set<std::string> rules;
  for (const std::string_view id : planner::rule_ids())
    if (id != "not-modelled") rules.emplace(id);
  for (const char* of_targets : {"devices", "vocabulary", "tied-embeddings"}) rules.insert(of_targets);
  CHECK(rules == ids_of("strategy"));
  CHECK(row_of("verdict", "not-modelled") != nullptr);

  std::set<std::string> lint;
  for (const auto theme : {targets::schema_rules(), targets::parallel_rules(), targets::batch_rules(),
                           targets::training_rules(), targets::kind_rules(), targets::version_rules()})
    for (const targets::Rule& rule : theme) lint.emplace(rule.name);
  CHECK(lint == ids_of("nxdt"));

  CHECK(words_of(targets::megatron_start_table()) == ids_of("megatron"));
  CHECK(words_of(targets::titan_start_table()) == ids_of("torchtitan"));
  std::set<std::string> of_scripts = words_of(targets::nemo_start_table({}));
  for (const char* program : {targets::kTensorScript, targets::kPipelineScript})
    of_scripts.merge(words_of(targets::nxd_start_table(program)));
  CHECK(of_scripts == ids_of("neuron-scripts"));
}

TEST_CASE("a rule of a start has its source in its row", "[api]") {
  const auto compare = [](const targets::StartTable& table, const std::string& set) {
    for (const targets::StartRule& rule : table.rules) {
      CAPTURE(set, rule.word, rule.name, rule.source);
      const api::RuleRow* row = row_of(set, rule.word);
      REQUIRE(row != nullptr);
      CHECK(is_among(rule.source, row->sources));
    }
    CHECK(is_among(table.keys_source, row_of(set, "value")->sources));
  };
  compare(targets::megatron_start_table(), "megatron");
  compare(targets::titan_start_table(), "torchtitan");
  compare(targets::nemo_start_table({}), "neuron-scripts");
  for (const char* program : {targets::kTensorScript, targets::kPipelineScript})
    compare(targets::nxd_start_table(program), "neuron-scripts");
}

TEST_CASE("a finding of check has a row, and its source is one of the row's", "[api]") {
  const TestFolder folder;
  std::size_t findings = 0;
  for (const char* where : {"/tests/io/fixtures/nxdt", "/tests/planner/fixtures"}) {
    for (const auto& entry : std::filesystem::directory_iterator(std::string(TRNPLAN_SOURCE_DIR) + where)) {
      if (entry.path().extension() != ".yaml") continue;
      api::CheckRequest request;
      request.file = entry.path().string();
      for (const targets::Finding& f : api::check(request).findings) {
        ++findings;
        CAPTURE(request.file, f.rule, f.message, f.source);
        std::vector<std::string> sources;
        for (const char* set : {"nxdt", "strategy", "verdict", "check", "remark"})
          if (const api::RuleRow* row = row_of(set, f.rule))
            sources.insert(sources.end(), row->sources.begin(), row->sources.end());
        CHECK_FALSE(sources.empty());
        CHECK((f.source.empty() || is_among(f.source, sources)));
        CHECK((f.severity == targets::Severity::note || !f.source.empty()));
      }
    }
  }
  CHECK(findings > 30);
}

TEST_CASE("an id is in several sets, and one that does not exist has near misses", "[api]") {
  CHECK(api::explain({"heads"}).sets.size() == 4);
  CHECK(api::explain({""}).sets.size() == api::rule_sets().size());
  try {
    static_cast<void>(api::explain({"head"}));
    FAIL("an unknown id passed");
  } catch (const InputError& e) {
    CHECK(e.faults().front().fix.find("heads") != std::string::npos);
  }
  CHECK_THROWS_AS(api::explain({"\x1b[2J"}), InputError);
}

TEST_CASE("the id behind a remark comes off again", "[api]") {
  std::string text = with_id("a sentence [of brackets]", "stack");
  CHECK(take_id(text) == "stack");
  CHECK(text == "a sentence [of brackets]");
  CHECK(take_id(text) == "");
  text = "[stack]";
  CHECK(take_id(text) == "");
  text = with_id("a sentence", "zero-1");
  CHECK(take_id(text) == "zero-1");
  for (const char* none : {"a sentence [8]", "a sentence []", "a sentence [A]", "a sentence [-]"}) {
    text = none;
    CHECK(take_id(text) == "");
    CHECK(text == none);
  }
}
