// Kernels and collectives that were timed on the user's machine: their checks, the fit and its profile.
#pragma once

#include <string>
#include <vector>

#include "calibrate/fit/machine_fit.h"
#include "calibrate/session/samples.h"
#include "models/parameters/profile.h"
#include "text/remarks.h"
#include "topology/instance.h"

namespace trnplan::calibrate {

struct MachineInputs {
  std::vector<logs::MeasuredKernel> kernels;
  std::vector<logs::MeasuredCollective> points;
  std::vector<models::CalibrationFile> files;
  std::string tool;  ///< program that fits, with its version
};

struct MachineCalibration {
  MachineFit fit;                  ///< with the profile as it is written: named, with sources, rounded
  std::string before;              ///< name of the profile that was taught
  std::string instance;            ///< the machine
  std::vector<std::string> kinds;  ///< "6 products", "1 attention", ...: distinct shapes
};

/// True if a file has times of a user's machine.
[[nodiscard]] bool has_machine(const std::vector<LogFile>& files);

/// Learns the machine on top of `profile`. Remarks on points without a prediction, and on attention that teaches no
/// loop. Throws InputError with every fault: times that no core reaches, unknown libraries, no row that can be
/// used, a file that the profile has learnt.
[[nodiscard]] MachineCalibration calibrate_machine(const MachineInputs& inputs,
                                                   const topology::Instance& instance,
                                                   const models::Profile& profile,
                                                   const MachineSpreads& spreads, const std::string& name,
                                                   Remarks& remarks);

}  // namespace trnplan::calibrate
