#include "cli/options.h"

#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "text/parse.h"

namespace trnplan::cli {

namespace {

/// Digits with a sign, a point or an exponent.
std::optional<double> parse_decimal(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::string out_of(const std::string& text, const char* kind, const std::string& least,
                   const std::string& most) {
  return fmt::format("Value {} is not a {} from {} to {}", text.empty() ? "\"\"" : printable(text, 60), kind,
                     least, most);
}

CLI::Validator numbers_with_points(const char* otherwise, const char* name) {
  return CLI::Validator(
      [otherwise](std::string& text) { return is_version(text) ? "" : in_quotes(text) + " is " + otherwise; },
      name);
}

}  // namespace

CLI::Validator whole_number(int least, int most) {
  return CLI::Validator(
      [least, most](std::string& text) {
        const std::optional<int> value = parse_whole(text);
        if (value && *value >= least && *value <= most) {
          text = fmt::to_string(*value);  // CLI11 would take a leading 0 for octal
          return std::string();
        }
        return out_of(text, "whole number", fmt::to_string(least), fmt::to_string(most));
      },
      fmt::format("{}..{}", least, most));
}

CLI::Validator decimal_number(double least, double most) {
  return CLI::Validator(
      [least, most](std::string& text) {
        const std::optional<double> value = parse_decimal(text);
        if (value && *value >= least && *value <= most) return std::string();
        return out_of(text, "number", fmt::format("{:.15g}", least), fmt::format("{:.15g}", most));
      },
      fmt::format("{:.15g}..{:.15g}", least, most));
}

CLI::Validator share_number(double least, double most) {
  return CLI::Validator(
      [least, most](std::string& text) {
        const std::optional<double> value = parse_share(text);
        if (!value || *value < least || *value > most)
          return out_of(text, "share", fmt::format("{:.15g}", least), fmt::format("{:.15g}", most));
        text = fmt::format("{}", *value);
        return std::string();
      },
      fmt::format("{:.15g}..{:.15g}", least, most));
}

CLI::Validator sdk_release() {
  return numbers_with_points("not a Neuron SDK release, such as 2.28", "RELEASE");
}

CLI::Validator framework_version() {
  return numbers_with_points("not a version of a framework, such as 1.6", "VERSION");
}

void add_document(CLI::App& command, Common& common) {
  command
      .add_option("--json", common.document,
                  "also write the answer as a JSON document to this file (docs/json.md)")
      ->check(not_empty());
}

void add_report(CLI::App& command, std::string& path) {
  command
      .add_option(
          "--report", path,
          "also write the answer, with charts, as one HTML file that needs no network (docs/report.md)")
      ->check(not_empty());
}

void add_price(CLI::App& command, std::string& price) {
  command
      .add_option(
          "--price", price,
          "price per node by type: p5.48xlarge=38.2/h,trn2=20/h, or a file of them (YAML, JSON or CSV)")
      ->check(not_empty());
}

void add_pricing(CLI::App& command, std::string& pricing) {
  command
      .add_option("--pricing", pricing,
                  "price of the nodes, from the catalogue; default: on demand; with a single type any price "
                  "that is known")
      ->check(CLI::IsMember(
          {"usual", "on-demand", "reserved", "capacity-block", "spot", "on_demand", "capacity_block"}))
      ->capture_default_str();
}

void add_risk(CLI::App& command, planner::RiskAttitude& risk) {
  command
      .add_option_function<std::string>(
          "--risk", [&risk](const std::string& text) { risk = *planner::risk_attitude_from(text); },
          "which plan is recommended. neutral: the least expected cost, counting the risk that a plan does "
          "not fit or compile, or a safer plan that may be as good and costs little more on average "
          "(docs/models.md); averse: the least cost at the slow end, where a plan that fails has no "
          "successor; fastest")
      ->check(CLI::IsMember({"neutral", "averse", "fastest"}))
      ->default_str("neutral");
}

}  // namespace trnplan::cli
