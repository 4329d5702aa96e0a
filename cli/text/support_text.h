// Text of `support`.
#pragma once

#include <string>

#include "api/support.h"

namespace trnplan::cli {

/// One pair in full; several as a table; all as a matrix of models and families of machines. Whole lines of
/// `width`.
std::string support_text(const api::SupportResult& result, int width);

}  // namespace trnplan::cli
