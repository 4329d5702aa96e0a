// How a Slurm job is found whose id got lost.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "launch/process/process.h"
#include "launch/scheduler/submission.h"

namespace trnplan::launch {

/// A job name that no other submission has: the clock and the process are in it.
std::string unique_name(const std::string& what);

/// Digits only.
bool is_slurm_id(const std::string& text);

/// The id of a job that was begun, if it came to be: squeue knows it, or, with `earlier` (another call began
/// it, and it may have ended long ago), its output file what-ID.out in the folder is not older than
/// launch.json. Throws Unsure when squeue gives no answer.
std::optional<std::string> find_begun(const std::filesystem::path& folder, const SubmittedJob& begun,
                                      bool earlier, const Runner& runner);

}  // namespace trnplan::launch
