#include <regex>
#include <sstream>

#include "logs/detect/detect.h"
#include "tests/catch.h"
#include "tests/launch/folder/entry_points/entry_point.h"
#include "tests/launch/stand_in/trainer/scripts.h"

using namespace trnplan;

namespace {

/// A script, a published log of it where there is one, and what the readers of logs call its lines.
struct LineRow {
  const char *entry, *log, *format, *framework;
};

constexpr LineRow kLineRows[] = {
    {"nxd-tp-zero1", "", "LOG lines", "nxd"},
    {"nxd-pp", "nxd-llama3-70b.txt", "NxD step lines", "nxd"},
    {"nemo-megatron", "nemo-llama2-7b.txt", "progress bar", "nemo-megatron"},
    {"bert", "bert-log-lines.txt", "LOG lines", "bert"},
};

/// Of a text, those that the script's pattern finds a step in.
int steps_in(const std::string& text, const std::regex& pattern) {
  int found = 0;
  std::string lines = text;
  for (char& c : lines) c = c == '\r' ? '\n' : c;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) found += std::regex_search(line, pattern) ? 1 : 0;
  return found;
}

}  // namespace

TEST_CASE("stand-ins print the lines that the scripts print, and both are read", "[launch]") {
  for (const LineRow& row : kLineRows) {
    INFO(row.entry);
    const EntryPoint entry(entry_point_table(), row.entry);
    const std::regex pattern(entry.text("line"));
    const auto script = stand_in::script_named(entry.text("script"));
    stand_in::Training t;
    t.steps = 40;
    t.batch = 256;
    std::string text;
    stand_in::Moment m;
    for (m.step = 1; m.step <= t.steps; ++m.step) {
      m.seconds = 20;
      m.elapsed += m.seconds;
      m.clock = 1'700'000'000 + static_cast<std::time_t>(m.elapsed);
      const std::string line = script->line(t, m);
      CHECK(steps_in(line, pattern) >= 1);
      text += line;
    }
    std::string published;
    if (*row.log != '\0')
      published = read_text(std::string(TRNPLAN_SOURCE_DIR "/tests/calibrate/fixtures/logs/") + row.log);
    if (!published.empty()) CHECK(steps_in(published, pattern) >= 3);
    for (const std::string& log : {text, published}) {
      if (log.empty()) continue;
      const logs::Detected read = logs::detect(log, "log");
      REQUIRE_FALSE(read.steps.empty());
      CHECK(read.steps[0].format == row.format);
      CHECK(read.steps[0].framework == row.framework);
    }
    CHECK(logs::detect(text, "log").steps[0].seconds == Approx(20).epsilon(0.03));
  }
}
