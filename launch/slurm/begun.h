// Search for a Slurm job whose id was lost.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "launch/process/process.h"
#include "launch/scheduler/submission.h"

namespace trnplan::launch {

/// Job name that no other submission has: it contains the clock and the process.
std::string unique_name(const std::string& what);

/// True for digits only.
bool is_slurm_id(const std::string& text);

/// Id of a job whose submission was begun, if it was queued. Either squeue knows it or, with `earlier`
/// (another call began it, and it may have ended long ago), its output file what-ID.out in the folder is not
/// older than launch.json. Throws Unsure if squeue gives no answer.
std::optional<std::string> find_begun(const std::filesystem::path& folder, const SubmittedJob& begun,
                                      bool earlier, const Runner& runner);

}  // namespace trnplan::launch
