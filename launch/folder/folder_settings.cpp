#include "launch/folder/folder_settings.h"

#include <algorithm>
#include <cstdlib>

#include "io/input/plan_file.h"
#include "targets/registry.h"
#include "text/document.h"
#include "text/lines.h"
#include "text/log_lines.h"

namespace trnplan::launch {

namespace {

bool is_name(std::string_view text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  return !text.empty() && text.find_first_not_of(kLetters) == std::string_view::npos &&
         (text.front() < '0' || text.front() > '9');
}

bool is_quote(char c) {
  return c == '"' || c == '\'';
}

std::string last_word(std::string_view text) {
  const std::string_view words = trimmed(text);
  return std::string(words.substr(words.find_last_of(" \t") + 1));
}

/// Problem of the text after the =; "" if there is none.
const char* fault_of(std::string_view value) {
  if (std::any_of(value.begin(), value.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }))
    return "holds a control character";
  if (value.empty()) return "";
  if (value.front() == ' ' || value.back() == ' ') return "has a blank at an end of its value";
  const bool begins = is_quote(value.front()), ends = is_quote(value.back());
  if ((begins || ends) && (value.size() < 2 || value.front() != value.back()))
    return "has a quote at one end alone";
  return "";
}

}  // namespace

SettingsFile read_settings(const std::string& text) {
  SettingsFile file;
  int number = 0;
  for (const std::string_view row : lines_of(text)) {
    ++number;
    const std::size_t first = row.find_first_not_of(" \t");
    if (first == std::string_view::npos || row[first] == '#') continue;
    const std::size_t equals = row.find('=');
    const std::string_view name = row.substr(0, equals);
    if (equals == std::string_view::npos || !is_name(name)) {
      file.faults.push_back({number, last_word(name), "is not a line NAME=VALUE"});
      continue;
    }
    std::string_view value = row.substr(equals + 1);
    if (const std::string wrong = fault_of(value); !wrong.empty()) {
      file.faults.push_back({number, std::string(name), wrong});
      continue;
    }
    if (!value.empty() && is_quote(value.front())) value = value.substr(1, value.size() - 2);
    if (const auto [before, fresh] =
            file.values.try_emplace(std::string(name), Setting{std::string(value), number});
        !fresh)
      file.faults.push_back(
          {number, std::string(name), "was set in line " + std::to_string(before->second.line) + " before"});
  }
  return file;
}

std::vector<std::string> modes_of(const planner::Target& target) {
  if (target.compiles_ahead()) return {"compile", "train"};
  return {"train"};
}

std::vector<std::string> modes_of(const HeldFolder& folder) {
  const planner::Target* target = nullptr;
  try {
    const Node plan = parse_document(folder.read(io::kPlanFile), io::kPlanFile);
    if (const Node* name = plan.find("target")) target = targets::find(name->scalar);
  } catch (const InputError&) {
    target = nullptr;
  }
  return modes_of(target == nullptr ? targets::standard() : *target);
}

FolderSettings::FolderSettings(SettingsFile file, const std::filesystem::path& folder,
                               std::optional<Pods> pods)
    : file_(std::move(file)), folder_(pods ? pods->folder : folder.string()), in_pods_(pods.has_value()) {}

std::optional<Setting> FolderSettings::find(std::string_view name) const {
  const auto found = file_.values.find(name);
  if (found == file_.values.end()) return std::nullopt;
  Setting seen = found->second;
  const char* own = in_pods_ ? nullptr : std::getenv(found->first.c_str());
  if (own != nullptr && *own != '\0') {
    seen = {own, 0};
  } else if (seen.value.starts_with("./")) {
    seen.value.replace(0, 1, folder_);
  }
  return seen;
}

std::optional<Setting> FolderSettings::results() const {
  auto stated = find(kResults);
  if (stated && stated->value.empty()) stated->value = folder_ + "/run";
  return stated;
}

std::string FolderSettings::value(std::string_view name) const {
  const auto found = find(name);
  return found ? found->value : "";
}

}  // namespace trnplan::launch
