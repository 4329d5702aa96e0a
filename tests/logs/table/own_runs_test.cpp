#include "logs/table/own_runs.h"

#include "tests/catch.h"
#include "tests/faults.h"

using namespace trnplan;
using namespace trnplan::logs;

namespace {

std::vector<std::string> keys_of(const std::string& header, const StatedBeside& stated = {}) {
  std::vector<std::string> keys;
  for (const Diagnostic& d : faults_in([&] { (void)parse_own_runs(header + "\n", "t.csv", stated); })) {
    CHECK(d.at.line == 1);
    CHECK_FALSE(d.fix.empty());
    keys.push_back(d.key);
  }
  return keys;
}

using Keys = std::vector<std::string>;

}  // namespace

// A table that lacks a column once was "no table", or asked for columns that an option states.
TEST_CASE("each column that is missing is one fault, unless something else states it", "[logs]") {
  CHECK(keys_of("id,strategy,step_s").size() == 1);
  CHECK(keys_of("id,strategy,step_s", {.job = true}).empty());
  CHECK(keys_of("strategy", {.job = true}) == Keys{"id", "step_s"});
  CHECK(keys_of("id,step_s,tp") == Keys{"model", "seq", "global_batch", "instance", "micro_batch", "dp"});
  CHECK(keys_of("id,step_s,tp,nodes,mbs,model,seq_len,gbs") == Keys{"instance"});
  CHECK(keys_of("id,step_s,tp,nodes,mbs,model,seq_len,gbs", {.instance = true}).empty());
  CHECK(keys_of("id,step_s,dp,mbs,layers,seq,gbs,gpu") == Keys{"hidden", "heads", "vocab"});
  CHECK(keys_of("id,id,step_s,tp", {.job = true}) == Keys{"id"});
}

TEST_CASE("a user's table is recognised, and only if no other kind is", "[logs]") {
  CHECK(table_of("id,strategy,step_s\n") == RunTable::own_runs);
  CHECK(table_of("id,tp,gpu,gpus,step_s\n") == RunTable::own_runs);
  CHECK(table_of("id,source,gpu,gpus,measured,tp\n") == RunTable::gpu_runs);
  CHECK(table_of("id,kind,hardware,tp\n") == RunTable::neuron_runs);
}

TEST_CASE("columns by their other names, and faults of rows", "[logs]") {
  const auto runs = parse_own_runs(
      "id,step_s,mem_gib,tp,dp,mbs,gbs,seq_len,accelerators,kv,framework\n"
      "a,2,1,4,2,3,48,512,8,2,fsdp\nb,0,,1,8,1,8,512,8,,\na,1,,1,8,1,8,512,8,,\n",
      "t.csv", {.job = true});
  REQUIRE(runs.size() == 3);
  CHECK(runs[0].faults.empty());
  CHECK(runs[0].step_seconds == 2.0);
  CHECK(runs[0].memory_bytes == 1024.0 * 1024 * 1024);
  CHECK(runs[0].micro_batch == 3);
  CHECK(runs[0].global_batch == 48);
  CHECK(runs[0].sequence == 512);
  CHECK(runs[0].gpus == 8);
  CHECK(runs[0].kv_heads == 2);
  CHECK(runs[0].framework == "fsdp");
  CHECK(runs[1].faults.at(0).key == "step_s");
  CHECK(contains(runs[2].faults.at(0).problem, "too"));
}
