// Readings of fixtures, for the tests of log readers.
#pragma once

#include <algorithm>
#include <string>

#include "logs/detect/detect.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "text/document.h"

namespace trnplan::logs {

inline std::string log_text(const std::string& file) {
  return read_text(TRNPLAN_SOURCE_DIR "/tests/calibrate/fixtures/logs/" + file);
}

inline Detected log_fixture(const std::string& file) {
  return detect(log_text(file), file);
}

/// The only step sample of a text.
inline StepSample step_of(const std::string& text) {
  const Detected d = detect(text, "log");
  REQUIRE(d.steps.size() == 1);
  return d.steps[0];
}

/// The only sample of a text, with these seconds and so many steps.
inline void check_step(const Detected& d, double seconds, int count) {
  REQUIRE(d.steps.size() == 1);
  CHECK(d.steps[0].seconds == seconds);
  CHECK(d.steps[0].count == count);
}

/// True if an item at that line was left out, for a reason with these words.
inline bool skips(const Detected& d, int line, const std::string& words) {
  return std::any_of(d.skipped.begin(), d.skipped.end(), [&](const Diagnostic& w) {
    return w.at.line == line && to_string(w).find(words) != std::string::npos;
  });
}

/// Message that refuses a text; "" if it is accepted.
inline std::string refusal(const std::string& text) {
  return refusal_of([&] { detect(text, "log"); });
}

}  // namespace trnplan::logs
