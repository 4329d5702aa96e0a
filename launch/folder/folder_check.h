// Check of a plan's folder against its plan.json, before anything of it is submitted.
#pragma once

#include <string>
#include <vector>

#include "io/input/plan_file.h"
#include "launch/folder/held_folder.h"
#include "text/diagnostic.h"

namespace trnplan::launch {

struct FolderFindings {
  std::vector<Diagnostic> faults;   ///< with file and line, the current text and the plan's
  std::vector<std::string> edited;  ///< allowed changes by a person, one sentence per file
};

/// Writes every file anew from plan.json and compares it with the one in the folder. launch/folder/editing.h
/// lists the differences that are allowed. All others are faults: one byte, a missing file, a link, a file
/// that only other plans have, a module that Python would import in place of another. A plan.json that states
/// what no plan can is a fault too, as is one that was changed. If another version of the program wrote the
/// folder, and this version writes it differently, that is the only fault.
///
/// `manifests`: the files of Kubernetes that are to be applied. Nothing is run. Cost: writes a plan's files
/// once.
[[nodiscard]] FolderFindings check_folder(const HeldFolder& folder, const io::PlanFile& plan,
                                          const std::vector<std::string>& manifests);

/// Fault of a plan.json that cannot be used because another version wrote it. `first`: the first difference
/// found.
[[nodiscard]] Diagnostic of_another_version(const std::string& plan_path, const std::string& version,
                                            const Diagnostic& first);

}  // namespace trnplan::launch
