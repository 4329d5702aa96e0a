// Lines that fit the terminal. Everything that people read goes through here; JSON and files do not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trnplan::cli {

inline constexpr int kWidthWithoutTerminal = 100;

/// Columns of what `file_descriptor` writes to: those of its terminal; else what COLUMNS says; else 100.
/// At least 40.
int output_width(int file_descriptor);

/// `text` as one piece that wrapped() does not break as long as it fits a line, for a number with its unit.
std::string unbroken(std::string_view text);

/// `text` as one word for wrapped(): what is to be pasted.
std::string never_broken(std::string_view text);

/// A command that may be pasted as it is printed: every word printable, quoted where a shell needs it, and never
/// broken.
std::string command_text(const std::vector<std::string>& words);

/// `text` as one of several of a list: what goes on of it stands two columns right of where it starts.
std::string item(std::string_view text);

/// `text` with every line that is wider than `width` columns broken at spaces, never inside a word. What goes
/// on stands under the text of the line: after the first gap of two spaces or more in its left part ("Best
/// ..."), else two columns right of the line's start. A word that does not fit there moves left, as far as
/// it must; one wider than the line stays whole where the others go on.
std::string wrapped(std::string_view text, int width);

/// Columns that `text` takes: characters of UTF-8.
int columns_of(std::string_view text);

}  // namespace trnplan::cli
