// Output of health.sh on each node.
#include "logs/nccom/node_tests.h"

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

using namespace trnplan;

void fuzz::node_tests_target(const std::uint8_t* data, std::size_t size) {
  fuzz::refusable([&] {
    for (const logs::NodeTest& test : logs::read_node_tests(fuzz::text_of(data, size), "health.out")) {
      fuzz::ensure(!test.nodes.empty(), "a test is of nodes");
      fuzz::ensure(test.table.has_value() != !test.failure.empty(), "there is a table or why there is none");
    }
  });
}
