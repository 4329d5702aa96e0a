#include "calibrate/fit/kernel_bench.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "models/device/devices.h"

namespace trnplan::calibrate {

namespace {

models::AttentionShape shape_of(const logs::Kernel& k) {
  const double units =
      k.op == logs::KernelOp::flash_forward ? models::kFlashUnitsForward : models::kFlashUnitsBackward;
  return {k.heads, k.batch, k.sequence, k.head_dim, units, k.causal ? 0.5 : 1.0};
}

}  // namespace

models::Work work_of(const logs::Kernel& k, const topology::Core& core, const models::Profile& profile) {
  const models::Device& device = models::device_of(core);
  const models::DeviceContext on{core, profile, k.fp32};
  switch (k.op) {
    case logs::KernelOp::matmul: {
      models::Work work = device.matmul(on, {k.m, k.k, k.n});
      work.seconds = work.seconds * k.batch;
      return work;
    }
    case logs::KernelOp::flash_forward:
    case logs::KernelOp::flash_backward:
      return device.flash_attention(on, shape_of(k));
    case logs::KernelOp::norm:
      return device.elements(on, models::kNorm, k.rows, k.width);
    case logs::KernelOp::vector:
      return device.elements(on, {k.passes}, k.elements, 1);
    case logs::KernelOp::stream:
    case logs::KernelOp::count:
      break;
  }
  return device.memory(on, Bytes(k.bytes));
}

Seconds least_time(const logs::Kernel& k, const topology::Core& core) {
  switch (k.op) {
    case logs::KernelOp::matmul:
      return Flops(2 * k.m * k.k * k.n * k.batch) / core.bf16;
    case logs::KernelOp::flash_forward:
    case logs::KernelOp::flash_backward: {
      const models::AttentionShape s = shape_of(k);
      return Flops(s.units * s.blocks * 2 * s.heads * s.batch * s.sequence * s.sequence * s.head_dim) /
             core.bf16;
    }
    case logs::KernelOp::norm:
      // One pass at least, however it is fused: the five passes of the model are a count.
      return models::device_of(core).least_elements(core, 1, k.rows * k.width);
    case logs::KernelOp::vector:
      return models::device_of(core).least_elements(core, k.passes, k.elements);
    case logs::KernelOp::stream:
    case logs::KernelOp::count:
      break;
  }
  return Seconds(0);
}

KernelBench::KernelBench(const std::vector<logs::MeasuredKernel>& points, const topology::Core& core)
    : core_(core) {
  std::map<std::pair<std::string, logs::Kernel>, std::vector<double>> known;  // the text sets the order
  for (const logs::MeasuredKernel& p : points)
    known[{to_string(p.kernel), p.kernel}].push_back(std::log(p.seconds));
  for (auto& [kernel, logs] : known) {
    std::sort(logs.begin(), logs.end());  // so that sums do not depend on the order
    double sum = 0;
    for (const double x : logs) sum += x;
    observations_.push_back({kernel.second, sum / static_cast<double>(logs.size())});
  }
}

KernelBench::Answer KernelBench::at(const Observation& observation, const models::Profile& profile) const {
  const models::Work work = work_of(observation.kernel, core_, profile);
  Answer answer{std::log(work.seconds.value), {}};
  for (const models::Parameter p : {work.parameter, work.also}) {
    if (p) answer.gradient.emplace_back(p, models::time_sign(p));
  }
  return answer;
}

std::vector<KernelRow> compare_kernels(const std::vector<logs::MeasuredKernel>& kernels,
                                       const topology::Core& core, const models::Profile& profile) {
  std::vector<KernelRow> rows;
  for (const logs::MeasuredKernel& point : kernels) {
    const double predicted = work_of(point.kernel, core, profile).seconds.value;
    rows.push_back({point, predicted, predicted / point.seconds - 1});
  }
  std::sort(rows.begin(), rows.end(), [](const KernelRow& a, const KernelRow& b) {
    return std::tuple(to_string(a.point.kernel), a.point.seconds, a.point.id) <
           std::tuple(to_string(b.point.kernel), b.point.seconds, b.point.id);
  });
  return rows;
}

}  // namespace trnplan::calibrate
