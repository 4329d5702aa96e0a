// Lines that fit the terminal. All text for people is wrapped here; JSON and files are not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trnplan::cli {

inline constexpr int kWidthWithoutTerminal = 100;

/// Columns of the output of `file_descriptor`: those of its terminal, else those of COLUMNS, else 100. At
/// least 40.
int output_width(int file_descriptor);

/// `text` as one piece that wrapped() does not break if it fits a line, for a number with its unit.
std::string unbroken(std::string_view text);

/// `text` as one word for wrapped(), for text to be pasted.
std::string never_broken(std::string_view text);

/// A command that can be pasted as printed: every word is printable, quoted if a shell requires it, and never
/// broken.
std::string command_text(const std::vector<std::string>& words);

/// The same on lines of at most 76 columns where its words allow it, each but the last ended by a backslash. An option
/// and its value stay together. Each line is indented by so many columns, and ends in a newline.
std::string command_lines(const std::vector<std::string>& words, int indent);

/// `text` as an item of a list: its continuation lines are indented by two columns.
std::string item(std::string_view text);

/// `text` with every line wider than `width` columns broken at spaces, never inside a word. Continuation
/// lines are aligned with the text of the line: after the first gap of two spaces or more in its left part
/// ("Best ..."), else two columns right of the line's start. A word that does not fit there moves left as far
/// as necessary. One wider than the line stays whole at the position of the others.
std::string wrapped(std::string_view text, int width);

/// Number of columns of `text`: its UTF-8 characters.
int columns_of(std::string_view text);

}  // namespace trnplan::cli
