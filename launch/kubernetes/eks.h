// Kubernetes on EKS or HyperPod: kubectl applies the manifests of the folder, of one flavour.
#pragma once

#include "launch/scheduler/scheduler.h"

namespace trnplan::launch {

/// "eks". Paths of settings.env are of its pods; ids are kind/name, as kubectl prints them. submit() applies the
/// job that compiles, waits for it, and applies the one that trains: Kubernetes knows no order of jobs. A second
/// call goes on where the first was interrupted.
const Scheduler& eks();

}  // namespace trnplan::launch
