#include "text/parse.h"

#include "tests/catch.h"
#include "text/utc_time.h"

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

TEST_CASE("sizes are powers of two, as nccom-test reads them", "[units]") {
  CHECK(parse_bytes("0") == Bytes(0));
  CHECK(parse_bytes("1000") == Bytes(1000));
  CHECK(parse_bytes("8B") == Bytes(8));
  for (const char* kilo : {"1K", "1k", "1KB", "1kb", "1Kb", "1KiB", "1kib", "1024", "1024b"}) {
    CAPTURE(kilo);
    CHECK(parse_bytes(kilo) == Bytes(1024));
  }
  CHECK(parse_bytes("32M") == Bytes(33554432));
  CHECK(parse_bytes("1gb") == Bytes(1073741824));
  CHECK(parse_bytes("1.5GiB") == Bytes(1610612736));
  CHECK(parse_bytes("2TiB") == Bytes(0x1p41));
  CHECK(parse_bytes("1e6") == Bytes(1000000));
  CHECK(parse_bytes("4611686018427387904") == Bytes(0x1p62));
  CHECK(parse_bytes("4194304T") == Bytes(0x1p62));
  for (const char* bad :
       {"",     "K",        "-1",   "-1K",     "+1",    " 1",  "1 K",  "1 ",   "1K ",      "1KK",
        "1KBs", "1KiBs",    "1iB",  "1Ki",     "1bb",   "1P",  "nan",  "inf",  "infinity", "1e400",
        "9e30", "4194305T", "0x10", "0.5k512", "1.2.3", "1.5", "0.3K", "1,024"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_bytes(bad));
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

TEST_CASE("a version is numbers with points between them", "[units]") {
  for (const char* good : {"2.28", "1.4", "0.2.2", "24.04.1"}) {
    CAPTURE(good);
    CHECK(is_version(good));
  }
  for (const char* bad :
       {"", ".", "..", "2", "2.", ".2", "1..2", "1.2..", "v1.2", "1.2-rc", "1.2.3.4.5.6.7.8.9.10.11"}) {
    CAPTURE(bad);
    CHECK_FALSE(is_version(bad));
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

TEST_CASE("a range of whole numbers doubles and ends with its end", "[units]") {
  using Numbers = std::vector<int>;
  CHECK(parse_doubling("8", 100) == Numbers{8});
  CHECK(parse_doubling("4..16", 100) == Numbers{4, 8, 16});
  CHECK(parse_doubling("3..10", 100) == Numbers{3, 6, 10});
  CHECK(parse_doubling("5..5", 100) == Numbers{5});
  CHECK(parse_doubling("1073741824..2147483647", 2147483647) == Numbers{1073741824, 2147483647});
  for (const char* bad : {"", "..", "4..", "..8", "8..4", "0..4", "4...8", "4..101", "101", "-1", "4-8"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_doubling(bad, 100));
  }
}

TEST_CASE("a duration is finite", "[units]") {
  CHECK(parse_duration("30d")->value == 30 * 86400.0);
  CHECK_FALSE(parse_duration("1e308d"));
  CHECK_FALSE(parse_duration("nand"));
  CHECK_FALSE(parse_duration("infd"));
  CHECK_FALSE(parse_duration("0x10d"));
}

TEST_CASE("points in time, by hand", "[text]") {
  CHECK(parse_utc("1970-01-02T00:00:00Z") == 86400.0);
  CHECK(parse_utc("2000-03-01T00:00:00+00:00") == 951868800.0);  // after a leap day
  CHECK(parse_utc("2027-01-04 12:30:15.5+01:00") == 1799062215.0);
  CHECK(utc_iso(1799062215) == "2027-01-04T11:30:15Z");
  CHECK(utc_text(951868799) == "2000-02-29 23:59");
  for (const char* bad : {"", "2027-01-04", "2027-13-04T00:00", "2027-02-29T00:00", "2027-01-04T24:00",
                          "2027-01-04T00:00x", "27-01-04T00:00", "2027-01-04T00:00+1"})
    CHECK_FALSE(parse_utc(bad));
}

TEST_CASE("shares and prices an hour", "[text]") {
  CHECK(parse_share("15%") == 0.15);
  CHECK(parse_share("0.15") == 0.15);
  CHECK(parse_usd_per_hour("38.2/h") == 38.2);
  for (const char* bad : {"", "-1", "101%", "1.5", "15 %", "nan"}) CHECK_FALSE(parse_share(bad));
  for (const char* bad : {"", "-1", "1/d", "1 USD", "1e10", "inf"}) CHECK_FALSE(parse_usd_per_hour(bad));
}
