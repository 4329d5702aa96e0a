// Editing of values in the text of an NxDT YAML, line by line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "targets/nxdt/baseline.h"
#include "targets/nxdt/nxdt_config.h"

namespace trnplan::io {

struct NxdtEdit {
  std::string text;                      ///< of the whole file
  std::vector<targets::Change> changed;  ///< without values that follow from the others
  std::string diff;                      ///< unified, without context; patch(1) takes it. Ends in a newline.
};

/// The text with these values and everything else as it is, comments too. A missing key is added after the
/// last one of its section. A value written as an interpolation stays if the other changes give it the value.
/// nullopt if a key is in braces with others or has no section to be added to, or if a value would not read
/// back.
std::optional<NxdtEdit> edit_nxdt(const std::string& text, const targets::NxdtConfig& config,
                                  const std::vector<targets::Change>& changes);

}  // namespace trnplan::io
