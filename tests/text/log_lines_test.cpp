#include "text/log_lines.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "tests/catch.h"
#include "text/any_word.h"

using namespace trnplan;

TEST_CASE("lines, their ends, colours and ranks", "[calibrate]") {
  LogLines lines(
      "a\r\nb\rc\n\n12: d\n [default7]:e\n[rank31]: e\n[Rank 1] e\n12:30 f\n\x1b[1;31m3: g\x1b[0m\nlast");
  std::vector<std::string> texts, ranks;
  bool cut = false;
  while (lines.next()) {
    texts.emplace_back(lines.line().text);
    ranks.emplace_back(lines.line().rank);
    cut = lines.line().cut;
  }
  CHECK(texts ==
        std::vector<std::string>{"a", "b", "c", "", "d", "e", " e", "[Rank 1] e", "12:30 f", "g", "last"});
  CHECK(ranks == std::vector<std::string>{"", "", "", "", "12", "7", "31", "", "", "3", ""});
  CHECK(lines.line().number == 11);
  CHECK(cut);
}

TEST_CASE("labels of kubectl, srun and torchrun, alone and behind each other", "[calibrate]") {
  // kubectl logs --prefix: kubernetes/kubectl pkg/cmd/logs/logs.go, "[pod/%s/%s] "
  struct Case {
    const char *raw, *text, *rank;
  };
  for (const Case& c : {Case{"[pod/llama-worker-1/pytorch] step 3", "step 3", "llama-worker-1"},
                        Case{"[pod/llama-worker-1/pytorch] [default7]:step 3", "step 3", "llama-worker-1/7"},
                        Case{"3: [default31]:step 3", "step 3", "3/31"},
                        Case{"\x1b[33m[pod/a/b] \x1b[0m0: [rank2]: x", " x", "a/0/2"},
                        Case{"[pod/a/b]", "[pod/a/b]", ""}, Case{"[pod/a b] c/d] e", "[pod/a b] c/d] e", ""},
                        Case{"[pod/ x", "[pod/ x", ""}, Case{"[pod//b] x", "[pod//b] x", ""},
                        Case{"[pod/a/b] ", "", "a"}, Case{"[default]: x", "[default]: x", ""}}) {
    CAPTURE(c.raw);
    std::string clean;
    const LogLine line = log_line(c.raw, 1, false, clean);
    CHECK(line.text == c.text);
    CHECK(line.rank == c.rank);
  }
}

TEST_CASE("a line without end is cut, one that may be JSON is not", "[calibrate]") {
  const std::string text = std::string(100'000, 'x'), json = "{" + text;
  LogLines lines(text);
  REQUIRE(lines.next());
  CHECK(lines.line().text.size() == 65536);
  LogLines report(json);
  REQUIRE(report.next());
  CHECK(report.line().text.size() == 100'001);
}

TEST_CASE("elapsed times", "[calibrate]") {
  CHECK(clock_seconds("21:20") == 1280.0);
  CHECK(clock_seconds("22:26:14") == 80774.0);
  CHECK(clock_seconds("1573:03:24") == 1573 * 3600.0 + 204);
  CHECK(clock_seconds("2 days, 1:00:01") == 2 * 86400.0 + 3601);
  CHECK(clock_seconds("1 day, 0:00:01") == 86401.0);
  CHECK(clock_seconds("0:04:14.32") == Approx(254.32));
  for (const char* bad : {"", "5", "?", "1:2:3:4", "00:60", "1:60:00", "-1:00", "nan:00", "00:-1",
                          "1e9:00:00", "99999999:00:00", "x days, 1:00", "00:00 "}) {
    CAPTURE(bad);
    CHECK_FALSE(clock_seconds(bad));
  }
}

TEST_CASE("asctime", "[calibrate]") {
  const auto seconds = [](std::string_view text) {
    Scan scan(text);
    return asctime_seconds(scan);
  };
  CHECK(seconds("Thu Jan  1 00:00:00 1970") == 0.0);
  // date -u -d "2022-09-29 22:30:10" +%s
  CHECK(seconds("Thu Sep 29 22:30:10 2022 - (0, 78)") == 1664490610.0);
  for (const char* bad :
       {"", "Thu Sep 31 22:30:10 2022", "Thu Foo 1 22:30:10 2022", "Thu Sep 29 24:30:10 2022",
        "Thu Sep 29 22:30 2022", "Sep 29 22:30:10 2022", "Thu Sep 29 22:30:10 99999"}) {
    CAPTURE(bad);
    CHECK_FALSE(seconds(bad));
  }
}

TEST_CASE("numbers in a line", "[calibrate]") {
  CHECK(number_of("4.956E-05") == 4.956e-05);
  CHECK_FALSE(number_of("nan"));
  CHECK_FALSE(number_of("inf"));
  CHECK_FALSE(number_of("1e999"));
  CHECK_FALSE(number_of("1s"));
  CHECK_FALSE(whole_number_of("-1"));
  CHECK_FALSE(whole_number_of("99999999999999999999"));
  CHECK(whole_number_of("1729888371056597613") == 1729888371056597613);
}

TEST_CASE("one of several words, wherever it is", "[calibrate]") {
  constexpr std::array<std::string_view, 3> words = {"error:", "er", "\xff\xff"};
  constexpr AnyWord any(words);
  for (const std::string_view text : {"er", "an error", "ended by er", "\xff\xff", "a\xff\xff"})
    CHECK(any.in(text));
  for (const std::string_view text : {"", "e", "e r", "re", "\xff", "Error"}) CHECK(!any.in(text));
}
