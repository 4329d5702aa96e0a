// Options that several commands share.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/context.h"
#include "planner/search/advisor.h"
#include "topology/instance.h"

namespace trnplan::cli {

/// An unset shell variable must not pass for an answer.
inline CLI::Validator not_empty() {
  return CLI::Validator(
      [](std::string& text) { return text.empty() ? std::string("is empty") : std::string(); }, "TEXT");
}

/// A whole number in decimal digits, from `least` to `most`; nothing else that C++ would read as one.
CLI::Validator whole_number(int least, int most);
/// A finite decimal number from `least` to `most`: no "nan", no "inf", no hexadecimal one.
CLI::Validator decimal_number(double least, double most);

/// A release of the Neuron SDK: numbers with points between, "2.28".
CLI::Validator sdk_release();
/// Likewise of a framework, "1.6".
CLI::Validator framework_version();

inline void add_format(CLI::App& command, Common& common) {
  command.add_option("--format", common.format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
}

inline void add_common(CLI::App& command, Common& common) {
  add_format(command, common);
  command
      .add_option("--profile", common.profile,
                  "parameters: trn1 (fitted to published runs), trn1-datasheet (its priors), another profile "
                  "of the catalogue, or a .json file written by calibrate")
      ->check(not_empty())
      ->default_str("the machine's");
}

/// --json FILE, of commands whose fits are not to be made twice for text and JSON; `common` outlives the command.
void add_document(CLI::App& command, Common& common);
/// --report FILE; `path` outlives the command.
void add_report(CLI::App& command, std::string& path);
/// --pricing; `pricing` outlives the command.
void add_pricing(CLI::App& command, std::string& pricing);
/// `risk` outlives the command.
void add_risk(CLI::App& command, planner::RiskAttitude& risk);

}  // namespace trnplan::cli
