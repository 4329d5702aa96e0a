#include "io/input/nxdt_edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "targets/nxdt/nxdt_yaml.h"
#include "text/diagnostic.h"
#include "text/document.h"
#include "text/lines.h"

namespace trnplan::io {

namespace {

using targets::Change;
using targets::NxdtKey;

/// Lines of the file from `first` on (from 0): `count` are removed, `added` replace them.
struct Hunk {
  std::size_t count = 0;
  std::vector<std::string> added;
};
using Hunks = std::map<std::size_t, Hunk>;

std::size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

bool blank(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t\r");
  return first == std::string_view::npos || line[first] == '#';
}

/// End of a value that begins at `from`: before a comment, at the end of the line; an open bracket continues
/// below.
std::size_t value_end(std::string_view line, std::size_t from, int& open) {
  char quote = 0;
  std::size_t end = from;
  for (std::size_t i = from; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) {
      break;
    } else if (c == '[' || c == '{') {
      ++open;
    } else if (c == ']' || c == '}') {
      --open;
    }
    if (c != ' ' && c != '\t' && c != '\r') end = i + 1;
  }
  return end;
}

std::string last_part(const std::string& key) {
  return key.substr(key.rfind('.') + 1);
}

/// Position of a key on its own line.
struct Place {
  std::size_t line = 0, value = 0;  ///< of the value the column, from 0
  std::size_t last = 0;             ///< line on which the value ends
  std::size_t end = 0;              ///< of the value on the first line
};

std::optional<Place> place_of(const std::vector<std::string>& lines, const NxdtKey& leaf) {
  if (leaf.at.line < 1 || static_cast<std::size_t>(leaf.at.line) > lines.size()) return std::nullopt;
  const std::string name = last_part(leaf.key) + ":";
  Place place;
  for (place.line = static_cast<std::size_t>(leaf.at.line);; --place.line) {
    if (place.line == 0) return std::nullopt;
    const std::string& line = lines[place.line - 1];
    if (line.substr(indent_of(line)).starts_with(name)) break;
    if (static_cast<std::size_t>(leaf.at.line) - place.line > 2) return std::nullopt;
  }
  --place.line;
  const std::string& line = lines[place.line];
  const std::size_t indent = indent_of(line);
  place.value = std::min(line.find_first_not_of(' ', indent + name.size()), line.size());
  int open = 0;
  place.end = std::max(place.value, value_end(line, place.value, open));
  place.last = place.line;
  const bool list_below = place.end == place.value;
  for (std::size_t i = place.line + 1; i < lines.size(); ++i) {
    const std::string& next = lines[i];
    if (open <= 0 && !list_below) break;
    const bool item = next.substr(indent_of(next)).starts_with('-') && indent_of(next) >= indent;
    if (list_below && !blank(next) && !item) break;
    if (!blank(next)) place.last = i;
    if (!list_below) value_end(next, 0, open);
  }
  return place;
}

bool replace(const std::vector<std::string>& lines, const NxdtKey& leaf, const Change& change, Hunks& hunks) {
  const auto place = place_of(lines, leaf);
  if (!place || hunks.contains(place->line)) return false;
  const std::string& line = lines[place->line];
  std::string head = line.substr(0, place->value);
  while (head.ends_with(' ')) head.pop_back();
  hunks[place->line] = {place->last - place->line + 1, {head + " " + change.to + line.substr(place->end)}};
  return true;
}

/// Inserts after the last key that is directly in the same section.
bool insert(const std::vector<std::string>& lines, const targets::NxdtConfig& config, const Change& change,
            Hunks& hunks) {
  const std::string section = change.key.substr(0, change.key.rfind('.') + 1);
  std::optional<Place> after;
  for (const NxdtKey& k : config.keys) {
    if (!k.key.starts_with(section) || k.key.find('.', section.size()) != std::string::npos) continue;
    const auto place = place_of(lines, k);
    if (place && (!after || place->last > after->last)) after = place;
  }
  if (!after || section.empty()) return false;
  const std::string indent(indent_of(lines[after->line]), ' ');
  hunks[after->last + 1].added.push_back(indent + last_part(change.key) + ": " + change.to);
  return true;
}

std::string diff_of(const std::vector<std::string>& lines, const Hunks& hunks, const std::string& file) {
  std::string text = fmt::format("--- {0}\n+++ {0}\n", file);
  std::ptrdiff_t moved = 0;
  for (const auto& [first, h] : hunks) {
    // A hunk that removes or adds nothing names the line before.
    const std::size_t old_line = first + (h.count > 0 ? 1 : 0);
    const auto new_line = static_cast<std::ptrdiff_t>(first) + moved + (h.added.empty() ? 0 : 1);
    text += fmt::format("@@ -{},{} +{},{} @@\n", old_line, h.count, new_line, h.added.size());
    for (std::size_t i = 0; i < h.count; ++i) text += "-" + lines[first + i] + "\n";
    for (const std::string& line : h.added) text += "+" + line + "\n";
    moved += static_cast<std::ptrdiff_t>(h.added.size()) - static_cast<std::ptrdiff_t>(h.count);
  }
  return text;
}

std::string edited(const std::vector<std::string>& lines, const Hunks& hunks) {
  std::string text;
  for (std::size_t i = 0; i <= lines.size(); ++i) {
    std::size_t skipped = 0;
    if (const auto h = hunks.find(i); h != hunks.end()) {
      for (const std::string& line : h->second.added) text += line + "\n";
      skipped = h->second.count;
    }
    if (skipped > 0)
      i += skipped - 1;
    else if (i < lines.size())
      text += lines[i] + "\n";
  }
  return text;
}

/// True if the text reads back as wanted.
bool states(const std::string& text, const std::string& file, const targets::NxdtConfig& wanted,
            const std::vector<Change>& changes) {
  try {
    const targets::NxdtConfig now = targets::nxdt_from(parse_document(text, file));
    return std::all_of(changes.begin(), changes.end(), [&](const Change& c) {
      return now.text(c.key) == wanted.text(c.key) || now.list(c.key) == wanted.list(c.key);
    });
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace

std::optional<NxdtEdit> edit_nxdt(const std::string& text, const targets::NxdtConfig& config,
                                  const std::vector<Change>& changes) {
  const std::vector<std::string_view> views = lines_of(text);
  const std::vector<std::string> lines(views.begin(), views.end());
  targets::NxdtConfig wanted = config;
  Hunks hunks;
  std::vector<const Change*> interpolated;
  for (const Change& c : changes) {
    const NxdtKey* leaf = config.find(c.key);
    if (leaf != nullptr) {
      const auto place = place_of(lines, *leaf);
      if (place && lines[place->line].find("${", place->value) != std::string::npos) {
        interpolated.push_back(&c);
        continue;
      }
    }
    if (!(leaf != nullptr ? replace(lines, *leaf, c, hunks) : insert(lines, config, c, hunks)))
      return std::nullopt;
  }
  for (const Change& c : changes) {
    const auto leaf = std::find_if(wanted.keys.begin(), wanted.keys.end(),
                                   [&](const NxdtKey& k) { return k.key == c.key; });
    if (leaf == wanted.keys.end())
      wanted.keys.push_back({c.key, c.to, false, {}});
    else
      leaf->text = c.to;
  }
  // Values that follow from the others may stay as they are.
  std::vector<std::string> follow;
  for (const Change* c : interpolated) {
    if (states(edited(lines, hunks), config.file, wanted, {*c})) {
      follow.push_back(c->key);
    } else if (!replace(lines, *config.find(c->key), *c, hunks)) {
      return std::nullopt;
    }
  }
  NxdtEdit edit{edited(lines, hunks), changes, diff_of(lines, hunks, config.file)};
  std::erase_if(edit.changed, [&](const Change& c) {
    return std::find(follow.begin(), follow.end(), c.key) != follow.end();
  });
  if (!states(edit.text, config.file, wanted, changes)) return std::nullopt;
  return edit;
}

}  // namespace trnplan::io
