// Descriptions of the documents that commands print. Private to io/: it is not installed.
#pragma once

#include "io/format/record.h"

namespace trnplan::io {

const Description& search_document();
const Description& simulation_document();
const Description& check_document();
const Description& topology_document();
const Description& collective_document();
const Description& sweep_document();
const Description& health_document();
const Description& models_document();
const Description& instances_document();
const Description& settable_document();
const Description& explain_document();
const Description& support_document();
const Description& whatif_document();
const Description& offerings_document();
const Description& cluster_document();
const Description& compare_document();
const Description& calibrate_document();
const Description& explained_profile_document();
const Description& gpu_fit_document();
const Description& step_validation_document();
const Description& scores_document();
const Description& memory_validation_document();
const Description& collective_validation_document();
const Description& uptime_document();
const Description& launch_document();
const Description& watch_document();

}  // namespace trnplan::io
