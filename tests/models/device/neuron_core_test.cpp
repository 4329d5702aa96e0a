// Logical cores: resources that two physical cores share.
#include "models/device/neuron_core.h"

#include "models/device/neuron_core_parameters.h"
#include "tests/catch.h"
#include "tests/models/setup.h"

using namespace trnplan;
using namespace trnplan::models;

namespace {

topology::Core core_of(const char* instance) {
  return test_catalog().instance(instance).core;
}

/// Everything reaches its peak, and memory is no limit.
Profile ideal() {
  Profile p = datasheet();
  for (const Parameter share :
       {neuron::matmul_efficiency, neuron::flash_efficiency, neuron::vector_efficiency})
    p.value(share) = {1, 0.1, "made up"};
  p.value(neuron::matmul_hbm_traffic) = {1e-9, 0.1, "made up"};
  return p;
}

}  // namespace

// 4,096 x 4,096 x 4,096 in tiles of 128: 32 x 32 products of 4,096 cycles at 2.4 GHz are 1.7476 ms on one physical
// core, and half of that on a logical core of two, which have 16 stationary tiles of a row each.
TEST_CASE("a logical core deals stationary tiles out to its physical cores", "[models][device]") {
  const NeuronCore device;
  const Profile profile = ideal();
  const topology::Core one = core_of("trn2.48xlarge-lnc1"), two = core_of("trn2.48xlarge");
  const auto seconds = [&](const topology::Core& core, double width) {
    return device.matmul({core, profile, false}, {4096, 4096, width}).seconds.value;
  };
  CHECK(seconds(one, 4096) == Approx(32 * 32 * 4096 / 2.4e9));
  CHECK(seconds(two, 4096) == Approx(16 * 32 * 4096 / 2.4e9));
  // One tile of columns cannot be dealt out; the 32 tiles of rows can, each 128 columns wide.
  CHECK(seconds(two, 128) == Approx(32 * 16 * 128 / 2.4e9));
}

// 8 passes over 2^20 elements: 2^23 / (128 x 0.96 GHz) on one physical core.
TEST_CASE("lanes of a logical core are those of its physical cores", "[models][device]") {
  const NeuronCore device;
  const Profile profile = ideal();
  const topology::Core one = core_of("trn2.48xlarge-lnc1"), two = core_of("trn2.48xlarge");
  const double alone = 8.0 * 1024 * 1024 / (128 * 0.96e9);
  CHECK(device.elements({one, profile, false}, {8, 2}, 1024, 1024).seconds.value == Approx(alone));
  CHECK(device.elements({two, profile, false}, {8, 2}, 1024, 1024).seconds.value == Approx(alone / 2));
  CHECK(device.least_elements(two, 8, 1024 * 1024).value == Approx(alone / 2));
}

// A unit of one head over 128 tokens is one tile, which has no second core to go to; of 2,048 tokens each has half.
TEST_CASE("attention is dealt out by tiles of queries", "[models][device]") {
  const NeuronCore device;
  const Profile profile = ideal();
  const topology::Core one = core_of("trn2.48xlarge-lnc1"), two = core_of("trn2.48xlarge");
  const auto seconds = [&](const topology::Core& core, double sequence) {
    return device.flash_attention({core, profile, false}, {1, 1, sequence, 128, 2, 0.5}).seconds.value;
  };
  CHECK(seconds(two, 128) == Approx(seconds(one, 128)));
  CHECK(seconds(two, 2048) == Approx(seconds(one, 2048) / 2));
}
