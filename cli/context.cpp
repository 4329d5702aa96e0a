#include "cli/context.h"
#include "api/inputs.h"
#include "api/rehearsal.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/text/wrap.h"
#include "io/output/atomic_write.h"
#include "text/diagnostic.h"

namespace trnplan::cli {

std::string printable_lines(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\n\t"), text.size());
    out += printable(text.substr(0, end), end);
    if (end < text.size()) out += text[end];
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

void print(std::string_view text) {
  const std::string safe = printable_lines(text);
  const bool written =
      std::fwrite(safe.data(), 1, safe.size(), stdout) == safe.size() && std::fflush(stdout) == 0;
  if (written) return;
  throw InputError(
      {{"standard output", 0, 0}, "", std::strerror(errno), "free space, or send the output elsewhere"});
}

void print_text(std::string_view text) {
  print(wrapped(text, text_width()));
}

void print_result(const Common& common, std::string_view result) {
  if (common.json())
    print(result);
  else
    print_text(result);
}

void print_rows(const Common& common, std::string_view document, const io::DocumentRows& rows) {
  print(common.format == "csv" ? io::csv_of(document, rows) : io::markdown_of(document, rows));
}

void check_document(const Common& common, bool force, const std::vector<std::string>& others) {
  api::check_apart("--json", common.document, others);
  if (!common.document.empty()) api::rehearse_file(common.document, force);
}

void print_answer(const Common& common, bool force, const std::function<std::string()>& text,
                  const std::function<std::string()>& document, const io::DocumentRows* rows) {
  if (common.rows() && rows != nullptr)
    print_rows(common, document(), *rows);
  else
    print_result(common, common.json() ? document() : text());
  if (!common.document.empty()) io::write_file(common.document, printable_lines(document()), force);
}

int text_width() {
  return output_width(STDOUT_FILENO);
}

namespace {

/// Broken only for a terminal: in a file, a message is one line, which grep finds.
void to_standard_error(const std::string& text) {
  const bool terminal = isatty(STDERR_FILENO) == 1;
  const std::string lines = terminal ? wrapped(text, output_width(STDERR_FILENO)) : text;
  std::fwrite(lines.data(), 1, lines.size(), stderr);
}

}  // namespace

void remark(std::string_view text) {
  to_standard_error("trnplan: " + printable(text, 4000) + "\n");
}

void remark(const Diagnostic& fault) {
  to_standard_error("trnplan: " + to_string(fault) + "\n");
}

void report_faults(const InputError& e) {
  // More than a person fixes at once, and few enough that the first ones stay on the screen.
  constexpr std::size_t kMostFaults = 50;
  const std::size_t shown = std::min(e.faults().size(), kMostFaults);
  for (std::size_t i = 0; i < shown; ++i) to_standard_error(to_string(e.faults()[i]) + "\n");
  if (shown < e.faults().size())
    to_standard_error("and " + std::to_string(e.faults().size() - shown) + " more\n");
}

void say(const Remark& r) {
  std::visit([](const auto& what) { remark(what); }, r);
}

Remarks printed_remarks() {
  return Remarks(say);
}

}  // namespace trnplan::cli
