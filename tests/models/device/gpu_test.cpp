#include "models/device/gpu.h"

#include <algorithm>
#include <cmath>

#include "models/device/devices.h"
#include "models/device/neuron_core_parameters.h"
#include "models/operators/operators.h"
#include "models/step/step.h"
#include "tests/catch.h"
#include "tests/models/gpu_machine.h"
#include "tests/models/setup.h"

using namespace trnplan;
using namespace trnplan::models;

namespace {

Job gpu_job(int nodes) {
  Job job = job_of("llama3-8b", nodes, 8192, 64);
  job.cluster.instance = gpu_machine();
  return job;
}

const Operator& named(const OperatorList& list, std::string_view name) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const Operator& o) { return o.name == name; });
  REQUIRE(found != list.end());
  return *found;
}

}  // namespace

TEST_CASE("a device is found by the name that the machine's data states", "[models][device]") {
  CHECK(device_of(gpu_machine().core).name() == "gpu");
  CHECK(device_of(test_catalog().instance("trn1.32xlarge").core).name() == "neuron_core");
  CHECK(device_named("abacus") == nullptr);
  topology::Core core;
  core.device = "abacus";
  CHECK_THROWS_AS(device_of(core), std::invalid_argument);
}

// Half of 1000 TFLOP/s is 5e14 a second, half of 4 TB/s is 2e12 bytes a second.
TEST_CASE("a product on a gpu is the longer of its operations and its bytes", "[models][device]") {
  const topology::Core core = gpu_machine().core;
  const Profile profile = gpu_profile();
  const Device& device = device_of(core);
  // 2 * 4096^3 = 1.37438953472e11 operations: 0.2749 ms; 3 * 4096^2 elements of 2 bytes: 0.0503 ms.
  const Work large = device.matmul({core, profile}, {4096, 4096, 4096});
  CHECK(large.seconds.value == Approx(1.37438953472e11 / 5e14));
  CHECK(large.parameter == gpu::gemm_share);
  CHECK(large.flops.value == 1.37438953472e11);
  // A vector times the matrix: 2 * 4096^2 operations, 67 ns; 4096^2 + 2 * 4096 elements, 16.8 us.
  const Work thin = device.matmul({core, profile}, {1, 4096, 4096});
  CHECK(thin.seconds.value == Approx(2.0 * (4096.0 * 4096 + 2 * 4096) / 2e12));
  CHECK(thin.parameter == gpu::bandwidth_share);
  // FP32 has half the peak, and elements twice as large.
  CHECK(device.matmul({core, profile, true}, {4096, 4096, 4096}).seconds.value ==
        Approx(1.37438953472e11 / 2.5e14));
  CHECK(device.matmul({core, profile, true}, {1, 4096, 4096}).seconds.value ==
        Approx(2 * thin.seconds.value));
}

// What a profile need not state is neutral; stated, each enters on its own.
TEST_CASE("small products, heads and kernels of a gpu lose what the profile says", "[models][device]") {
  const topology::Core core = gpu_machine().core;
  Profile profile = gpu_profile();
  const Device& device = device_of(core);
  const double large = device.matmul({core, profile}, {4096, 4096, 4096}).seconds.value;
  const double norm = device.elements({core, profile}, kNorm, 4096, 4096).seconds.value;
  const AttentionShape attention{32, 1, 4096, 128, kFlashUnitsForward, 0.5};
  const double flash = device.flash_attention({core, profile}, attention).seconds.value;
  profile.value(gpu::gemm_ramp).median = 128;
  // 128 (1/4096 + 1/4096 + 1/4096) = 0.09375.
  CHECK(device.matmul({core, profile}, {4096, 4096, 4096}).seconds.value == Approx(large * 1.09375));
  profile.value(gpu::gemm_ramp).median = 1e-30;
  profile.value(gpu::unaligned_share).median = 0.5;
  // 4095 is no multiple of 8: half the rate.
  CHECK(device.matmul({core, profile}, {4096, 4095, 4096}).seconds.value == Approx(2 * large * 4095 / 4096));
  profile.value(gpu::kernel_start).median = 5e-6;
  CHECK(device.matmul({core, profile}, {4096, 4096, 4096}).seconds.value == Approx(large + 5e-6));
  profile.value(gpu::eager_traffic).median = 1.5;
  CHECK(device.elements({core, profile}, kNorm, 4096, 4096).seconds.value == Approx(1.5 * norm + 5e-6));
  profile.value(gpu::attention_ramp).median = 1024;
  CHECK(device.flash_attention({core, profile}, attention).seconds.value == Approx(1.25 * flash + 5e-6));
  // Heads of half the length: half the operations at 2^-0.2 of the rate.
  const AttentionShape short_heads{32, 1, 4096, 64, kFlashUnitsForward, 0.5};
  CHECK(device.flash_attention({core, profile}, short_heads).seconds.value ==
        Approx(1.25 * flash / 2 * std::pow(2, 0.2) + 5e-6));
}

