// Remarks of a function in addition to its result, in order.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "text/diagnostic.h"

namespace trnplan {

/// A sentence, or a fault that does not end the work, with its place and fix.
using Remark = std::variant<std::string, Diagnostic>;

/// Sentence, then in brackets the id of the row that explains it (`trnplan explain ID`); "" = no row does.
inline std::string with_id(std::string text, std::string_view id) {
  if (!id.empty()) text.append(" [").append(id).append("]");
  return text;
}
/// Removes the id that with_id() has put behind the sentence, and returns it; "" = none. An id consists of
/// small letters, digits and dashes, and begins with a letter.
inline std::string take_id(std::string& text) {
  const std::size_t open = text.rfind(" [");
  if (open == std::string::npos || !text.ends_with(']') || text[open + 2] < 'a' || text[open + 2] > 'z' ||
      text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-", open + 2) != text.size() - 1)
    return "";
  std::string id = text.substr(open + 2, text.size() - open - 3);
  text.resize(open);
  return id;
}

/// Collects remarks. They stay if the function that made them throws. A listener gets each one as it is made,
/// since minutes of work may follow.
class Remarks {
 public:
  Remarks() = default;
  explicit Remarks(std::function<void(const Remark&)> listener) : listener_(std::move(listener)) {}

  void add(Remark remark) {
    all_.push_back(std::move(remark));
    if (listener_) listener_(all_.back());
  }
  void add(std::string sentence, std::string_view id) { add(Remark(with_id(std::move(sentence), id))); }
  void add(const std::vector<std::string>& sentences, std::string_view id = "") {
    for (const std::string& s : sentences) add(s, id);
  }
  [[nodiscard]] const std::vector<Remark>& all() const { return all_; }

 private:
  std::vector<Remark> all_;
  std::function<void(const Remark&)> listener_;
};

}  // namespace trnplan
