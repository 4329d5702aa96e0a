#include "topology/device_name.h"

namespace trnplan::topology {

bool has_device(const Instance& instance, std::string_view reported) {
  const auto says = [&](std::string_view word) { return reported.find(word) != std::string_view::npos; };
  if (!instance.device_name.empty()) return says(instance.device_name);
  return instance.traits.accelerator == Accelerator::gpu || says("rainium") || says("euron");
}

}  // namespace trnplan::topology
