// Every option that takes a word or a file, with words that none of them takes; and options that do not go together.
#include <utility>

#include "tests/hostile/hostile.h"

namespace trnplan::hostile {

namespace {

/// Options of one command line that is sound without them.
struct Options {
  std::vector<std::string> command, words, files;
};

std::vector<Options> options_of_commands() {
  const std::vector<std::string> job = {"--instance",     "--sequence",  "--nodes",
                                        "--global-batch", "--precision", "--release"};
  const auto with = [](std::vector<std::string> all, const std::vector<std::string>& more) {
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  return {
      {{"plan", "job.yaml"},
       with(job, {"--scheduler", "--target", "--risk", "--format", "--profile", "--tokens", "--objective",
                  "--deadline", "--budget"}),
       {"--baseline"}},
      {{"simulate", "job.yaml", "--strategy", "tp=8"},
       with(job, {"--trace", "--schedule", "--format", "--profile"}),
       {}},
      {{"export", "job.yaml", "--strategy", "tp=8", "--chakra", "traces"}, with(job, {"--profile"}), {}},
      {{"check", "nxdt.yaml"},
       {"--target", "--instance", "--env", "--release", "--framework-version", "--format", "--profile",
        "--nodes"},
       {}},
      {{"whatif", "job.yaml", "--nodes", "1"},
       {"--tokens", "--instances", "--scaling", "--prefer", "--risk", "--pricing", "--recovery", "--format",
        "--profile", "--sequence", "--global-batch", "--precision", "--release"},
       {"--reliability"}},
      {{"launch", "."}, {"--scheduler", "--cluster-flavour", "--format"}, {}},
      {{"watch", "train.log", "--once"},
       {"--strategy", "--instance", "--calibrate", "--record", "--format", "--profile"},
       {"--plan", "--job", "--config"}},
      {{"calibrate", "c.csv", "--no-fit"},
       {"--build", "--op", "--strategy", "--kernel", "--instance", "--format", "--profile"},
       {"--job", "--config"}},
      {{"validate", "c.csv"}, {"--leave-out", "--format"}, {}},
      {{"collective", "allr"}, {"--datatype", "--algorithm", "--instance", "--format", "--profile"}, {}},
      {{"topology"}, {"--instance", "--format", "--profile"}, {"--neuron-ls"}},
      {{"sweep", "grid.yaml", "--collect"},
       {"--scheduler", "--task", "--risk", "--budget", "--pricing", "--format", "--profile"},
       {}},
      {{"models"}, {"--format"}, {}},
      {{"instances"}, {"--format"}, {}},
  };
}

}  // namespace

std::vector<Command> word_rows() {
  std::vector<Command> all;
  for (const Options& o : options_of_commands()) {
    const auto add = [&](std::vector<std::string> words, std::string says) {
      words.insert(words.begin(), o.command.begin(), o.command.end());
      all.push_back({std::move(words), std::move(says)});
    };
    for (const std::string& option : o.words) {
      for (const std::string& word : {std::string("\033[2J"), std::string("../x"), std::string("nope"),
                                      repeat("x", 3000), std::string("99999999999999999999")})
        add({option, word}, option);
    }
    for (const std::string& option : o.files) {
      for (const std::string& word : {std::string("\033[2J"), std::string("../x"), repeat("x", 3000)})
        add({option, word}, option == "--job" ? ": " : "cannot be read: ");
    }
    for (const auto* options : {&o.words, &o.files}) {
      for (const std::string& option : *options) {
        add({option}, option);
        add({option, ""}, option);
        if (option != "--env" && option != "--kernel") add({option, "a", option, "b"}, option);
      }
    }
  }
  return all;
}

std::vector<Command> report_rows() {
  std::vector<Command> all;
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"plan", "job.yaml"},
                                             {"simulate", "job.yaml", "--strategy", "tp=32"},
                                             {"whatif", "job.yaml", "--nodes", "1"},
                                             {"watch", "train.log", "--once"},
                                             {"validate", "--measured", "layouts.csv"}}) {
    for (const auto& [path, says] : std::vector<std::pair<std::string, std::string>>{
             {"/dev/null", "/dev/null: "},
             {"/dev/full", "/dev/full: "},
             {"/dev/stdout", "/dev/stdout: is not a regular file"},  // not the link replaced by a page
             {"/dev/null/x.html", "/dev/null/x.html: "},
             {"/proc/x.html", "/proc/x.html: "},
             {"no/x.html", "no/x.html: its folder does not exist"},
             {".", ".: "},
             {"..", "..: "},
             {"", "--report"},
             {"job.yaml/x.html", "job.yaml/x.html: its parent is not a folder"},
             {repeat("x", 300) + ".html", "its name is too long"},
             {"\033[2J.html", "is not a plain file name"},
             {"a\nb.html", "is not a plain file name"}}) {
      std::vector<std::string> words = command;
      words.insert(words.end(), {"--report", path, "--force"});
      all.push_back({std::move(words), says});
    }
    std::vector<std::string> onto_itself = command, twice = command;
    onto_itself.insert(onto_itself.end(), {"--report", command[command.size() > 2 ? 2 : 1], "--force"});
    if (command.front() == "validate") all.push_back({onto_itself, "--report: "});
    twice.insert(twice.end(), {"--report", "x.html", "--report", "y.html"});
    all.push_back({twice, "--report"});
  }
  return all;
}

