#include "units/median.h"

#include "tests/catch.h"

using trnplan::median;

TEST_CASE("the median of an odd and of an even number of values", "[units]") {
  CHECK(median({3}) == 3);
  CHECK(median({5, 1, 3}) == 3);
  CHECK(median({4, 1, 3, 10}) == 3.5);  // (3 + 4) / 2
}
