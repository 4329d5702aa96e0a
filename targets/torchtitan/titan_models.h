// Models that TorchTitan v0.2.2 has by name: their families, and the sizes of those that are modelled.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/architecture/architecture.h"
#include "targets/flags/recipe.h"

namespace trnplan::targets {

/// A value of model.name. Sources: pytorch/torchtitan@v0.2.2 torchtitan/models/__init__.py and
/// torchtitan/experiments/__init__.py, and the __init__.py of each.
struct TitanFamily {
  std::string_view name;  ///< "qwen3"
  std::string_view is;    ///< in words, where its flavors are not modelled: "an image model"; "" = they are
  std::string_view sizes{};  ///< the family whose flavors it has; "" = its own
  bool pipelines = true;     ///< its TrainSpec has a pipelining_fn
  bool qk_norm = false;      ///< its sizes have norms of each head's queries and keys
};

/// A value of model.flavor, with the recipe that TorchTitan ships for it.
struct TitanFlavor {
  std::string_view family;  ///< "llama3"
  std::string_view name;    ///< "8B"
  std::string_view
      function;  ///< of the later revision's shipped configs, "llama3_8b"; "" = no plan is written
  std::string_view attention;  ///< what of its attention is not modelled; "" = nothing
  models::Architecture model;  ///< all that sizes have; no name
  Recipe recipe;               ///< where plans are written
  /// That shipped config compiles the model, with asynchronous TP, and converts it to FP8.
  bool shipped_fp8 = false;
};

/// nullptr where there is none of that name.
[[nodiscard]] const TitanFamily* titan_family(std::string_view name);
/// "llama3, qwen3": those whose flavors are modelled.
[[nodiscard]] std::string modelled_titan_families();

/// That of a family, nullptr where it has none of that name; and the names that it has.
[[nodiscard]] const TitanFlavor* titan_flavor_named(std::string_view family, std::string_view name);
[[nodiscard]] std::vector<std::string> titan_flavor_names(std::string_view family);

/// The one that plans for the model are written with; nullptr where there is none.
[[nodiscard]] const TitanFlavor* titan_flavor(const models::Architecture& a);
/// That of a function of the later revision's shipped configs.
[[nodiscard]] const TitanFlavor* titan_flavor_shipped(std::string_view function);

}  // namespace trnplan::targets
