#include "models/device/devices.h"

#include <array>
#include <stdexcept>
#include <string>

#include "models/device/gpu.h"
#include "models/device/neuron_core.h"

namespace trnplan::models {

namespace {

const std::array<const Device*, 2>& all() {
  static const NeuronCore kNeuronCore;
  static const Gpu kGpu;
  static const std::array<const Device*, 2> kAll = {&kNeuronCore, &kGpu};
  return kAll;
}

}  // namespace

const Device* device_named(std::string_view name) {
  for (const Device* device : all()) {
    if (device->name() == name) return device;
  }
  return nullptr;
}

const Device& device_of(const topology::Core& core) {
  const Device* device = device_named(core.device);
  if (device == nullptr) throw std::invalid_argument("no device is called \"" + core.device + "\"");
  return *device;
}

}  // namespace trnplan::models
