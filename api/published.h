// What the catalogue publishes for fits and validation.
#pragma once

#include "calibrate/session/step_data.h"
#include "io/catalog/catalog.h"

namespace trnplan::api {

/// The published runs on the catalogue's default instance, and of the nccom-test points those of 2023, older than trn2, but for what
/// the table leaves out. Keeps a reference to `catalog`. Throws InputError.
[[nodiscard]] calibrate::Published published(const io::Catalog& catalog);

}  // namespace trnplan::api
