// Makes inputs wrong, and reads the messages of refused inputs.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "text/diagnostic.h"

namespace trnplan {

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// `text` with its first `part` replaced. Throws std::logic_error if there is none.
inline std::string replaced(std::string text, const std::string& part, const std::string& by) {
  const std::size_t at = text.find(part);
  if (at == std::string::npos) throw std::logic_error("nothing to replace: " + part);
  return text.replace(at, part.size(), by);
}

/// Faults for which `read` refuses its input; none if it accepts it.
template <class Read>
std::vector<Diagnostic> faults_in(const Read& read) {
  try {
    read();
  } catch (const InputError& e) {
    return e.faults();
  }
  return {};
}

/// The whole message; "" if nothing is refused.
template <class Read>
std::string refusal_of(const Read& read) {
  const std::vector<Diagnostic> faults = faults_in(read);
  return faults.empty() ? "" : InputError(faults).what();
}

}  // namespace trnplan
