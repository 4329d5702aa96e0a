// Options shared by several commands.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/context.h"
#include "planner/search/advisor.h"
#include "topology/instance.h"

namespace trnplan::cli {

/// Refuses an empty value, such as that of an unset shell variable.
inline CLI::Validator not_empty() {
  return CLI::Validator(
      [](std::string& text) { return text.empty() ? std::string("is empty") : std::string(); }, "TEXT");
}

/// Accepts a whole number in decimal digits from `least` to `most`; no other notation of C++.
CLI::Validator whole_number(int least, int most);
/// Accepts a finite decimal number from `least` to `most`: not "nan", "inf" or hexadecimal.
CLI::Validator decimal_number(double least, double most);
/// Accepts such a number, or a percentage, which it turns into one: "95%".
CLI::Validator share_number(double least, double most);

/// Accepts a release of the Neuron SDK: numbers separated by points, "2.28".
CLI::Validator sdk_release();
/// Accepts a version of a framework, "1.6".
CLI::Validator framework_version();

inline void add_format(CLI::App& command, Common& common) {
  command.add_option("--format", common.format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
}

/// The same for a command with rows.
inline void add_row_format(CLI::App& command, Common& common) {
  command
      .add_option("--format", common.format,
                  "text, json, csv (every row, for a spreadsheet) or markdown (its main columns)")
      ->check(CLI::IsMember({"text", "json", "csv", "markdown"}))
      ->capture_default_str();
}

inline void add_profile(CLI::App& command, Common& common) {
  command
      .add_option("--profile", common.profile,
                  "parameters: trn1 (fitted to published runs), trn1-datasheet (its priors), another profile "
                  "of the catalogue, or a .json file written by calibrate")
      ->check(not_empty())
      ->default_str("the machine's");
}

/// Adds --set KEY=VALUE. Requires: `hardware` outlives the command.
inline void add_hardware(CLI::App& command, std::vector<std::string>& hardware) {
  command
      .add_option(
          "--set", hardware,
          "a number of the instance type, changed: core.memory=32GiB, nic_bandwidth=x2 (twice); trnplan "
          "instances NAME lists them; may be repeated")
      ->check(not_empty())
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

inline void add_common(CLI::App& command, Common& common) {
  add_format(command, common);
  add_profile(command, common);
}

/// Adds --json FILE, for commands that should not compute a fit twice for text and JSON. Requires: `common`
/// outlives the command.
void add_document(CLI::App& command, Common& common);
/// Adds --report FILE. Requires: `path` outlives the command.
void add_report(CLI::App& command, std::string& path);
/// Adds --price. Requires: `price` outlives the command.
void add_price(CLI::App& command, std::string& price);
/// Adds --pricing. Requires: `pricing` outlives the command.
void add_pricing(CLI::App& command, std::string& pricing);
/// Requires: `risk` outlives the command.
void add_risk(CLI::App& command, planner::RiskAttitude& risk);

}  // namespace trnplan::cli
