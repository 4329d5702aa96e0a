#include "models/schemas/schemas.h"

#include <array>

#include "models/collective/neuron_parameters.h"
#include "models/collective/switched_parameters.h"
#include "models/device/gpu_parameters.h"
#include "models/device/neuron_core_parameters.h"
#include "models/framework/loop_parameters.h"
#include "models/parameters/allocator_parameters.h"
#include "models/parameters/common_parameters.h"

namespace trnplan::models {

namespace {

const auto& all() {
  static const std::array kSchemas = {
      ParameterSchema("neuron", {neuron::kCoreParameters, neuron::kCollectiveParameters, loop::kParameters,
                                 common::kParameters}),
      ParameterSchema("gpu", {gpu::kDeviceParameters, switched::kParameters, loop::kParameters,
                              loop::kHostParameters, common::kParameters, allocator::kParameters}),
  };
  return kSchemas;
}

}  // namespace

const ParameterSchema* schema_named(std::string_view name) {
  for (const ParameterSchema& schema : all()) {
    if (schema.name() == name) return &schema;
  }
  return nullptr;
}

std::vector<std::string_view> schema_names() {
  std::vector<std::string_view> names;
  for (const ParameterSchema& schema : all()) names.emplace_back(schema.name());
  return names;
}

}  // namespace trnplan::models
