// What the readers of cluster files share: groups of equal nodes, and the choice of one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/catalog/catalog.h"
#include "text/diagnostic.h"

namespace trnplan::io {

/// Nodes of one type that a job can run on together.
struct ClusterGroup {
  std::string name;
  std::string instance;              ///< a name of the catalogue, or empty
  int nodes = 0;                     ///< may be 0
  std::vector<std::string> aliases;  ///< other names a user may call it by
  SourcePos at;
};

/// A file with more faults is of another kind.
inline constexpr std::size_t cluster_faults_most = 50;

/// The catalogue's name of "ml.trn1.32xlarge" or "trn1.32xlarge"; nullopt for other hardware.
std::optional<std::string> trainium_type(std::string_view type, const std::vector<std::string>& known);

/// The same, where an instance type must stand: one that begins with "trn" and is not known is a fault.
std::optional<std::string> trainium_type(std::string_view type, const std::vector<std::string>& known,
                                         const SourcePos& at, const std::string& key,
                                         std::vector<Diagnostic>& faults);

/// The group called `wanted`, or the only one. Adds a fault, at `file`, when there is none or a choice, when
/// it has no node, or more than a cluster may have. `kind` is what the file calls a group.
std::optional<ClusterGroup> choose_group(const std::vector<ClusterGroup>& groups, const std::string& wanted,
                                         const std::string& kind, const SourcePos& file,
                                         std::vector<Diagnostic>& faults);

}  // namespace trnplan::io
