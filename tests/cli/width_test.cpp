// Text for people fits 80 columns, without breaking a word.
#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>

#include "cli/text/wrap.h"
#include "tests/catch.h"
#include "tests/cli/run_cli.h"

using namespace trnplan;
using cli::Session;

namespace {

/// Lines wider than `width` that could have been broken: more than one word, and no command to paste.
std::string too_wide(const std::string& text, int width) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find_first_not_of(' ');
    if (cli::columns_of(line) > width && line.find(' ', first) != std::string::npos &&
        line.compare(first, 8, "trnplan ") != 0)
      return line;
  }
  return "";
}

std::multiset<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

}  // namespace

TEST_CASE("the answers of all commands fit 80 columns", "[cli]") {
  Session cli;
  cli.set("config", cli.get("source") + "/tests/io/fixtures/nxdt/hf_llama3_8B_config.yaml");
  cli.set("seventy", cli.get("source") + "/examples/llama3-70b-16-nodes/job.yaml");
  cli.set("logs", cli.get("source") + "/tests/calibrate/fixtures/logs");
  for (const char* command :
       {"plan $example",
        "plan $example --details",
        "plan $example --baseline $config --details",
        "simulate $example --strategy tp=8,pp=4,recompute=full",
        "check $config",
        "check $config --details",
        "topology --tp 16 --dp 2",
        "collective allr --ranks 64 --nodes 2 --bytes 64M",
        "calibrate $logs/nxd-llama3-70b.txt --job $seventy --strategy tp=32,pp=8 --profile trn1-datasheet "
        "--details",
        "validate --memory",
        "validate --goodput",
        "--help",
        "plan --help",
        "calibrate --help",
        "watch --help",
        "whatif --help",
        "launch --help",
        "models",
        "instances",
        "whatif $example --nodes 1,2 --tokens 1T",
        "whatif $example --nodes 1 --tokens 1T --deadline 9d"}) {
    CAPTURE(command);
    cli.run_with("COLUMNS", "80", command);
    CHECK(too_wide(cli.last.out, 80).empty());
    CHECK_FALSE(cli.last.out.empty());
  }
  // A row of the table of instances is one line.
  cli.run_with("COLUMNS", "80", "instances");
  cli.prints(R"(^ +trn2\.48xlarge-lnc1 .* timed$)");
}

TEST_CASE("breaking lines breaks no word", "[cli]") {
  Session cli;
  const std::string command = "check $source/tests/io/fixtures/nxdt/hf_llama3_8B_config.yaml --details";
  const auto wide = words_of(cli.run_with("COLUMNS", "1000", command).out);
  CHECK(words_of(cli.run_with("COLUMNS", "80", command).out) == wide);
  CHECK(words_of(cli.run_with("COLUMNS", "50", command).out) == wide);
}

TEST_CASE("the answer of plan stands on one screen", "[cli]") {
  Session cli;
  const std::string& text = cli.run_with("COLUMNS", "80", "plan $example").out;
  CHECK(std::count(text.begin(), text.end(), '\n') <= 23);
  const std::string& usual = cli.run_with("COLUMNS", "100", "plan $example").out;
  CHECK(std::count(usual.begin(), usual.end(), '\n') <= 16);
}

// Reported: simulate printed 53 lines, and 62 in a scenario.
TEST_CASE("the answer of simulate fits a screen, and the rest comes on request", "[cli]") {
  Session cli;
  cli.set("seventy", cli.get("source") + "/examples/llama3-70b-16-nodes/job.yaml");
  for (const char* command :
       {"simulate $example --strategy tp=8,pp=4,recompute=full",
        "simulate llama3-8b --nodes 2 --strategy tp=8 --scenario slow-node=1:1.5",
        "simulate $seventy --strategy tp=32,pp=8,recompute=CoreAttention+LlamaMLP --scenario "
        "slow-node=1:1.2,spine=0.5",
        "simulate llama3-8b --nodes 4 --instance p5.48xlarge --strategy tp=8,pp=2 --scenario "
        "nic=1:0.5,spine=0.75"}) {
    CAPTURE(command);
    const std::string answer = cli.run_with("COLUMNS", "80", command).out;
    CHECK(std::count(answer.begin(), answer.end(), '\n') <= 24);
    cli.prints("^  step ");
    cli.prints("^  memory +[0-9.]+ of ");
    cli.prints("^Next +--details");
    cli.run(std::string(command) + " --details");
    cli.prints("^    reached in ");
    cli.prints("^  critical path");
  }
  cli.expect(0, "less than the busiest, s",
             "simulate llama3-8b --nodes 2 --strategy tp=8 --scenario slow-node=1:1.5 --details");
}
