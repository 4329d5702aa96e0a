// Questions about hardware that does not exist: numbers of an instance type's file, changed before it is
// read.
//
//   core.memory=32GiB     another value, in any unit that the catalogue's reader knows for the key
//   nic_bandwidth=x2      a factor on the file's value
//
// Keys are those of catalog/instances/NAME.json, dotted, that a prediction for the machine depends on; its
// other numbers are refused. The changed file is read as any other: bounds and units are its reader's. NICs
// are dealt out anew to the chips (topology/nics.h). What follows from several keys at once (the spreads of a
// profile, prices) stays as it is.
#pragma once

#include <string>
#include <vector>

#include "text/document.h"
#include "topology/instance.h"

namespace trnplan::io {

/// One setting, as written.
struct HardwareSetting {
  std::string text;  ///< "core.memory=32GiB"
  std::string key;
  double value = 0;
  bool times = false;  ///< `value` is a factor
  std::string unit;    ///< "" = that of the file
};

/// Reads settings. Throws InputError with every fault: no "=", no number, a key that is set twice.
[[nodiscard]] std::vector<HardwareSetting> hardware_settings_from(const std::vector<std::string>& texts);

/// A number of an instance type that can be set.
struct SettableNumber {
  std::string key;
  double value = 0;
  std::string unit;  ///< "1" = none
};
/// The numbers of a file that a prediction depends on, in its order.
[[nodiscard]] std::vector<SettableNumber> settable_numbers(const Node& file);

/// The instance of a file with the settings that the file has a key for, which its `changes` list. Throws
/// InputError for a damaged file, and for values that the machine cannot have.
[[nodiscard]] topology::Instance instance_with(const std::vector<HardwareSetting>& settings, Node file);

}  // namespace trnplan::io
