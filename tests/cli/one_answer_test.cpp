// One question, one answer: what commands and options say of the same thing agrees.
#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/catch.h"
#include "tests/cli/json_of.h"
#include "tests/cli/run_cli.h"
#include "tests/folder.h"
#include "tests/logs/nccl/nccl_sample.h"

using namespace trnplan;
using cli::Session;
using nlohmann::json;

namespace {

const std::string kP5 = " --instance p5.48xlarge ";

/// Days of the first cluster that whatif names for a trillion tokens on p5.
double whatif_days(Session& cli, const std::string& words) {
  const json answer = json_of(cli, "whatif llama3-8b --tokens 1T --instances p5.48xlarge " + words);
  return answer.at("points").at(0).at("days").get<double>();
}

/// The command, without the program's name, that the page of another command states for a purpose.
std::string command_of_page(Session& cli, const std::string& words, const std::string& purpose) {
  cli.run(words + " --force --report $work/page.html");
  const std::string page = cli.read("$work/page.html");
  const std::string before = fmt::format(R"("what":"{}","command":"trnplan )", purpose);
  const std::size_t at = page.find(before);
  INFO(words << "\n" << cli.last.err);
  REQUIRE(at != std::string::npos);
  const std::size_t begin = at + before.size();
  return page.substr(begin, page.find('"', begin) - begin);
}

double step_of(const json& part) {
  return part.at("step_seconds").get<double>();
}

}  // namespace

// Catches a network that --set changes in the heading alone.
TEST_CASE("a changed network changes steps and collectives", "[cli]") {
  Session cli;
  const auto step = [&](const std::string& more) {
    return json_of(cli, "simulate llama3-8b --nodes 4 --strategy tp=1,framework=fsdp" + kP5 + more)
        .at("step_seconds")
        .get<double>();
  };
  const auto bus = [&](const std::string& more) {
    return json_of(cli, "collective all_reduce --bytes 1GiB --nodes 4" + kP5 + more)
        .at("busbw_gbps")
        .get<double>();
  };
  CHECK(step("--set oversubscription=64") > 1.1 * step(""));
  CHECK(step("--set nics=x2") < step(""));
  CHECK(step("--set nics=x0.5") > step(""));
  CHECK(bus("--set oversubscription=64") == bus("--oversubscription 64"));
  CHECK(bus("--set oversubscription=64") < 0.1 * bus(""));
  CHECK(bus("--set nics=x0.5") < bus(""));
  const json plan = json_of(cli, "plan llama3-8b --nodes 4 --target torchtitan" + kP5);
  const json twice = json_of(cli, "plan llama3-8b --nodes 4 --target torchtitan --set nics=x2" + kP5);
  CHECK(twice.at("plans").at(0).at("step_seconds") < plan.at("plans").at(0).at("step_seconds"));
  cli.refuse("--set: .*nics=3.*cannot serve the 8 chips", "plan llama3-8b --nodes 4 --set nics=3" + kP5);
  cli.refuse("--set: .*no prediction for trn1.32xlarge depends",
             "plan llama3-8b --nodes 4 --set core.bf16=x2");
}

// Catches a row of several clusters that is not what a plan of this cluster alone recommends: another training
// loop, or the fastest plan instead of the recommended one.
TEST_CASE("rows of several clusters are those of each alone", "[cli]") {
  Session cli;
  for (const std::string objective : {"step_time", "cost"}) {
    const std::string job = "llama3-8b --objective " + objective + kP5 + "--nodes ";
    const json all = json_of(cli, "plan " + job + "1,2,64").at("clusters");
    const std::string nodes[] = {"1", "2", "64"};
    REQUIRE(all.size() == 3);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const json alone = json_of(cli, "plan " + job + nodes[i]);
      const json& best = alone.at("plans").at(alone.at("recommended").get<std::size_t>());
      for (const char* key : {"step_seconds", "strategy", "tokens_per_second", "works_probability"})
        CHECK(all[i].at(key) == best.at(key));
    }
    const json asked =
        json_of(cli, "whatif llama3-8b --instances p5.48xlarge --tokens 1T --nodes 1,2,64").at("points");
    if (objective == "cost") continue;
    for (std::size_t i = 0; i < all.size(); ++i)
      CHECK(asked.at(i).at("step_seconds") == all[i].at("step_seconds"));
  }
}

