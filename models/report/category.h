// Categories of the seconds of a step.
#pragma once

#include <cstddef>
#include <string_view>

namespace trnplan::models {

/// The use of a second of the step.
enum class Category : std::size_t {
  compute,
  tensor_parallel,
  context_parallel,
  expert_parallel,
  pipeline,
  bubble,
  data_parallel,
  optimizer,
  overhead,
  count
};
std::string_view to_string(Category c);

}  // namespace trnplan::models
