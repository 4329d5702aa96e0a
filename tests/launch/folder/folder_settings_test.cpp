#include "launch/folder/folder_settings.h"

#include <cstdlib>
#include <random>
#include <set>

#include "launch/folder/bundle.h"
#include "launch/process/process.h"
#include "planner/check/judge.h"
#include "targets/registry.h"
#include "tests/catch.h"
#include "tests/folder.h"
#include "tests/models/setup.h"
#include "tests/seeds.h"

using namespace trnplan;

namespace {

/// "-" for what is not set.
std::string value(const std::string& text, const std::string& name = "A") {
  const launch::SettingsFile file = launch::read_settings(text);
  const auto found = file.values.find(name);
  return found == file.values.end() ? "-" : found->second.value;
}

std::string fault(const std::string& text) {
  std::string all;
  for (const auto& f : launch::read_settings(text).faults)
    all += std::to_string(f.line) + ": " + f.problem + "\n";
  return all;
}

}  // namespace

TEST_CASE("a setting is what stands behind its name", "[launch]") {
  CHECK(value("A=/x") == "/x");
  CHECK(value("A=") == "");
  CHECK(value("A=\"/a b\"") == "/a b");
  CHECK(value("A=''") == "");
  CHECK(value("A=a=b # c") == "a=b # c");
  CHECK(value("A='it's \"odd\"'") == "it's \"odd\"");
  for (const char* text :
       {"$HOME", "$(touch pwned)", "`touch pwned`", "a; touch pwned", "~/x", "a\\ b", "${A:-b}", "*"}) {
    INFO(text);
    CHECK(value(std::string("A=") + text) == text);
  }
  CHECK(value("\n  # A=/x\n#\nB=/y\n", "B") == "/y");
  CHECK(launch::read_settings("#\n\nA=1\nB=2").values.at("B").line == 4);
}

// Catches a file that jobs would read otherwise than the person meant it.
TEST_CASE("lines that are no settings are reported", "[launch]") {
  for (const char* line :
       {"touch pwned", "export A=/x", " A=/x", "A =/x", "=x", "1A=x", "A+=x", "A[0]=x", "if true"}) {
    INFO(line);
    CHECK(fault(std::string("# c\n") + line) == "2: is not a line NAME=VALUE\n");
  }
  CHECK(fault("A=1\nB=2\nA=3") == "3: was set in line 1 before\n");
  CHECK(value("A=1\nA=3") == "1");
  CHECK(fault("A=/x ") == "1: has a blank at an end of its value\n");
  CHECK(fault("A=\"/x") == "1: has a quote at one end alone\n");
  CHECK(fault("A='") == "1: has a quote at one end alone\n");
  CHECK(fault("A=/x\r\nB=/y\r\n") == "1: holds a control character\n2: holds a control character\n");
  CHECK(fault("A=1\nB=") == "");
  // Name that a line seems to set, so that it is not reported as missing too.
  const auto named = [](const std::string& text) { return launch::read_settings(text).faults.at(0).name; };
  CHECK(named("export A=/x") == "A");
  CHECK(named(" A =/x") == "A");
  CHECK(named("A=/x ") == "A");
  CHECK(named("=x") == "");
}

TEST_CASE("the environment and the folder come in, in pods the folder's alone", "[launch]") {
  const launch::SettingsFile file =
      launch::read_settings("TRNPLAN_OF_TEST=/file\nTRNPLAN_RESULTS=./run\nNO_SUCH=\n");
  const launch::FolderSettings here(file, "/plan"), there(file, "/plan", launch::Pods{"/shared/plan", {}});
  REQUIRE(setenv("TRNPLAN_OF_TEST", "/own", 1) == 0);
  CHECK(here.value("TRNPLAN_OF_TEST") == "/own");
  CHECK(here.find("TRNPLAN_OF_TEST")->line == 0);  // no line of the file says it
  CHECK(there.value("TRNPLAN_OF_TEST") == "/file");
  CHECK(there.find("TRNPLAN_OF_TEST")->line == 1);
  unsetenv("TRNPLAN_OF_TEST");
  CHECK(here.value("TRNPLAN_RESULTS") == "/plan/run");
  CHECK(there.value("TRNPLAN_RESULTS") == "/shared/plan/run");
  CHECK(here.find("NO_SUCH")->line == 3);
  CHECK_FALSE(here.find("PATH").has_value());  // the scripts take no other names from anywhere
}

// Differential: bash, which sources what the folder's scripts source, holds what is read here, and nothing else.
TEST_CASE("setup_env.sh and launch read the same", "[launch]") {
  const models::Job job = job_of("llama3-8b", 1, 8192, 256);
  const auto judged = planner::judge(job, strategy_of(job, "tp=8,recompute=full"), datasheet());
  const TestFolder folder;
  for (const io::OutputFile& f : launch::bundle(job, *judged.plan, targets::standard()))
    folder.write(f.name, f.text);
  const std::string written = read_text(folder / "settings.env");
  const auto names = launch::read_settings(written).values;
  REQUIRE(names.size() == 12);
  const std::vector<std::string> pieces = {"$(touch pwned)",
                                           "`touch pwned`",
                                           ";touch pwned;",
                                           "./",
                                           "/x",
                                           " ",
                                           "\"",
                                           "'",
                                           "\\",
                                           "$HOME",
                                           "=",
                                           "a",
                                           "#",
                                           "*",
                                           "~",
                                           "!",
                                           "%",
                                           "é",
                                           "",
                                           "${TRNPLAN:-b}"};
  for (const unsigned seed : seeds(1, 20)) {
    INFO(seed);
    std::mt19937 dice(seed);
    std::string text = "PATH=/absent\ntouch pwned\nplan=/elsewhere\n";
    for (const auto& [name, setting] : names) {
      std::string own;
      for (unsigned i = dice() % 4; i > 0; --i) own += pieces[dice() % pieces.size()];
      if (dice() % 3 == 0) own = '"' + own + '"';
      text += name + "=" + own + "\n";
      if (!fault(name + "=" + own).empty()) text.erase(text.rfind(name + "="));
    }
    text.pop_back();  // the last line has no end
    folder.write("settings.env", text);
    std::string script =
        "set -eu; cd \"$1\"; plan=$1; . \"$plan/setup_env.sh\"; printf '%s\\0' \"$PATH\" \"$plan\"";
    const launch::FolderSettings read(launch::read_settings(text), folder.path,
                                      launch::Pods{folder.path, {}});
    std::string expected = std::string("/usr/bin:/bin") + '\0' + folder.path.string() + '\0';
    for (const auto& [name, setting] : names) {
      script += " \"${" + name + "-}\"";
      expected += read.value(name) + '\0';
    }
    const auto ran = launch::run_program(
        {"env", "-i", "PATH=/usr/bin:/bin", "bash", "--norc", "-c", script, "bash", folder.path.string()});
    CHECK(ran.error == "");
    CHECK(ran.output == expected);
    CHECK_FALSE(std::filesystem::exists(folder.path / "pwned"));
  }
}
