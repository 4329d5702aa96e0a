// validate on a table of the user's own, in each of its shapes.
#include <cmath>
#include <sstream>
#include <string>

#include "tests/catch.h"
#include "tests/cli/json_of.h"
#include "tests/cli/run_cli.h"
#include "tests/faults.h"

using namespace trnplan;
using cli::Session;

namespace {

const char* const kStrategies = "id,strategy,step_s\none,\"tp=8,recompute=CoreAttention+LlamaMLP\",250\n";
const char* const kLayouts =
    "id,framework,instance,release,model,seq,gbs,tp,pp,dp,mbs,recompute,step_s\n"
    "one,nxdt,trn1.32xlarge,,llama3-8b,8192,1024,8,1,4,1,CoreAttention+LlamaMLP,250\n"
    "two,torchtitan,p5.48xlarge,,Llama3-8B,8192,128,1,1,16,1,full,9\n";
const char* const kNetworks =
    "id,layers,hidden,ffn,heads,kv_heads,vocab,seq,gpus,tp,pp,cp,dp,sharding,mbs,gbs,step_s\n"
    "one,32,4096,14336,32,8,128256,8192,8,1,1,2,4,zero1,1,128,12\n"
    "two,32,4096,14336,32,8,128256,8192,4,1,1,1,4,fsdp,1,128,26\n";

}  // namespace

// Each row is the answer of simulate, to the last digit: a path of its own would drift.
TEST_CASE("each shape of a user's table is predicted as simulate does", "[cli]") {
  Session cli;
  cli.write("a.csv", kStrategies);
  cli.write("b.csv", kLayouts);
  cli.write("c.csv", kNetworks);
  const auto step = [&](const std::string& command) {
    return cli::json_of(cli, command).at("step_seconds").get<double>();
  };
  const auto rows = [&](const std::string& command) {
    return cli::json_of(cli, "validate " + command).at("rows");
  };
  const double trn1 = step("simulate llama3-8b --strategy tp=8,recompute=CoreAttention+LlamaMLP");
  cli.write("job.yaml",
            "model: llama3-8b\ntraining: {sequence: 8192, global_batch: 128}\n"
            "cluster: {instance: p5.48xlarge, nodes: 2}\nsoftware: {framework: torchtitan}\n");
  const double titan = step("simulate $work/job.yaml --strategy recompute=full");
  const auto a = rows("$work/a.csv --job llama3-8b");
  CHECK(a.at(0).at("predicted_step_seconds") == trn1);
  const auto b = rows("$work/b.csv");
  CHECK(b.at(0).at("predicted_step_seconds") == trn1);
  CHECK(b.at(1).at("predicted_step_seconds") == titan);
  cli.expect(0, "^2 of 2 measured steps predicted", "validate --measured $work/c.csv --instance p5.48xlarge");
  cli.says("1 row states no framework: predicted as torchtitan runs it");
}

TEST_CASE("a wrong table of a user's has one fault for each thing that is missing", "[cli]") {
  Session cli;
  cli.write("a.csv", kStrategies);
  cli.refuse("a\\.csv:1:1: .*nothing says what these strategies train", "validate $work/a.csv");
  cli.write("b.csv", replaced(kLayouts, ",gbs,", ",batch,"));
  cli.refuse("b\\.csv:1:1: global_batch: the column is missing", "validate $work/b.csv");
  cli.says_no("b\\.csv.*(instance|model|micro)");
  cli.write("c.csv", kNetworks);
  cli.refuse("c\\.csv:1:1: instance: the column is missing", "validate $work/c.csv");
  cli.refuse("--framework: unknown framework", "validate $work/c.csv --instance p5.48xlarge --framework x");
  cli.refuse("unknown instance type", "validate $work/c.csv --instance p55");
  cli.refuse("--nodes: there is no job", "validate $work/c.csv --instance p5.48xlarge --nodes 2");
  cli.refuse("--job: no table", "validate --job llama3-8b");
  cli.write("d.csv", "a,b\n1,2\n");
  cli.refuse("d\\.csv:1:1: this is not the header of a table of runs", "validate $work/d.csv");
}

// It once was exit 0 and a median error of 0.
TEST_CASE("a table of which nothing is predicted", "[cli]") {
  Session cli;
  cli.write("a.csv", replaced(kStrategies, "tp=8", "tpp=8"));
  cli.expect(3, "^None of the 1 rows", "validate $work/a.csv --job llama3-8b");
  cli.prints("tpp: unknown key .fix: did you mean tp");
  cli.expect(3, R"("median_ape": null)", "validate $work/a.csv --job llama3-8b --format json");
  cli.prints_no(R"("median_ape": 0)");
}

// Catches: a row that is predicted as another layout, because a column has another name.
TEST_CASE("columns of a table that are not read are named", "[cli]") {
  Session cli;
  cli.write("a.csv", "id,step_s,tp,pp,dp,recomp,batch,color\none,250,8,1,4,full,1024,red\n");
  cli.run("validate $work/a.csv --job llama3-8b");
  cli.says("columns that are not read: recomp, batch, color");
  cli.says("did you mean recompute for recomp, global_batch or micro_batch for batch");
  cli.write("b.csv", kLayouts);
  cli.run("validate $work/b.csv");
  cli.says_no("not read");
  cli.write("c.csv", "id;step_s;tp;pp;dp\none;250;8;1;4\n");
  cli.refuse("a comma is expected between columns, found \";\"", "validate $work/c.csv --job llama3-8b");
}

// Reported: the first table of the page on JSON was half as fast again as what is predicted of it.
TEST_CASE("the tables of docs/json.md are near their prediction", "[cli]") {
  Session cli;
  std::istringstream page(cli.read("$source/docs/json.md"));
  std::string line, command, table;
  int tables = 0;
  const auto check = [&] {
    if (table.empty()) return;
    cli.write("mine.csv", table);
    command.replace(command.find("mine.csv"), 8, "$work/mine.csv");
    if (const auto at = command.find("examples/"); at != std::string::npos) command.insert(at, "$source/");
    CAPTURE(command);
    CHECK(std::abs(cli::json_of(cli, command).at("summary").at("median_ape").get<double>()) < 0.1);
    ++tables;
    table.clear();
  };
  while (std::getline(page, line)) {
    if (line.starts_with("validate mine.csv") || line == "```") {
      check();
      command = line;
    } else if (line.starts_with("    ") && command.starts_with("validate")) {
      table += line.substr(4) + "\n";
    }
  }
  CHECK(tables == 3);
}
