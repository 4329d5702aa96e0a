#include "units/parse.h"

#include "tests/catch.h"

using namespace trnplan;

TEST_CASE("counts with a suffix", "[units]") {
  CHECK(parse_count("15T") == 15e12);
  CHECK(parse_count("2M") == 2e6);
  CHECK(parse_count("2.5k") == 2500.0);
  CHECK(parse_count("1B") == 1e9);
  CHECK(parse_count("1024") == 1024.0);
  for (const char* bad : {"", "T", "-1", "1TT", "1 T", "nan", "inf", "0x10", "9e30", "1.2.3"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_count(bad));
  }
}

TEST_CASE("whole numbers have no sign, fraction or suffix", "[units]") {
  CHECK(parse_whole("32") == 32);
  CHECK(parse_whole("0") == 0);
  for (const char* bad : {"", "-1", "+1", "1.5", "1e3", "32x", " 1", "99999999999"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_whole(bad));
  }
}

TEST_CASE("durations need a unit", "[units]") {
  CHECK(parse_duration("30d") == Seconds(2592000));
  CHECK(parse_duration("36h") == Seconds(129600));
  CHECK(parse_duration("1w") == Seconds(604800));
  CHECK(parse_duration("90s") == Seconds(90));
  for (const char* bad : {"30", "d", "30 d", "30days", "-1d"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_duration(bad));
  }
}
