// Kubernetes on EKS or HyperPod: kubectl applies a manifest of the folder.
#pragma once

#include "launch/scheduler/scheduler.h"

namespace trnplan::launch {

/// "eks". Paths of setup_env.sh are of its pods; ids are kind/name, as kubectl prints them.
const Scheduler& eks();

}  // namespace trnplan::launch
