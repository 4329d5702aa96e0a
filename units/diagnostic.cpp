#include "units/diagnostic.h"

#include <algorithm>
#include <numeric>

namespace trnplan {

namespace {

std::string join(const std::vector<Diagnostic>& faults) {
  std::string all;
  for (const Diagnostic& d : faults) {
    if (!all.empty()) all += '\n';
    all += to_string(d);
  }
  return all;
}

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substitute, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  std::string out(text.substr(0, limit));
  for (char& c : out) {
    const auto u = static_cast<unsigned char>(c);
    if (u < 0x20 || u == 0x7f) c = '?';
  }
  if (text.size() > limit) out += "...";
  return out;
}

std::string in_quotes(std::string_view text, std::size_t limit) {
  return '"' + printable(text, limit) + '"';
}

std::string to_string(const Diagnostic& d) {
  std::string out = printable(d.at.file, 4096);
  if (d.at.line > 0) out += ":" + std::to_string(d.at.line) + ":" + std::to_string(d.at.column);
  if (!out.empty()) out += ": ";
  if (!d.key.empty()) out += printable(d.key) + ": ";
  out += printable(d.problem, 2000);
  if (!d.fix.empty()) out += "\n  fix: " + printable(d.fix, 2000);
  return out;
}

InputError::InputError(std::vector<Diagnostic> faults)
    : std::runtime_error(join(faults)), faults_(std::move(faults)) {}

InputError::InputError(Diagnostic fault) : InputError(std::vector<Diagnostic>{std::move(fault)}) {}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.size() > 200) return "";
  std::string best;
  int best_distance = static_cast<int>(std::max<std::size_t>(word.size() / 3, 2)) + 1;
  for (const std::string& c : candidates) {
    const std::size_t longer = std::max(word.size(), c.size()) - std::min(word.size(), c.size());
    if (longer >= static_cast<std::size_t>(best_distance)) continue;  // at least so many letters differ
    const int d = edit_distance(word, c);
    if (d < best_distance) {
      best_distance = d;
      best = c;
    }
  }
  return best;
}

}  // namespace trnplan
