#include "cli/text/wrap.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "text/diagnostic.h"
#include "text/parse.h"
#include "text/shell_words.h"

namespace trnplan::cli {

namespace {

constexpr int kNarrowest = 40;
// Characters that printable() replaces in text from outside.
/// A space at which a line breaks only if its piece is longer than the line.
constexpr char kUnbrokenSpace = '\x1f';
constexpr char kNeverBrokenSpace = '\x1e';  ///< a space at which no line breaks
/// Before a text with indented continuation lines; takes no column.
constexpr char kItem = '\x1d';
/// Columns, for a text with continuation lines aligned to its own start.
constexpr int kFurthestLabel = 32;
constexpr int kDeeper = 2;  ///< columns by which continuation lines are otherwise indented

/// Start of a line's text: after its label, if it has one.
std::size_t hanging_indent(std::string_view line, int width) {
  const std::size_t start = line.find_first_not_of(' ');
  const std::size_t gap = line.find("  ", start);
  if (gap != std::string_view::npos) {
    const std::size_t text = line.find_first_not_of(' ', gap);
    const int column = text == std::string_view::npos ? width : columns_of(line.substr(0, text));
    if (column <= std::min(kFurthestLabel, 2 * width / 5)) return static_cast<std::size_t>(column);
  }
  return start + kDeeper;
}

std::string visible(std::string_view piece) {
  std::string text(piece);
  std::replace(text.begin(), text.end(), kUnbrokenSpace, ' ');
  std::replace(text.begin(), text.end(), kNeverBrokenSpace, ' ');
  return text;
}

bool is_unit(std::string_view word) {
  constexpr std::string_view kUnits[] = {"%",      "s",   "us",    "GiB",  "MiB",     "GB/s",
                                         "TFLOPS", "USD", "USD/h", "days", "tokens/s"};
  word = word.substr(0, word.find_first_of(",;:)"));
  return std::find(std::begin(kUnits), std::end(kUnits), word) != std::end(kUnits);
}

/// End of the piece that starts at `word`: a number keeps its unit.
std::size_t end_of_piece(std::string_view line, std::size_t word) {
  const std::size_t end = std::min(line.find(' ', word), line.size());
  if (end == word || end + 1 >= line.size() || line[end - 1] < '0' || line[end - 1] > '9') return end;
  const std::size_t next = std::min(line.find(' ', end + 1), line.size());
  return is_unit(line.substr(end + 1, next - end - 1)) ? next : end;
}

/// One line without its end.
void wrap_line(std::string& out, std::string line, int width) {
  const std::size_t item = line.find(kItem);
  if (item != std::string::npos) line.erase(item, 1);
  if (columns_of(line) <= width) {
    out += visible(line);
    return;
  }
  auto hang = static_cast<int>(hanging_indent(line, width));
  if (item != std::string::npos) hang = static_cast<int>(item) + kDeeper;
  int column = 0;     // of the text in this line
  bool empty = true;  // only indentation in this line so far
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t word = std::min(line.find_first_not_of(' ', at), line.size());
    std::size_t end = end_of_piece(line, word);
    // Longer than a line, so its words are separate.
    if (columns_of(line.substr(word, end - word)) > width - hang) {
      std::replace(line.begin() + static_cast<std::ptrdiff_t>(word),
                   line.begin() + static_cast<std::ptrdiff_t>(end), kUnbrokenSpace, ' ');
      end = std::min(line.find(' ', word), line.size());
    }
    const int gap = static_cast<int>(word - at), size = columns_of(line.substr(word, end - word));
    at = end;
    if (size == 0) break;
    if (empty || column + gap + size <= width) {
      const int kept = empty && size <= width ? std::clamp(width - size, 0, gap) : gap;
      out += std::string(static_cast<std::size_t>(kept), ' ');
      column += kept;
    } else {
      column = size > width ? hang : std::clamp(width - size, 0, hang);
      out += '\n' + std::string(static_cast<std::size_t>(column), ' ');
    }
    out += visible(line.substr(word, end - word));
    column += size;
    empty = false;
  }
}

}  // namespace

int output_width(int file_descriptor) {
  struct winsize size {};
  int columns = 0;
  if (ioctl(file_descriptor, TIOCGWINSZ, &size) == 0) columns = size.ws_col;
  if (columns == 0) {
    const char* stated = std::getenv("COLUMNS");
    columns = parse_whole(stated == nullptr ? "" : stated).value_or(0);
  }
  return columns <= 0 ? kWidthWithoutTerminal : std::max(columns, kNarrowest);
}

std::string unbroken(std::string_view text) {
  std::string whole(text);
  std::replace(whole.begin(), whole.end(), ' ', kUnbrokenSpace);
  return whole;
}

std::string command_text(const std::vector<std::string>& words) {
  constexpr std::size_t kLongestWord = 2000;
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : " ") + command_line({printable(word, kLongestWord)});
  return never_broken(text);
}

std::string command_lines(const std::vector<std::string>& words, int indent) {
  constexpr int kMost = 76;
  std::string text, line(static_cast<std::size_t>(indent), ' ');
  bool begun = false;
  for (std::size_t i = 0; i < words.size();) {
    std::vector<std::string> part = {words[i++]};
    while (i < words.size() && part.front().starts_with("--") && !words[i].starts_with("--"))
      part.push_back(words[i++]);
    const std::string piece = command_text(part);
    if (begun && columns_of(line) + 1 + columns_of(piece) + 2 > kMost) {
      text += never_broken(line + " \\") + "\n";
      line = std::string(static_cast<std::size_t>(indent) + 2, ' ');
      begun = false;
    }
    line += (begun ? " " : "") + piece;
    begun = true;
  }
  return text + never_broken(line) + "\n";
}

std::string never_broken(std::string_view text) {
  std::string whole(text);
  std::replace(whole.begin(), whole.end(), ' ', kNeverBrokenSpace);
  return whole;
}

std::string item(std::string_view text) {
  return kItem + std::string(text);
}

std::string wrapped(std::string_view text, int width) {
  std::string out;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    wrap_line(out, std::string(text.substr(from, end - from)), width);
    if (end < text.size()) out += '\n';
    from = end + 1;
  }
  return out;
}

int columns_of(std::string_view text) {
  return static_cast<int>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace trnplan::cli
