// Content of a report's page, without a browser; tests/report opens it in one.
#include <filesystem>
#include <limits>
#include <string>

#include "api/report_parts.h"
#include "io/catalog/catalog.h"
#include "launch/report/report_page.h"
#include "tests/folder.h"
#include "text/diagnostic.h"

using namespace trnplan;
using io::JsonValue;

namespace {

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

JsonValue page(const std::string& name) {
  return JsonValue::object({{"kind", "plan"}, {"name", name}});
}

}  // namespace

TEST_CASE("values are written as JSON, in ASCII, and nothing of them is HTML", "[api][report]") {
  CHECK(io::json_in_html(JsonValue()) == "null");
  CHECK(io::json_in_html(JsonValue(0.1)) == "0.1");
  CHECK(io::json_in_html(JsonValue(std::size_t{3})) == "3");
  CHECK(io::json_in_html(JsonValue(std::numeric_limits<double>::infinity())) == "null");
  CHECK(io::json_in_html(JsonValue(std::optional<double>())) == "null");
  CHECK(io::json_in_html(JsonValue(std::vector<std::string>{"a", "b"})) == R"(["a","b"])");
  CHECK(io::json_in_html(JsonValue::object({{"b", true}, {"a", JsonValue::List{1, -2}}})) ==
        R"({"b":true,"a":[1,-2]})");
  CHECK(io::json_in_html(JsonValue("</script><!--&\"")) == R"("\u003c/script\u003e\u003c!--\u0026\"")");
  CHECK(io::json_in_html(JsonValue("\xC3\xA9\xFF")) == R"("\u00e9\ufffd")");
}

TEST_CASE("a page holds its data and its one program, whatever the names", "[api][report]") {
  const std::string plain = launch::report_page(page("llama"));
  const std::string hostile =
      launch::report_page(page("</script><script>alert(1)</script><img src=x onerror=alert(2)>@program@"));
  CHECK(count(hostile, "<script") == 2);
  CHECK(count(hostile, "</script>") == 2);
  CHECK(count(hostile, "<img") == 0);
  CHECK(hostile.size() < plain.size() + 300);  // a mark in the data is not filled in
  CHECK(count(plain, "//www.w3.org/2000/svg") ==
        count(plain, "://"));  // a name, not an address that is asked
  CHECK(count(plain, "@") == count(plain, "@media"));
}

TEST_CASE("a report is written whole, and refused before the work", "[api][report]") {
  const TestFolder folder;
  const std::string file = folder / "page.html";
  CHECK_NOTHROW(api::check_report({}));
  CHECK_NOTHROW(api::check_report({file}));
  api::write_report({file}, page("a"));
  CHECK(std::filesystem::file_size(file) > 10'000);
  CHECK_THROWS_AS(api::check_report({file}), InputError);
  CHECK_THROWS_AS(api::write_report({file}, page("b")), InputError);
  CHECK_NOTHROW(api::check_report({file, true}));
  api::write_report({file, true}, page("b"));
  CHECK_THROWS_AS(api::check_report({folder / "no/page.html"}), InputError);
  CHECK(std::distance(std::filesystem::directory_iterator(std::filesystem::path(file).parent_path()),
                      std::filesystem::directory_iterator()) == 1);
}