// Catches a row that misses the deadline and so is of the fastest plan, whatever its risk, and does not say so.
TEST_CASE("rows that miss the deadline are those without one", "[cli]") {
  Session cli;
  const std::string job = "plan llama3-8b --tokens 2T --instance p5.48xlarge --nodes 2,16";
  const std::string limited = job + " --deadline 30d";
  const json free = json_of(cli, job).at("clusters"), rows = json_of(cli, limited).at("clusters");
  REQUIRE(rows.size() == 2);
  for (const char* key : {"step_seconds", "strategy", "tokens_per_second", "works_probability"})
    CHECK(rows[0].at(key) == free[0].at(key));
  CHECK(free[0].at("within_limits") == true);
  CHECK(rows[0].at("within_limits") == false);
  CHECK(rows[1].at("within_limits") == true);
  cli.expect(0, "misses the deadline", limited + " --objective deadline");
  cli.expect(0, "^ *\\*! +2 .*", limited + " --details");
}

// Catches a probability that is too low and is printed as the one that is asked for.
TEST_CASE("a probability that is not enough differs from the one asked for", "[cli]") {
  Session cli;
  cli.expect(3, "keeps the limits with 79\\.[0-9]+ %, not 80 %",
             "whatif llama3-8b --tokens 2T --deadline 30d --instances p5 --nodes 16 --confidence 80%");
}

// Catches a number of nodes that a hint names and the question that follows it does not try, and a hint of a plan that
// a run of fewer tokens does not have.
TEST_CASE("hints of published models hold when they are followed", "[once][cli]") {
  Session cli;
  json_of(cli, "whatif llama3-70b --instances trn2.48xlarge --deadline 137d --tokens 15T");
  for (const std::string job : {"llama3-8b --tokens 15T --deadline 1d --nodes 1024 --confidence 80%",
                                "llama3-8b --tokens 15T --deadline 2d --nodes 1536 --confidence 80%"}) {
    const json none = json_of(cli, "whatif " + job);
    REQUIRE(none.at("helps").size() >= 2);
    for (const json& h : none.at("helps")) {
      const std::string option = h.at("option");
      if (!option.starts_with("--tokens") && !option.starts_with("--deadline")) continue;
      const std::string name = option.substr(0, option.find(' '));
      std::string asked = job;  // the option in the place of the one that it changes
      const std::size_t from = asked.find(name);
      asked.replace(from, asked.find(" --", from + 1) - from, option);
      const json r = json_of(cli, "whatif " + asked);
      CHECK_FALSE(r.at("recommended").is_null());
      CHECK(r.at("points").at(0).at("probability_in_limits") == h.at("probability_in_limits"));
    }
  }
}

// Catches a faster plan of another training loop that a remark alone mentions.
TEST_CASE("the fastest plan is that of all training loops", "[cli]") {
  Session cli;
  cli.expect(0, "^Fastest .*with megatron", "plan llama3-70b --nodes 16 --details" + kP5);
  cli.prints("^Best +DP 128");
  cli.prints("framework=fsdp");
  cli.prints("^Trained by megatron");
}

// Catches a training loop on a machine on which it does not train, and a precision of NeuronCores on GPUs.
TEST_CASE("what does not run on a machine is refused as --target refuses it", "[cli]") {
  Session cli;
  cli.write("job.yaml",
            "model: llama3-8b\ntraining: {sequence: 8192, global_batch: 128}\n"
            "cluster: {instance: p5.48xlarge, nodes: 2}\npin: {framework: nxd}\n");
  cli.refuse("job.yaml:4:.*framework: nxd does not train on p5.48xlarge", "plan $work/job.yaml");
  cli.refuse("framework: megatron does not train on trn1.32xlarge",
             "simulate llama3-8b --nodes 4 --strategy tp=8,framework=megatron");
  cli.refuse("framework: nxd does not train on p5.48xlarge",
             "simulate llama3-8b --nodes 4 --strategy tp=8,framework=nxd" + kP5);
  for (const std::string precision : {"bf16SR", "autocast", "manual"}) {
    cli.expect(3, "", "simulate llama3-8b --nodes 4 --strategy tp=8 --precision " + precision + kP5);
    cli.says("not-modelled: precision " + precision);
  }
}

