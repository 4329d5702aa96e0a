#include "models/framework/schedule.h"

#include <map>

#include "tests/catch.h"

using namespace trnplan::models;
using Kind = StageAction::Kind;

namespace {

std::vector<StageAction> only_compute(int stage, int stages, int micro_batches) {
  std::vector<StageAction> compute;
  for (const StageAction& a : one_f_one_b(stage, stages, micro_batches)) {
    if (a.kind == Kind::forward || a.kind == Kind::backward) compute.push_back(a);
  }
  return compute;
}

}  // namespace

TEST_CASE("1F1B of four stages and four micro-batches, by hand", "[models]") {
  const auto f = [](int m) { return StageAction{Kind::forward, m}; };
  const auto b = [](int m) { return StageAction{Kind::backward, m}; };
  CHECK(only_compute(0, 4, 4) == std::vector<StageAction>{f(0), f(1), f(2), f(3), b(0), b(1), b(2), b(3)});
  CHECK(only_compute(2, 4, 4) == std::vector<StageAction>{f(0), f(1), b(0), f(2), b(1), f(3), b(2), b(3)});
  CHECK(only_compute(3, 4, 4) == std::vector<StageAction>{f(0), b(0), f(1), b(1), f(2), b(2), f(3), b(3)});
}

TEST_CASE("a gradient is received before the pending activation is sent", "[models]") {
  // Stage 0 of 2: F0, then F1 is the first of the steady state.
  const auto actions = one_f_one_b(0, 2, 2);
  const std::vector<StageAction> expected = {
      {Kind::forward, 0},       {Kind::activation_up, 0}, {Kind::forward, 1},     {Kind::gradient_up, 0},
      {Kind::activation_up, 1}, {Kind::backward, 0},      {Kind::gradient_up, 1}, {Kind::backward, 1}};
  CHECK(actions == expected);
}

TEST_CASE("every micro-batch is computed once each way and both sides agree on every transfer",
          "[models][property]") {
  for (const int stages : {1, 2, 3, 4, 8}) {
    for (const int micro_batches : {1, 2, 3, 4, 7, 16}) {
      CAPTURE(stages, micro_batches);
      for (int s = 0; s < stages; ++s) {
        std::map<Kind, int> count;
        for (const StageAction& a : one_f_one_b(s, stages, micro_batches)) ++count[a.kind];
        CHECK(count[Kind::forward] == micro_batches);
        CHECK(count[Kind::backward] == micro_batches);
        CHECK(count[Kind::activation_up] == (s < stages - 1 ? micro_batches : 0));
        CHECK(count[Kind::activation_down] == (s > 0 ? micro_batches : 0));
        CHECK(count[Kind::gradient_down] == (s > 0 ? micro_batches : 0));
        CHECK(count[Kind::gradient_up] == (s < stages - 1 ? micro_batches : 0));
      }
    }
  }
}

TEST_CASE("fewer micro-batches than stages", "[models]") {
  // Stage 0 of 4 with one micro-batch: the activation must leave before the gradient can come back.
  const std::vector<StageAction> expected = {
      {Kind::forward, 0}, {Kind::activation_up, 0}, {Kind::gradient_up, 0}, {Kind::backward, 0}};
  CHECK(one_f_one_b(0, 4, 1) == expected);
}
