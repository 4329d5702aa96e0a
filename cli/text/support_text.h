// What `support` prints.
#pragma once

#include <string>

#include "api/support.h"

namespace trnplan::cli {

/// One pair in full; of several a table, of all a matrix of models and families of machines. Whole lines of `width`.
std::string support_text(const api::SupportResult& result, int width);

}  // namespace trnplan::cli