// Catches key and value heads that one command splits over more ranks than there are, and another refuses.
TEST_CASE("FSDP has no copies of key and value heads", "[cli]") {
  Session cli;
  cli.expect(3, "", "simulate llama3-8b --nodes 4 --strategy tp=16,framework=fsdp" + kP5);
  cli.says("heads: 8 key and value heads on TP 16");
  cli.expect(0, "", "simulate llama3-8b --nodes 4 --strategy tp=16,framework=megatron" + kP5);
}

// Catches a stack that support offers and plan refuses.
TEST_CASE("support asks the rules of plan", "[cli]") {
  Session cli;
  cli.expect(0, "^Written +nxd$", "support llama2-7b trn2.3xlarge");
  cli.prints("NxDT starts 1, 2, 8, 32, 64 or 128 processes a node, not 4");
  cli.refuse("NxDT starts 1, 2, 8, 32, 64 or 128 processes a node, not 4",
             "plan llama2-7b --nodes 2 --instance trn2.3xlarge --target nxdt");
}

// Catches a sequence of 8,000 tokens for one who means 8,192.
TEST_CASE("a sequence has no unit", "[cli]") {
  Session cli;
  cli.refuse("--sequence: \"8k\" has a unit", "plan llama3-8b --nodes 1 --sequence 8k");
  cli.says("for example 8192");
}

// Catches reasons that are not those of the refusal.
TEST_CASE("a refusal states its own reason", "[cli]") {
  Session cli;
  cli.expect(3, "None recommended: on none of these clusters does a run make progress",
             "whatif llama3-8b --instances p5.48xlarge --nodes 4,8 --tokens 1T --checkpoint-steps 100000000");
  cli.prints("failures come more often than a checkpoint is reached");
  cli.prints_no("no strategy is legal");
  cli.write(
      "cluster.yaml",
      "cluster: {instance: p5.48xlarge, nodes: 4}\n"
      "jobs:\n  - {name: a, job: llama3-8b, nodes: 4, tokens: 1B, strategy: \"tp=1,framework=fsdp\"}\n");
  cli.expect(0, "", "cluster $work/cluster.yaml");
  cli.says_no("software.framework is not stated");
}

// Catches a next command without the interruptions of the row that it shows.
TEST_CASE("the plan of spot nodes is that of spot nodes", "[cli]") {
  Session cli;
  cli.expect(0, "--pricing spot$|--pricing spot ",
             "whatif llama3-8b --instances p5.48xlarge --nodes 4,8 --tokens 1T --pricing spot");
  const std::string job = "plan llama3-8b --nodes 4 --tokens 1T --deadline 90d" + kP5;
  const json spot = json_of(cli, job + "--pricing spot").at("run"),
             stated = json_of(cli, job + "--price p5=25.8/h").at("run");
  INFO(spot.dump());
  CHECK(spot != stated);
  cli.refuse("--pricing: no reserved price of hgx",
             "plan llama3-8b --nodes 2 --instance hgx-h100-80gb --pricing reserved");
}

// Catches: a folder planned at spot prices that other commands priced on demand, and whose cluster file bought nodes on
// demand.
TEST_CASE("a folder keeps the price that it was planned with", "[cli]") {
  Session cli;
  const std::string job = "plan llama3-8b --instance trn1.32xlarge --nodes 4 --tokens 200B --pricing ";
  const auto usd_per_hour = [&](const std::string& line) { return json_of(cli, line).at("usd_per_hour"); };
  for (const std::string more : {"spot", "spot --price trn1=5/h", "usual --price trn1=9/h"}) {
    INFO(more);
    cli.expect(0, "", job + more + " --force --out $work/paid");
    const bool spot = more.starts_with("spot");
    const std::string yaml = cli.read(cli.work("paid/parallelcluster.yaml"));
    CHECK((yaml.find(spot ? "CapacityType: SPOT" : "CapacityType: ONDEMAND") != std::string::npos));
    CHECK((cli.read(cli.work("paid/README.md")).find("paid at spot prices") != std::string::npos) == spot);
    const json plan = json::parse(cli.read(cli.work("paid/plan.json")));
    const json paid = plan.at("usd_per_hour");
    CHECK(json_of(cli, "plan $work/paid").at("plans").at(0).at("usd_per_hour") == paid);
    CHECK(usd_per_hour("simulate $work/paid --strategy tp=8,pp=2") == paid);
    CHECK(json_of(cli, "check $work/paid").at("prediction").at("usd_per_hour") == paid);
    CHECK(json_of(cli, "whatif $work/paid --nodes 4").at("points").at(0).at("usd_per_hour") == paid);
    cli.run("launch $work/paid --dry-run");
    cli.says_no("edited");
  }
  // Of another type, and of another kind that is asked for, it is the catalogue's.
  CHECK(usd_per_hour("simulate $work/paid --instance trn1n.32xlarge --strategy tp=8,pp=2") ==
        usd_per_hour("simulate llama3-8b --instance trn1n.32xlarge --nodes 4 --strategy tp=8,pp=2"));
  CHECK(
      json_of(cli, "plan $work/paid --pricing on_demand").at("plans").at(0).at("usd_per_hour") ==
      json_of(cli, "plan llama3-8b --instance trn1.32xlarge --nodes 4").at("plans").at(0).at("usd_per_hour"));
  std::string edited = cli.read(cli.work("paid/plan.json"));
  edited.replace(edited.find("\"stated\""), 8, "\"Spot\"");
  cli.write("paid/plan.json", edited);
  cli.refuse("plan.json:.*job.price.kind: \"Spot\" is no kind of price",
             "simulate $work/paid --strategy tp=8,pp=2");
}