// (busy^6 + host^6)^(1/6): equal times make 2^(1/6) of either; a host far ahead or far behind leaves the longer one.
TEST_CASE("a layer's pass is no shorter than its launches", "[models][device]") {
  const topology::Core core = gpu_machine().core;
  Profile profile = gpu_profile();
  const Device& device = device_of(core);
  profile.value(gpu::host_layer).median = 2e-3;
  CHECK(device.host_launches({core, profile}, 2, 0)->seconds.value == Approx(4e-3));
}

// Llama-3 8B on one GPU, 8192 tokens, hidden 4096, 32 heads of 128 and 8 KV heads, so q, k, v are 6144 wide:
//   qkv        2 * 8192 * 4096 * 6144 operations at 5e14 a second
//   attention  2 products of 2 * 32 * 8192^2 * 128 operations, the causal half of each done, at a quarter of
//              1e15 a second; counted are whole squares
//   norm       4 tensors of 8192 * 4096 elements of 2 bytes at 2e12 bytes a second
TEST_CASE("a layer's times on a gpu follow from its roofline", "[models][device]") {
  const Job job = gpu_job(1);
  const Profile profile = gpu_profile();
  const Strategy strategy = strategy_of(job, "tp=1,framework=nxd");
  const LayerModel model(job, strategy, profile);
  const OperatorList forward = model.layer_forward();
  CHECK(named(forward, "qkv").seconds.value == Approx(2.0 * 8192 * 4096 * 6144 / 5e14));
  const double square = 2.0 * 32 * 8192.0 * 8192 * 128;
  CHECK(named(forward, "attention").seconds.value == Approx(2 * square / 2 / 2.5e14));
  CHECK(named(forward, "attention").flops.value == 2 * square);
  CHECK(named(forward, "attention").parameter == gpu::attention_share);
  CHECK(named(forward, "norm").seconds.value == Approx(4.0 * 8192 * 4096 * 2 / 2e12));
  CHECK(named(forward, "layer overhead").seconds.value == 20e-6);
}

// Where no collective and no launch counts, the products of a step are those of the model: 6N and more at the
// rate of large products, so a step takes no less than 6N at half the peak.
TEST_CASE("a step on gpus runs through devices, collectives and parameters of its own", "[models][device]") {
  for (const int nodes : {1, 2}) {
    const Job job = gpu_job(nodes);
    const Profile profile = gpu_profile();
    const StepReport report = simulate_step(job, strategy_of(job, "tp=8"), profile);
    CAPTURE(nodes, report.step.value);
    const double tokens = 64.0 * 8192, peak = 1000e12 * 8 * nodes;
    CHECK(report.step.value > 6 * 7.5e9 * tokens / (0.5 * peak));
    CHECK(report.step.value < 10 * 6 * 8e9 * tokens / peak);
    // Every second of the critical path stands under a parameter of the schema.
    Seconds sum{};
    for (const Parameter p : profile.schema->parameters()) sum += report.exclusive[p.place()];
    CHECK(sum.value == Approx(report.step.value));
    CHECK(report.exclusive[switched::link_share.place()].value > 0);
    CHECK(report.low < report.step);
    CHECK(report.high > report.step);
  }
}

// Catches: heads cut over ranks that cost nothing. 8 multiprocessors; 4096 tokens are 32 blocks of 128
// queries a head, a causal one 2 means long. 4 heads: 128 blocks of half the longest, 8 longest ones each;
// the last leaves 0.5 of one idle: 8.5 / 8. 1 head: 2 each, 2.5 / 2. 128 tokens and 4 heads: 4 blocks are a
// quarter each, and take 1.
TEST_CASE("few heads leave multiprocessors idle in flash attention", "[models][device]") {
  topology::Core core = gpu_machine().core;
  const Profile profile = gpu_profile();
  const Device& device = device_of(core);
  const auto seconds = [&](double heads, double sequence, int multiprocessors) {
    core.multiprocessors = multiprocessors;
    return device.flash_attention({core, profile}, {heads, 1, sequence, 128, 2, 0.5}).seconds.value;
  };
  CHECK(seconds(4, 4096, 8) / seconds(4, 4096, 0) == Approx(8.5 / 8));
  CHECK(seconds(1, 4096, 8) / seconds(1, 4096, 0) == Approx(2.5 / 2));
  CHECK(seconds(4, 128, 8) / seconds(4, 128, 0) == Approx(4));
}

// Catches: a release of the libraries that reaches copies, or not all products.
TEST_CASE("a pace of kernels stretches products and attention alone", "[models][device]") {
  const topology::Core core = gpu_machine().core;
  const Profile profile = gpu_profile();
  Profile slow = profile;
  slow.value(gpu::kernel_pace) = {1.5, 0.1, "made up"};
  const Device& device = device_of(core);
  const MatmulShape large{4096, 4096, 4096};
  CHECK(device.matmul({core, slow}, large).seconds.value ==
        Approx(1.5 * device.matmul({core, profile}, large).seconds.value));
  const AttentionShape attention{8, 1, 4096, 128, 2, 0.5};
  CHECK(device.flash_attention({core, slow}, attention).seconds.value ==
        Approx(1.5 * device.flash_attention({core, profile}, attention).seconds.value));
  CHECK(device.memory({core, slow}, Bytes(1e9)).seconds ==
        device.memory({core, profile}, Bytes(1e9)).seconds);
}
