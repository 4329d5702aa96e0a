#include "models/schemas/schemas.h"

#include <stdexcept>

#include "models/collective/neuron_parameters.h"
#include "models/device/gpu_parameters.h"
#include "models/device/neuron_core_parameters.h"
#include "models/parameters/common_parameters.h"
#include "tests/catch.h"

using namespace trnplan::models;

TEST_CASE("a schema is made of what rooms contribute, in the order of places", "[models]") {
  const ParameterSchema& schema = *schema_named(kDefaultSchema);
  CHECK(schema.parameters().size() == 36);
  CHECK(schema.places() == 36);
  for (std::size_t i = 0; i < schema.parameters().size(); ++i) {
    const Parameter p = schema.parameters()[i];
    CHECK(p.place() == i);
    CHECK(schema.at(i) == p);
    CHECK(schema.find(to_string(p)) == p);
    CHECK_FALSE(p.info().meaning.empty());
  }
  CHECK(schema.contains(neuron::efa_latency));
  CHECK_FALSE(schema.contains(gpu::gemm_share));
  CHECK_FALSE(schema.find("gemm_share"));
  CHECK(schema_named("abacus") == nullptr);
}

TEST_CASE("a second schema shares what every machine has; one may have places without a parameter",
          "[models]") {
  const ParameterSchema& gpus = *schema_named("gpu");
  CHECK(gpus.contains(gpu::gemm_share));
  CHECK(gpus.contains(common::runtime_reserve));
  CHECK_FALSE(gpus.contains(neuron::matmul_efficiency));
  const ParameterSchema few("few", {common::kParameters});
  CHECK_FALSE(few.at(0));
  CHECK(few.parameters().size() < few.places());
}

TEST_CASE("two parameters of a schema may share neither place nor name", "[models]") {
  CHECK_THROWS_AS(ParameterSchema("both", {neuron::kCoreParameters, gpu::kDeviceParameters}),
                  std::logic_error);
  CHECK_THROWS_AS(ParameterSchema("twice", {common::kParameters, common::kParameters}), std::logic_error);
  CHECK(ParameterSchema().places() == 0);
}
