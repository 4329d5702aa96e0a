#include "targets/start/run_values.h"

#include <algorithm>

#include <fmt/format.h>

namespace trnplan::targets {

RunValues::RunValues(const Settings& settings, const std::string& file, std::vector<Diagnostic> before)
    : settings_(settings), file_(file), faults_(std::move(before)) {}

int RunValues::within(std::string_view name, std::int64_t least, std::int64_t most) {
  const std::int64_t value = settings_.whole(name);
  if (settings_.readable(name) && value >= least && value <= most) return static_cast<int>(value);
  outside(name, "whole number", least, most);
  return static_cast<int>(least);
}

double RunValues::number(std::string_view name, double fallback) {
  if (!settings_.given(name)) return fallback;
  const StartKey& k = *settings_.key(name);
  const double value = settings_.number(name);
  if (settings_.readable(name) && value >= static_cast<double>(k.least) &&
      value <= static_cast<double>(k.most))
    return value;
  outside(name, "number", k.least, k.most);
  return static_cast<double>(k.least);
}

void RunValues::outside(std::string_view name, const char* kind, std::int64_t least, std::int64_t most) {
  if (std::any_of(faults_.begin(), faults_.end(), [&](const Diagnostic& d) { return d.key == name; })) return;
  const std::vector<std::string>& stated = settings_.list(name);
  const std::string text = stated.empty() ? settings_.text(name) : stated.front();
  fault(name, fmt::format("{} is not a {} from {} to {}", in_quotes(text), kind, least, most),
        text.find('$') == std::string::npos ? "write a number that is"
                                            : std::string("write a number") + kOrVariable);
}

void RunValues::need_known(std::string_view name) {
  const std::vector<std::string>& stated = settings_.list(name);
  if (settings_.readable(name) || stated.empty() || stated.front().find('$') == std::string::npos) return;
  add_unless_told({settings_.at(name, file_), std::string(name),
                   in_quotes(stated.front()) + " is known to the shell alone",
                   std::string("write the value") + kOrVariable});
}

std::string RunValues::text(std::string_view name) {
  need_known(name);
  const std::vector<std::string>& stated = settings_.list(name);
  return stated.empty() ? settings_.text(name) : stated.front();
}

bool RunValues::on(std::string_view name) {
  need_known(name);
  return settings_.key(name)->kind == KeyKind::whole ? settings_.whole(name) != 0 : settings_.on(name);
}

void RunValues::fault(std::string_view name, std::string problem, std::string fix) {
  faults_.push_back({settings_.at(name, file_), std::string(name), std::move(problem), std::move(fix)});
}

void RunValues::add_unless_told(Diagnostic fault) {
  const auto same_key = [&](const Diagnostic& other) { return other.key == fault.key; };
  if (std::none_of(faults_.begin(), faults_.end(), same_key)) faults_.push_back(std::move(fault));
}

void RunValues::ask(const StartTable& table, const StartFacts& facts) {
  for (Diagnostic& d : layout_faults(table, settings_, facts, file_)) add_unless_told(std::move(d));
}

void RunValues::finish() {
  if (!faults_.empty()) throw InputError(std::move(faults_));
}

int data_parallel_of(const models::Strategy& s, int ranks) {
  const std::int64_t others = s.model_parallel();
  return ranks % others == 0 ? static_cast<int>(ranks / others) : 1;
}

const models::Architecture& model_beside(RunValues& values, const models::Architecture* model,
                                         std::string_view setting) {
  static const models::Architecture none = [] {
    models::Architecture a;
    a.layers = a.hidden = a.heads = a.kv_heads = a.head_dim = 1;
    return a;
  }();
  if (model != nullptr) return *model;
  values.fault(setting, "names a folder with the model's config.json, but there is none next to this file",
               "put the config.json next to it");
  return none;
}

}  // namespace trnplan::targets
