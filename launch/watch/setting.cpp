#include "launch/watch/setting.h"

#include "targets/registry.h"

namespace trnplan::launch {

namespace {

constexpr MachineWords kNeuron = {"neuron-monitor", "neuron-top shows it idle", "nccom-test"};
constexpr MachineWords kGpu = {"nvidia-smi", "nvidia-smi shows it idle", "nccl-tests"};
constexpr MachineWords kUnknown = {"neuron-monitor or nvidia-smi", "neuron-top or nvidia-smi shows it idle",
                                   "nccom-test or nccl-tests"};

}  // namespace

const MachineWords& RunSetting::words() const {
  if (machine == nullptr) return kUnknown;
  return machine->accelerator == topology::Accelerator::gpu ? kGpu : kNeuron;
}

planner::TargetAdvice RunSetting::advice() const {
  return target != nullptr ? target->advice() : planner::TargetAdvice{};
}

RunSetting setting_of(const RanPlan& ran) {
  RunSetting setting;
  if (!ran.assumed || ran.machine_stated) setting.machine = &ran.job.cluster.instance.traits;
  if (!ran.assumed) setting.target = &targets::of(ran.job);
  return setting;
}

}  // namespace trnplan::launch