// Catches: a folder of spot nodes that --instances of its own type priced on demand, and a price that a person wrote
// into plan.json and watch did not count.
TEST_CASE("a folder's price holds for its own type, however it is named, and as it was edited", "[cli]") {
  Session cli;
  cli.expect(
      0, "",
      "plan llama3-8b --instance trn1.32xlarge --nodes 4 --tokens 200B --pricing spot --out $work/paid");
  const auto point = [&](const std::string& more) {
    return json_of(cli, "whatif $work/paid --nodes 4" + more).at("points").at(0);
  };
  CHECK(point(" --instances trn1.32xlarge") == point(""));
  CHECK(point(" --instances trn1.32xlarge --price trn1.32xlarge=5/h") == point(" --price trn1.32xlarge=5/h"));
  CHECK(point(" --instances trn1n.32xlarge").at("usd_per_hour") ==
        json_of(cli, "whatif llama3-8b --instances trn1n.32xlarge --tokens 200B --nodes 4")
            .at("points")
            .at(0)
            .at("usd_per_hour"));
  json plan = json::parse(cli.read(cli.work("paid/plan.json")));
  const double step = plan.at("step_seconds"), usd = plan.at("usd_per_hour");
  std::string log;
  for (int i = 1; i <= 40; ++i)
    log += fmt::format("step {} step_time {:.3f}s throughput 9.0 seq/s loss 5.0\n", i, step);
  cli.write("ran.log", log);
  const auto paid = [&] {
    return json_of(cli, "watch $work/ran.log --once --plan $work/paid").at("usd_so_far").get<double>();
  };
  const double before = paid();
  CHECK(before > 0);
  plan["job"]["price"]["usd_per_hour"] = 2 * usd / 4;
  cli.write("paid/plan.json", plan.dump(1));
  CHECK(paid() == Approx(2 * before));
}

// Catches: --budget refused where --price states the price that the catalogue lacks, and whatif that said "on none of
// these clusters does a run make progress".
TEST_CASE("a budget needs a price, which any command takes and says alike", "[cli]") {
  Session cli;
  const std::string job = " llama3-8b --nodes 2 --budget 900000 --tokens 100B ", h100 = "hgx-h100-80gb",
                    none = "--budget: no price is known for \"hgx-h100-80gb\"";
  for (const std::string command : {"plan" + job + "--instance ", "whatif" + job + "--instances "}) {
    cli.refuse(none, command + h100);
    cli.says("fix: state one with --price hgx-h100-80gb=USD/h");
    cli.expect(0, "", command + h100 + " --price hgx-h100-80gb=30/h");
  }
  cli.refuse("no reserved price is known for \"p5.48xlarge\"",
             "whatif" + job + "--instances p5.48xlarge --pricing reserved");
  // Of several types one with a price is enough.
  cli.expect(0, "state one with --price", "whatif" + job + "--instances p5.48xlarge,hgx-h100-80gb");
}

