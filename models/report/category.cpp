#include "models/report/category.h"

namespace trnplan::models {

std::string_view to_string(Category c) {
  switch (c) {
    case Category::compute:
      return "compute";
    case Category::tensor_parallel:
      return "tensor_parallel";
    case Category::context_parallel:
      return "context_parallel";
    case Category::expert_parallel:
      return "expert_parallel";
    case Category::pipeline:
      return "pipeline";
    case Category::bubble:
      return "bubble";
    case Category::data_parallel:
      return "data_parallel";
    case Category::optimizer:
      return "optimizer";
    case Category::overhead:
      return "overhead";
    case Category::count:
      break;
  }
  return "?";
}

}  // namespace trnplan::models
