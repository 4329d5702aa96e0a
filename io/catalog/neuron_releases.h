// The file of versions in each release of the Neuron SDK: catalog/neuron-releases.json.
#pragma once

#include "models/job/neuron_release.h"
#include "text/document.h"

namespace trnplan::io {

/// Reads the releases. They ascend, and each states its Python and the packages that folders pin; the file
/// says where packages, Python, images and tags are from. Throws InputError with all faults.
[[nodiscard]] models::NeuronReleases neuron_releases_from(const Node& node);

}  // namespace trnplan::io
