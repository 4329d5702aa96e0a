// Models that TorchTitan v0.2.2 knows by name: their families, and the sizes of those that are modelled.
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
  std::string_view name;     ///< "qwen3"
  std::string_view is;       ///< description if its flavors are not modelled: "an image model"; "" = they are
  std::string_view sizes{};  ///< family that provides its flavors; "" = its own
  bool pipelines = true;     ///< its TrainSpec has a pipelining_fn
  bool qk_norm = false;      ///< each head's queries and keys have norms
};

/// A value of model.flavor, with the recipe that TorchTitan ships for it.
struct TitanFlavor {
  std::string_view family;  ///< "llama3"
  std::string_view name;    ///< "8B"
  /// Name in the later revision's shipped configs, "llama3_8b"; "" = no plan is written.
  std::string_view function;
  std::string_view attention;  ///< part of its attention that is not modelled; "" = none
  models::Architecture model;  ///< all that sizes contain; no name
  Recipe recipe;               ///< if plans are written for it
  /// True if that shipped config compiles the model, with asynchronous TP, and converts it to FP8.
  bool shipped_fp8 = false;
};

/// Family by name; nullptr if there is none.
[[nodiscard]] const TitanFamily* titan_family(std::string_view name);
/// Names of the families with modelled flavors: "llama3, qwen3".
[[nodiscard]] std::string modelled_titan_families();

/// Flavor of a family by name, nullptr if there is none; and the names of its flavors.
[[nodiscard]] const TitanFlavor* titan_flavor_named(std::string_view family, std::string_view name);
[[nodiscard]] std::vector<std::string> titan_flavor_names(std::string_view family);

/// Flavor with which plans for the model are written; nullptr if there is none.
[[nodiscard]] const TitanFlavor* titan_flavor(const models::Architecture& a);
/// Flavor of a function of the later revision's shipped configs.
[[nodiscard]] const TitanFlavor* titan_flavor_shipped(std::string_view function);

}  // namespace trnplan::targets
