// Files and run folders that calibrate reads.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/session/collective_points.h"
#include "calibrate/session/samples.h"
#include "calibrate/session/step_calibration.h"
#include "text/remarks.h"

namespace trnplan::io {
class Catalog;
}

namespace trnplan::api {

/// Logs of one folder, and the plan that ran.
struct RunFolder {
  std::vector<calibrate::LogFile> files;
  calibrate::RanSamples log;
};

/// Names of files by the SHA-256 of what they hold.
using SeenFiles = std::map<std::string, std::string>;

/// All files but copies of others, which teach nothing new and get a remark. Folders of profiles are read table by
/// table. Throws InputError with the faults of all that are unusable.
[[nodiscard]] std::vector<calibrate::LogFile> read_files(const std::vector<std::string>& paths,
                                                         const calibrate::PointOptions& points,
                                                         SeenFiles& seen, Remarks& remarks);

/// The logs of folders of plan --out or measure.sh, each with what ran. `steps`: as in calibrate::step_samples().
[[nodiscard]] std::vector<RunFolder> read_folders(const std::vector<std::string>& paths,
                                                  const calibrate::PointOptions& points,
                                                  const io::Catalog& catalog, SeenFiles& seen,
                                                  calibrate::SeenSteps& steps, Remarks& remarks);

/// The first bytes of a file that a profile has learnt as a whole file: logs that have grown since. Empty for standard
/// input and pipes. Throws InputError. Cost: that of reading the file once more.
[[nodiscard]] std::vector<models::CalibrationFile> learnt_starts(const std::string& path, std::uint64_t bytes,
                                                                 const models::Profile& profile);

}  // namespace trnplan::api
