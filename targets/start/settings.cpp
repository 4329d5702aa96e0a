#include "targets/start/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "text/log_lines.h"

namespace trnplan::targets {

namespace {

/// Whole number with its sign.
std::optional<std::int64_t> signed_whole(std::string_view text) {
  const bool negative = text.starts_with('-');
  const auto size = whole_number_of(negative ? text.substr(1) : text);
  if (!size || *size > kLargestSetting) return std::nullopt;
  return negative ? -*size : *size;
}

const char* fix_of(KeyKind kind) {
  switch (kind) {
    case KeyKind::whole:
      return "write a whole number";
    case KeyKind::number:
      return "write a number";
    case KeyKind::truth:
      return "write true or false";
    case KeyKind::list:
      return "write a list of texts";
    default:
      return "write a text";
  }
}

}  // namespace

std::vector<std::string> split_words(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> all;
  for (std::string word; in >> word;) all.push_back(word);
  return all;
}

Settings::Settings(StatedByName stated, const std::vector<StartKey>& keys)
    : stated_(std::move(stated)), keys_(keys) {
  for (const StartKey& k : keys_) {
    const auto found = stated_.find(k.name);
    if (found != stated_.end()) read(k, found->second);
  }
}

void Settings::read(const StartKey& k, const Stated& stated) {
  if (k.kind == KeyKind::toggle || k.kind == KeyKind::any) return;
  const auto wrong = [&](std::string problem, std::string fix) {
    unreadable_.insert(k.name);
    faults_.push_back({stated.at, k.name, std::move(problem), std::move(fix)});
  };
  if (stated.list != (k.kind == KeyKind::list))
    return wrong(stated.list ? "is a list" : "is not a list", fix_of(k.kind));
  const bool counts = k.kind == KeyKind::whole || k.kind == KeyKind::number || k.kind == KeyKind::truth;
  if (counts && stated.quoted) return wrong("is a text in quotes", fix_of(k.kind));
  if (k.kind == KeyKind::list) {
    if (!stated.quoted) wrong("an item of the list is not a text", fix_of(k.kind));
    return;
  }
  const std::string value = stated.values.empty() ? "" : stated.values.front();
  if (value.find('$') != std::string::npos && !stated.quoted) {
    unreadable_.insert(k.name);
    return;
  }
  const std::string shown = in_quotes(value);
  if (k.kind == KeyKind::whole) {
    const auto number = signed_whole(value);
    if (!number) return wrong(shown + " is not a whole number that is accepted here", fix_of(k.kind));
    if (*number < k.least) return wrong(shown + " is too small", fmt::format("write {} or more", k.least));
  } else if (k.kind == KeyKind::number) {
    if (!number_of(value)) return wrong(shown + " is not a number", fix_of(k.kind));
  } else if (k.kind == KeyKind::truth) {
    if (value != "true" && value != "false") return wrong(shown + " is not true or false", fix_of(k.kind));
  }
  const std::vector<std::string> choices = split_words(k.choices);
  if (choices.empty() || std::find(choices.begin(), choices.end(), value) != choices.end()) return;
  const std::string near = nearest(value, choices);
  std::string all;
  for (const std::string& c : choices) all += (all.empty() ? "" : ", ") + c;
  wrong(shown + " is not one of the accepted values", near.empty() ? "write one of " + all : "write " + near);
}

const StartKey* Settings::key(std::string_view name) const {
  const auto found =
      std::find_if(keys_.begin(), keys_.end(), [&](const StartKey& k) { return name == k.name; });
  return found == keys_.end() ? nullptr : &*found;
}

bool Settings::on(std::string_view name) const {
  const StartKey* k = key(name);
  if (k != nullptr && k->kind == KeyKind::truth) return text(name) == "true";
  return given(name);
}

std::string Settings::text(std::string_view name) const {
  const auto found = stated_.find(name);
  if (found != stated_.end() && readable(name))
    return found->second.values.empty() ? "" : found->second.values.front();
  const StartKey* k = key(name);
  return k == nullptr ? "" : k->usual;
}

const std::vector<std::string>& Settings::list(std::string_view name) const {
  static const std::vector<std::string> kNone;
  const auto found = stated_.find(name);
  return found == stated_.end() ? kNone : found->second.values;
}

bool Settings::is_list(std::string_view name) const {
  const auto found = stated_.find(name);
  return found != stated_.end() && found->second.list;
}

std::int64_t Settings::whole(std::string_view name) const {
  return signed_whole(text(name)).value_or(0);
}

double Settings::number(std::string_view name) const {
  return number_of(text(name)).value_or(0);
}

SourcePos Settings::at(std::string_view name, const std::string& file) const {
  const auto found = stated_.find(name);
  return found == stated_.end() ? SourcePos{file, 0, 0} : found->second.at;
}

}  // namespace trnplan::targets
