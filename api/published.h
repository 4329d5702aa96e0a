// Published data of the catalogue for fits and validation.
#pragma once

#include "calibrate/session/step_data.h"
#include "io/catalog/catalog.h"

namespace trnplan::api {

/// Published runs on the catalogue's default instance, and the nccom-test points of 2023, which predate trn2,
/// without those that the table excludes. Keeps a reference to `catalog`. Throws InputError.
[[nodiscard]] calibrate::Published published(const io::Catalog& catalog);

}  // namespace trnplan::api
