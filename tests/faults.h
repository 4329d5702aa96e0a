// What refused input says.
#pragma once

#include <string>
#include <vector>

#include "text/diagnostic.h"

namespace trnplan {

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The faults for which `read` refuses its input; none when it does not.
template <class Read>
std::vector<Diagnostic> faults_in(const Read& read) {
  try {
    read();
  } catch (const InputError& e) {
    return e.faults();
  }
  return {};
}

/// The whole message; "" when nothing is refused.
template <class Read>
std::string refusal_of(const Read& read) {
  const std::vector<Diagnostic> faults = faults_in(read);
  return faults.empty() ? "" : InputError(faults).what();
}

}  // namespace trnplan