// Catches: "--out DIR writes config and scripts" on machines for which --out is refused.
TEST_CASE("no folder is offered for a machine that none is written for", "[cli]") {
  Session cli;
  const std::string on = " llama3-8b --nodes 1 --tokens 100B --global-batch 1152 ";
  cli.expect(0, "^Next +--details; --format json$", "plan" + on + "--instance gb200-nvl72");
  cli.says("no config or script is written: a gb200-nvl72 is 18 hosts");
  cli.expect(0, "no config is written for it", "whatif" + on + "--instances gb200-nvl72");
  cli.says("no config or script is written: a gb200-nvl72 is 18 hosts");
  cli.expect(2, "--out: a gb200-nvl72 is 18 hosts", "plan" + on + "--instance gb200-nvl72 --out $work/out");
}

// Catches a measured network that holds for one command, for another machine, or for other nodes than it was measured
// on.
TEST_CASE("a measured network is that of its machine and nodes, whoever asks", "[cli]") {
  Session cli;
  const TestFolder folder;
  const auto job_on = [&](const std::string& nodes) {
    const std::string file = folder / (nodes + ".yaml");
    std::ofstream(file) << "model: llama3-8b\ntraining: {sequence: 8192, global_batch: 1024}\n"
                           "cluster: {instance: p5.48xlarge, all_reduce_gbps: 5, nodes: "
                        << nodes << "}\n";
    return file;
  };
  const std::string job = job_on("4"), out = folder / "out";
  const auto step = [&](const std::string& words) {
    return json_of(cli, words).at("step_seconds").get<double>();
  };
  const std::string strategy = " --strategy tp=2,framework=megatron";
  const double measured = step("simulate " + job + strategy);
  CHECK(measured == step("simulate " + job + " --nodes 4 --instance p5.48xlarge" + strategy));
  CHECK(measured == step("simulate llama3-8b --nodes 4 --all-reduce-gbps 5" + kP5 + strategy));
  CHECK(step("simulate " + job + " --nodes 8" + strategy) ==
        step("simulate llama3-8b --nodes 8 --all-reduce-gbps 5@4" + kP5 + strategy));
  const std::string other = " --nodes 4 --instance hgx-h100-80gb" + strategy;
  CHECK(step("simulate " + job + other) == step("simulate llama3-8b" + other));
  CHECK(step("simulate " + job + other) < 0.9 * measured);
  CHECK(whatif_days(cli, "--nodes 4 --all-reduce-gbps 5") ==
        whatif_days(cli, "--nodes 4 --all-reduce-gbps 5@4"));
  // A stated number holds, even that of the job; a folder's network whatever the machine is called.
  const std::string p5e = " --nodes 4 --instance p5e.48xlarge" + strategy;
  // A job without a machine has measured on the one that an option names; a list of one number is that number.
  const std::string anywhere = folder / "anywhere.yaml";
  std::ofstream(anywhere) << "model: llama3-8b\ntraining: {sequence: 8192, global_batch: 1024}\n"
                             "cluster: {nodes: [4], all_reduce_gbps: 5}\n";
  CHECK(step("simulate " + anywhere + kP5 + strategy) == measured);
  CHECK(step("simulate " + anywhere + " --nodes 8" + kP5 + strategy) ==
        step("simulate llama3-8b --nodes 8 --all-reduce-gbps 5@4" + kP5 + strategy));
  // 16 GiB of two p5 are published at 488 GB/s, 8 % above what links in the node let the model reach.
  CHECK(step("simulate llama3-8b --nodes 2 --all-reduce-gbps 488" + kP5 + strategy) <=
        step("simulate llama3-8b --nodes 2 --all-reduce-gbps 400" + kP5 + strategy));
  CHECK(step("simulate " + job + " --all-reduce-gbps 5" + p5e) ==
        step("simulate llama3-8b --all-reduce-gbps 5@4" + p5e));
  cli.refuse("a measurement is of one", "plan " + job + " --instance p5.48xlarge,p5e.48xlarge");
  cli.refuse("leaves its nodes open", "plan " + job_on("[4,8]") + " --nodes 16");
  cli.refuse("on how many of these nodes",
             "whatif llama3-8b --tokens 1T --nodes 4,8 --all-reduce-gbps 5 --instances p5.48xlarge");
  const json plan = json_of(cli, "plan " + job + " --target megatron --out " + out);
  const auto checked = [&](const std::string& words) {
    return json_of(cli, "check " + words).at("prediction").at("step_seconds").get<double>();
  };
  CHECK(checked(out) == checked(out + "/node_run.sh --nodes 4 --instance p5.48xlarge"));
  CHECK(checked(out) == checked(out + " --instance p5"));
  CHECK(checked(out) == plan.at("plans").at(plan.at("recommended").get<std::size_t>()).at("step_seconds"));
}

