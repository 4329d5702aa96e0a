// Types of machines as people name them: "p5" for p5.48xlarge; fixes for unknown ones.
#pragma once

#include <string>
#include <vector>

#include "io/catalog/catalog.h"

namespace trnplan::io {

/// A type of the catalogue, and others that its short name could mean.
struct NamedType {
  std::string name;               ///< "" if there is none
  std::vector<std::string> also;  ///< ascending; empty if `name` is unambiguous
};
/// The type of that name, or for what stands before the point ("trn1") the one with the most chips, of equal
/// ones that with the shortest name. Cost: reads the files of the types that begin so.
[[nodiscard]] NamedType type_called(const std::string& name, const Catalog& catalog);

/// The name of that type, or `name` if none is called so.
[[nodiscard]] std::string whole_name(const std::string& name, const Catalog& catalog);
/// The types of a list with commas, each by its whole name; what no type is called stays as it is. Adds a note
/// for a short name that could mean others.
[[nodiscard]] std::string whole_names(const std::string& list, const Catalog& catalog,
                                      std::vector<std::string>& notes);
/// "trn1 is read as trn1.32xlarge; also there: trn1.2xlarge"; "" if nothing else is called so.
[[nodiscard]] std::string also_called(const std::string& name, const NamedType& type);

/// The types that begin with `name` ("p5": p5.48xlarge, p5e.48xlarge, ...), or the nearest one, or all that
/// exist.
[[nodiscard]] std::string instance_fix(const std::string& name, const std::vector<std::string>& known);

}  // namespace trnplan::io
