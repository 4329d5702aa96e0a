#include "topology/traits.h"

namespace trnplan::topology {

std::string_view to_string(Accelerator a) {
  switch (a) {
    case Accelerator::neuron_core:
      return "neuron_core";
    case Accelerator::gpu:
      return "gpu";
  }
  return "?";
}

std::string_view benchmark_word(CollectiveRuntime r) {
  return r == CollectiveRuntime::nccl ? "nccl-tests" : "nccom-test";
}

std::string_view device_word(Accelerator a) {
  return a == Accelerator::gpu ? "GPU" : "core";
}

std::string_view to_string(RankOrderRule r) {
  switch (r) {
    case RankOrderRule::row_major:
      return "row_major";
    case RankOrderRule::columns_of_four:
      return "columns_of_four";
    case RankOrderRule::half_instances:
      return "half_instances";
  }
  return "?";
}

std::string_view to_string(GroupRule r) {
  switch (r) {
    case GroupRule::torus_ring:
      return "torus_ring";
    case GroupRule::logic2_mesh:
      return "logic2_mesh";
    case GroupRule::any_group:
      return "any_group";
    case GroupRule::not_published:
      return "not_published";
  }
  return "?";
}

std::string_view to_string(CollectiveRuntime r) {
  switch (r) {
    case CollectiveRuntime::neuron:
      return "neuron";
    case CollectiveRuntime::nccl:
      return "nccl";
  }
  return "?";
}

}  // namespace trnplan::topology
