#include "launch/report/report_page.h"

#include <array>
#include <stdexcept>
#include <string_view>

#include "launch/report/parts.h"
#include "text/sha256.h"

namespace trnplan::launch {

namespace {

/// Scripts in order: later ones use the definitions of earlier ones, and the last one draws the page.
constexpr std::array<std::string_view, 14> kScripts = {
    "base.js",     "charts.js",    "plan_parts.js", "timeline.js", "machine.js", "random.js", "goodput.js",
    "forecast.js", "standings.js", "settings.js",   "whatif.js",   "records.js", "answer.js", "pages.js"};

std::string_view part(std::string_view name) {
  const auto found = report_parts().find(name);
  if (found == report_parts().end()) throw std::logic_error("no part of a report " + std::string(name));
  return found->second;
}

int hexadecimal(char c) {
  return c <= '9' ? c - '0' : c - 'a' + 10;
}

/// "sha256-..." of a text, the form in which a page's policy names scripts that may run.
std::string policy_hash(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const std::string hex = sha256(text);
  std::string out = "sha256-";
  for (std::size_t i = 0; i < hex.size(); i += 6) {  // three bytes, four digits; the last group has two bytes
    unsigned bits = 0;
    for (std::size_t k = 0; k < 6; ++k)
      bits = bits * 16 + (i + k < hex.size() ? static_cast<unsigned>(hexadecimal(hex[i + k])) : 0);
    const std::size_t bytes = (hex.size() - i) / 2;
    for (std::size_t k = 0; k < 4; ++k) out += k <= bytes ? kDigits[bits >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

}  // namespace

std::string report_page(const io::JsonValue& data) {
  std::string program;
  for (const std::string_view name : kScripts) program += part(name);
  const std::string_view style = part("page.css");
  const std::map<std::string_view, std::string> values = {
      {"policy", "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src '" +
                     policy_hash(style) + "'; script-src '" + policy_hash(program) + "'"},
      {"style", std::string(style)},
      {"data", io::json_in_html(data)},
      {"program", program}};
  std::string out;
  for (std::string_view rest = part("page.html"); !rest.empty();) {
    const std::size_t mark = rest.find('@');
    out += rest.substr(0, mark);
    if (mark == std::string_view::npos) break;
    const std::size_t end = rest.find('@', mark + 1);
    if (end == std::string_view::npos) throw std::logic_error("a report's page has a lone @");
    out += values.at(rest.substr(mark + 1, end - mark - 1));
    rest.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace trnplan::launch
