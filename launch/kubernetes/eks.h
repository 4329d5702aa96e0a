// Kubernetes on EKS or HyperPod: kubectl applies the manifests of the folder, of one flavour.
#pragma once

#include "launch/scheduler/scheduler.h"

namespace trnplan::launch {

/// "eks". Paths in settings.env are those of its pods; ids are kind/name, as kubectl prints them. submit()
/// applies the job that compiles, waits for it, and applies the one that trains, because Kubernetes does not
/// order jobs. A second call continues after an interruption.
const Scheduler& eks();

}  // namespace trnplan::launch
