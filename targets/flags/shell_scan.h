// Where the parts of a script of bash end, and what they assign to.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace trnplan::targets {

[[nodiscard]] bool shell_name_char(char c);
/// A blank, the end of a line, or what parts commands and words without one: ; & | < > ( ).
[[nodiscard]] bool shell_word_ends(char c);

/// Where the word at `at` ends: quotes, escapes and substitutions with all that stands in them belong to it. Cost: linear.
[[nodiscard]] std::size_t shell_word_end(std::string_view text, std::size_t at);

/// Where what opens at `at` ("$(", "${", "(", "`" or a quote) is closed, behind its last character; the end of the text
/// where it never is. Cost: linear.
[[nodiscard]] std::size_t shell_closed(std::string_view text, std::size_t at);

/// The names that an arithmetic expression assigns to: NAME=, NAME+=, NAME++, ++NAME. Cost: linear.
[[nodiscard]] std::vector<std::string_view> shell_changed_names(std::string_view expression);
/// Of NAME[INDEX]= the name; "" of another word.
[[nodiscard]] std::string_view shell_indexed(std::string_view word);

}  // namespace trnplan::targets
