// Output of neuron-ls, before it is checked. Private to the reader.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "text/diagnostic.h"
#include "units/quantity.h"

namespace trnplan::io {

/// One device as printed.
struct ListedDevice {
  int number = 0;
  int cores = 0;
  Bytes memory{};
  std::vector<int> neighbours;
  SourcePos at;
};

/// The file as printed.
struct DeviceListing {
  std::string instance_type;
  SourcePos type_at;
  std::vector<ListedDevice> devices;
};

/// The densest Trainium node has 64 chips; the bound keeps a hostile file from asking for more memory.
inline constexpr int kMostDevices = 4096;
inline constexpr int kMostDeviceCores = 1024;

/// Reads the table that neuron-ls prints. Records faults of the file `name`.
[[nodiscard]] DeviceListing read_neuron_ls_table(const std::string& text, const std::string& name,
                                                 std::vector<Diagnostic>& faults);

}  // namespace trnplan::io