// Catches a spine that slows the plan of an ideal machine, where another is the best on it.
TEST_CASE("whatif plans for the spine of its scenario", "[cli]") {
  Session cli;
  CHECK(whatif_days(cli, "--nodes 8 --scenario spine=0.05") ==
        Approx(whatif_days(cli, "--nodes 8 --set oversubscription=20")));
}

// Catches commands that drop what decides the network: the same step was 39.3 s in the answer and 30.1 s by the command
// of its page.
TEST_CASE("commands of pages print the numbers of their pages, whatever the network", "[cli]") {
  Session cli;
  cli.write("table.txt", nccl_sample());
  for (const std::string network : {"--all-reduce-gbps 50", "--all-reduce-gbps 50@8",
                                    "--measured $work/table.txt", "--set oversubscription=64"}) {
    const std::string simulate =
        "simulate llama3-8b --nodes 4 --strategy tp=2,framework=megatron" + kP5 + network;
    const std::string again = command_of_page(cli, simulate, "print the same numbers for a script");
    CHECK(step_of(json::parse(cli.run(again).out)) == step_of(json_of(cli, simulate)));
  }
  const std::string network = "--all-reduce-gbps 50 --set nics=x0.5";
  const std::string kept = "--all-reduce-gbps 50@4 --set nics=x0.5";
  const std::string whatif = "whatif llama3-8b --tokens 1T --nodes 4 --instances p5.48xlarge " + network;
  const double slow = step_of(json_of(cli, whatif + " --scenario spine=0.5").at("points").at(0));
  const std::string shows =
      command_of_page(cli, whatif + " --scenario spine=0.5", "show its step in the scenario");
  CHECK(step_of(json_of(cli, shows).at("scenario")) == slow);
  cli.run(whatif + " --scenario spine=0.5");
  INFO(cli.last.out);
  CHECK(cli.last.out.find("trnplan " + shows) != std::string::npos);
  const double usual = step_of(json_of(cli, whatif).at("points").at(0));
  std::string plans = command_of_page(cli, whatif, "show the plan of that cluster");
  cli.holds("$work/page.html",
            R"("command":"trnplan whatif llama3-8b )" + kept);  // asked for other nodes, too
  plans.resize(plans.find(" --report"));
  const json plan = json_of(cli, plans);
  CHECK(step_of(plan.at("plans").at(plan.at("recommended").get<std::size_t>())) == usual);
  for (const std::string purpose : {"print all numbers for a script",
                                    "show every operator of such a step on a timeline, in ui.perfetto.dev"})
    CHECK(command_of_page(cli, plans, purpose).find(kept) != std::string::npos);
  // Nothing is written for hardware that does not exist.
  cli.lacks("$work/page.html", R"("command":"[^"]*--out)");
  cli.holds("$work/page.html", R"("unwritten":"--set states hardware that does not exist")");
}

// Catches a measurement of one type in the command of another.
TEST_CASE("the command of a cluster has the network of its type", "[cli]") {
  Session cli;
  const std::string command =
      command_of_page(cli,
                      "whatif llama3-8b --tokens 1T --nodes 4 --all-reduce-gbps 50 --prefer fastest "
                      "--instances p5.48xlarge,p5e.48xlarge --scenario jitter=0.01",
                      "show its step in the scenario");
  CHECK(command.find("--instance p5e.48xlarge") != std::string::npos);
  CHECK(command.find("--all-reduce-gbps") == std::string::npos);
}

// Catches a remark on plans for a spine that no plan is for.
TEST_CASE("whatif says which plans are for the spine of its scenario", "[cli]") {
  Session cli;
  const std::string on =
      "whatif llama3-8b --tokens 1T --nodes 4 --scenario spine=0.5 --instances p5.48xlarge";
  cli.run(on);
  cli.says("plans are those of a machine with that spine; their steps");
  cli.run(on + " --all-reduce-gbps 50");
  cli.says("plans are those of an ideal machine, as the network of p5.48xlarge was measured; their steps");
  cli.run(on + ",p5e.48xlarge --all-reduce-gbps 50");
  cli.says(
      "plans are those of a machine with that spine, on p5.48xlarge, whose network was measured, those of an "
      "ideal one; their steps");
}
