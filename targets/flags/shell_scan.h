// Ends of the parts of a bash script, and the names that they assign to.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace trnplan::targets {

[[nodiscard]] bool shell_name_char(char c);
/// True for a blank, the end of a line, and characters that separate words without one: ; & | < > ( ).
[[nodiscard]] bool shell_word_ends(char c);

/// End of the word at `at`, including its quotes, escapes and substitutions with all their contents. Cost:
/// linear.
[[nodiscard]] std::size_t shell_word_end(std::string_view text, std::size_t at);

/// Position after the character that closes "$(", "${", "(", "`" or a quote opened at `at`; the end of the
/// text if nothing closes it. Cost: linear.
[[nodiscard]] std::size_t shell_closed(std::string_view text, std::size_t at);

/// Names that an arithmetic expression assigns to: NAME=, NAME+=, NAME++, ++NAME. Cost: linear.
[[nodiscard]] std::vector<std::string_view> shell_changed_names(std::string_view expression);
/// NAME of NAME[INDEX]=; "" for any other word.
[[nodiscard]] std::string_view shell_indexed(std::string_view word);

}  // namespace trnplan::targets