std::vector<Command> mixed_rows() {
  return {
      {{"calibrate", "c.csv", "--json", "/proc/x.json"}, "/proc/x.json: "},
      {{"calibrate", "c.csv", "--json", "no/x.json"}, "no/x.json: "},
      {{"calibrate", "c.csv", "--json", "."}, ".: "},
      {{"calibrate", "c.csv", "--json", "c.csv", "--force"}, "--json: \"c.csv\""},
      {{"calibrate", "c.csv", "--out", "m.json", "--json", "m.json"}, "--json: \"m.json\""},
      {{"calibrate", "c.csv", "--json", "/dev/stdout", "--force"}, "/dev/stdout: is not a regular file"},
      {{"calibrate", "m.json", "--out", "m.json", "--force"}, "--out: \"m.json\""},
      {{"calibrate", "c.csv", "--out", "c.csv", "--force"}, "--out"},
      {{"calibrate", "c.csv", "--no-fit", "--out", "x.json"}, "--out"},
      {{"calibrate", "c.csv", "--force"}, "--force"},
      {{"calibrate", "train.log", "--strategy", "tp=8"}, "--strategy"},
      {{"calibrate", "train.log", "--job", "job.yaml", "--config", "nxdt.yaml"}, "--config"},
      {{"calibrate", "train.log", "--config", "job.yaml"}, "job.yaml"},
      {{"calibrate", "c.csv", "--run", "."}, "plan.json"},
      {{"validate", "--measured", "layouts.csv", "--json", "/proc/x.json"}, "/proc/x.json: "},
      {{"validate", "--measured", "layouts.csv", "--json", "layouts.csv", "--force"},
       "--json: \"layouts.csv\""},
      {{"validate", "--measured", "layouts.csv", "--json", "x", "--report", "x"}, "--report: \"x\""},
      {{"validate", "--measured", "layouts.csv", "--predictions", "."}, ".: "},
      {{"validate", "--measured", "layouts.csv", "--predictions", "/dev/zero"}, "/dev/zero: "},
      {{"validate", "--measured", "layouts.csv", "--predictions", "c.csv"}, "c.csv:"},
      {{"validate", "--measured", "layouts.csv", "--profile", "nope"}, "nope"},
      {{"validate", "--measured", "layouts.csv", "--memory"}, "--measured"},
      {{"validate", "--measured", "c.csv"}, "c.csv:"},
      {{"validate", "--measured", "."}, ".: "},
      {{"validate", "--measured", "job.yaml"}, "job.yaml:"},
      {{"validate", "--measured", "/dev/zero"}, "/dev/zero: "},
      {{"validate", "--predictions", "c.csv"}, "--predictions"},
      {{"validate", "--no-network-state"}, "--no-network-state"},
      {{"validate", "--memory", "c.csv"}, "runs"},
      {{"validate", "--goodput", "c.csv"}, "runs"},
      {{"validate", "--collectives", "c.csv"}, "runs"},
      {{"validate", "--memory", "--collectives"}, "validate"},
      {{"validate", "--memory", "--report", "x.html"}, "--report"},
      {{"validate", "--collectives", "--report", "x.html"}, "--report"},
      {{"validate", "--memory", "--predictions", "c.csv"}, "--predictions"},
      {{"validate", "layouts.csv", "layouts.csv"}, "\"layouts.csv\": unexpected argument"},
      {{"export", "job.yaml", "--strategy", "tp=5", "--chakra", "t"}, "--strategy"},
      {{"export", "job.yaml", "--strategy", "", "--chakra", "t"}, "--strategy"},
      {{"export", "job.yaml", "--strategy", "tp=8"}, "--chakra"},
      {{"export", "job.yaml", "--chakra", "t"}, "--strategy"},
      {{"export", "nothere", "--strategy", "tp=8", "--chakra", "t"}, "\"nothere\""},
      {{"export", "job.yaml", "--strategy", "tp=8", "--chakra", "t", "--instance", "p5."}, "p5.48xlarge"},
      {{"launch", ".", "--cluster-file", "nothere"}, "nothere: "},
      {{"launch", ".", "--cluster-file", ""}, "--cluster-file"},
      {{"launch", ".", "--scheduler", "local", "--cluster-flavour", "eks-mpijob"}, "plan.json: is missing"},
      {{"launch", ".", "extra"}, "\"extra\": unexpected argument"},
      {{"watch", "train.log", "--once", "--plan", "job.yaml"}, "job.yaml"},
      {{"watch", "train.log", "--once", "--plan", "nxdt.yaml", "--config", "nxdt.yaml"}, "--plan"},
      {{"watch", "train.log", "--once", "--strategy", "tp=8", "--config", "nxdt.yaml"}, "--strategy"},
      {{"watch", "train.log", "--once", "--job", "job.yaml", "--strategy", "tp=5"}, "--strategy"},
      {{"watch", "train.log", "--once", "--record", "/proc/x.json"}, "/proc/x.json: "},
      {{"watch", "train.log", "--once", "--calibrate", "/proc/x.json", "--job", "job.yaml", "--strategy",
        "tp=8"},
       "/proc/x.json: "},
      {{"watch", "m.json", "--once", "--record", "m.json"}, "--record: \"m.json\""},
      {{"watch", "train.log", "--once", "--record", "m.json", "--calibrate", "m.json", "--job", "job.yaml",
        "--strategy", "tp=8"},
       "--calibrate: \"m.json\""},
      {{"watch", "train.log", "train.log", "--once", "--report", "x.html"}, "--report"},
      {{"watch", "train.log", "train.log", "--once", "--calibrate", "x.json"}, "--calibrate"},
      {{"sweep", "grid.yaml", "--collect", "--task", "0/2"}, "--task"},
      {{"sweep", "grid.yaml", "--budget", "0", "--collect"}, "--budget"},
      {{"sweep", "grid.yaml", "extra"}, "\"extra\": unexpected argument"},
      {{"models", "extra"}, "\"extra\": unexpected argument"},
      {{"models", "--nodes", "2"}, "--nodes"},
      {{"instances", "--format", "text", "json"}, "unknown instance type \"json\""},
      {{"check", "nxdt.yaml", "extra"}, "\"extra\": unexpected argument"},
      {{"check", "nxdt.yaml", "--env", "=x"}, "--env"},
      {{"check", "nxdt.yaml", "--target", "megatron"}, "--instance"},
      {{"check", "nxdt.yaml", "--target", "torchtitan"}, "--instance"},
      {{"check", "nxdt.yaml", "--target", "bert"}, "--instance"},
      {{"check", "grid.yaml"}, "grid.yaml"},
      {{"check", "c.csv"}, "c.csv"},
      {{"check", "train.log"}, "train.log"},
      {{"topology", "--neuron-ls", "job.yaml"}, "job.yaml"},
      {{"topology", "--cp", "3"}, "--cp"},
      {{"topology", "--profile", "job.yaml"}, "job.yaml"},
      {{"topology", "--tp", "8", "--profile", "nope.json"}, "nope.json: "},
      {{"collective", "allr", "--measured", "train.log"}, "train.log"},
      {{"collective", "allr", "--measured", "c.csv", "--in-graph"}, "--in-graph"},
      {{"collective", "allr", "extra"}, "\"extra\": unexpected argument"},
      {{"whatif", "job.yaml", "--nodes", "1", "--nodes", "2"}, "--nodes"},
      {{"whatif", "job.yaml", "--nodes", "1876"}, "--nodes"},
      {{"whatif", "job.yaml", "--nodes", "1", "--storage-gb-per-second", "0"}, "--storage-gb-per-second"},
      {{"whatif", "job.yaml", "--nodes", "1", "--failures-per-node-day", "0"}, "--failures-per-node-day"},
      {{"whatif", "grid.yaml", "--nodes", "1"}, "grid.yaml"},
      {{"whatif", "llama3-8c", "--nodes", "1"}, "llama3-8b"},
      {{"simulate", "job.yaml"}, "--strategy"},
      {{"simulate", "job.yaml", "--strategy", "tp=8", "--trace", "/dev/stdout", "--force"}, "--trace"},
      {{"simulate", "job.yaml", "--strategy", "tp=8", "--trace", "x.json", "--report", "x.json"},
       "--report: \"x.json\""},
      {{"plan", "job.yaml", "--report", "x.pdf"}, "--report: \"x.pdf\""},
      {{"plan", "job.yaml", "--out", "/sys/x"}, "/sys/x: "},
      {{"plan", "job.yaml", "--out", "/proc/1/x"}, "/proc/1"},
      {{"plan", "job.yaml", "--out", "a", "--out", "b"}, "--out"},
      {{"plan", "job.yaml", "--out", "a", "--target", "torchtitan"}, "target"},
      {{"plan", "job.yaml", "--objective", "deadline"}, "deadline"},
      {{"plan", "c.csv"}, "c.csv"},
      {{"plan", "layouts.csv"}, "layouts.csv"},
      {{"plan", "train.log"}, "train.log"},
  };
}

}  // namespace trnplan::hostile
