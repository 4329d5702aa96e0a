// Comparison of files that are read as trees with the plan's: config.json and the manifests that are applied.
#pragma once

#include <string>

#include "launch/folder/editing.h"
#include "text/document.h"

namespace trnplan::launch {

/// Compares as Editing::layout. `planned`: the tree that the file has to contain. Numbers are compared as
/// numbers.
[[nodiscard]] FileFindings compare_json(const std::string& path, const std::string& found,
                                        const Node& planned);

/// Compares as Editing::fields. A person may change
///
///   the image, its pull policy and secrets           the name of the job, its namespace, labels, annotations
///   the claim of the shared volume, where it is      the service account, scheduler, priority and tolerations,
///   mounted, and where on it the folder lies         further labels of nodes, and CPUs and memory of a pod
///
/// Everything else is the plan's, since any addition could change what the pods run.
[[nodiscard]] FileFindings compare_manifest(const FileText& file);

}  // namespace trnplan::launch
