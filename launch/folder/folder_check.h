// A plan's folder against its plan.json, before anything of it is submitted.
#pragma once

#include <string>
#include <vector>

#include "io/input/plan_file.h"
#include "launch/folder/held_folder.h"
#include "text/diagnostic.h"

namespace trnplan::launch {

struct FolderFindings {
  std::vector<Diagnostic> faults;   ///< with file and line, what stands there and what the plan writes
  std::vector<std::string> edited;  ///< what a person changed and may change, a sentence a file
};

/// Every file is written anew from plan.json and compared with what lies there. What may differ is named in
/// launch/folder/editing.h; all else is a fault: one byte, a file that is missing or a link, one that only other plans have, a
/// module that Python would import in place of another. A plan.json that says what no plan can is a fault, too, and so is one that
/// was changed. Of a folder that another version of the program wrote, and this one writes otherwise, nothing but that is said.
///
/// `manifests`: the files of Kubernetes that are to be applied. Nothing is run. Cost: a plan's files are written once.
[[nodiscard]] FolderFindings check_folder(const HeldFolder& folder, const io::PlanFile& plan,
                                          const std::vector<std::string>& manifests);

/// The fault of a plan.json that cannot be used because another version wrote it; `first`: what was found first.
[[nodiscard]] Diagnostic of_another_version(const std::string& plan_path, const std::string& version,
                                            const Diagnostic& first);

}  // namespace trnplan::launch
