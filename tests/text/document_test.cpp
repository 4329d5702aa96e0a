#include "text/document.h"
#include "tests/folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "tests/catch.h"
#include "tests/faults.h"

using namespace trnplan;

namespace {

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

/// The faults of a text that must be refused.
std::vector<Diagnostic> faults_of(const std::string& text, const std::string& name = "t.yaml") {
  return faults_in([&] { parse_document(text, name); });
}

std::string problem_of(const std::string& text, const std::string& name = "t.yaml") {
  const auto faults = faults_of(text, name);
  return faults.empty() ? "" : to_string(faults.front());
}

}  // namespace

TEST_CASE("a document keeps order and positions", "[io][document]") {
  const Node root = parse_document("model: llama3-8b\ncluster:\n  nodes: 4\n  tags: [a, 'b']\n", "job.yaml");
  REQUIRE(root.is_map());
  REQUIRE(root.entries.size() == 2);
  CHECK(root.entries[0].key == "model");
  const Node* nodes = root.at_path("cluster.nodes");
  REQUIRE(nodes != nullptr);
  CHECK(nodes->scalar == "4");
  CHECK(nodes->at.file == "job.yaml");
  CHECK(nodes->at.line == 3);
  CHECK(nodes->at.column == 10);
  const Node* tags = root.at_path("cluster.tags");
  REQUIRE(tags->items.size() == 2);
  CHECK_FALSE(tags->items[0].quoted);
  CHECK(tags->items[1].quoted);
  CHECK(root.at_path("cluster.nodes.deeper") == nullptr);
  CHECK(root.find("absent") == nullptr);
}

TEST_CASE("JSON keeps the same positions", "[io][document]") {
  const std::string text = "{\n  \"a\": [1, -2.5e3, true, null],\n  \"b \\\"c\\\"\": \"x\\ny\"\n}\n";
  const Node root = parse_document(text, "t.json");
  const Node* a = root.find("a");
  REQUIRE(a != nullptr);
  REQUIRE(a->items.size() == 4);
  CHECK(a->at.line == 2);
  CHECK(a->at.column == 8);
  CHECK(a->items[0].scalar == "1");
  CHECK(a->items[0].at.column == 9);
  CHECK(a->items[1].scalar == "-2.5e3");
  CHECK(a->items[1].at.column == 12);
  CHECK(a->items[2].scalar == "true");
  CHECK(a->items[2].at.column == 20);
  CHECK(a->items[3].is_null());
  const Node* b = root.find("b \"c\"");
  REQUIRE(b != nullptr);
  CHECK(b->quoted);
  CHECK(b->scalar == "x\ny");
  CHECK(b->at.line == 3);
  CHECK(b->at.column == 14);
  CHECK(root.entries[1].key_at.column == 3);
}

TEST_CASE("null in all its spellings", "[io][document]") {
  for (const char* text :
       {"", "\n", "# only a comment\n", "~", "null", "Null", "NULL", "---\n", "\xEF\xBB\xBF"}) {
    CAPTURE(text);
    CHECK(parse_document(text, "t.yaml").is_null());
  }
  CHECK(parse_document("a:\n", "t.yaml").find("a")->is_null());
  CHECK_FALSE(parse_document("a: 'null'\n", "t.yaml").find("a")->is_null());
  CHECK(parse_document("null", "t.json").is_null());
}

TEST_CASE("duplicate keys name the first place", "[io][document]") {
  const auto faults = faults_of("a: 1\nb: 2\n'a': 3\n");
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].at.line == 3);
  CHECK(faults[0].at.column == 1);
  CHECK(faults[0].key == "a");
  CHECK(contains(faults[0].problem, "line 1, column 1"));
  const auto json = faults_of("{\"a\": 1,\n \"\\u0061\": 2}", "t.json");
  REQUIRE(json.size() == 1);
  CHECK(json[0].at.line == 2);
  CHECK(json[0].at.column == 2);
}

TEST_CASE("several documents, stray text, odd keys and tags are refused", "[io][document]") {
  CHECK(contains(problem_of("a: 1\n---\nb: 2\n"), "t.yaml:2:1: a second YAML document"));
  CHECK(contains(problem_of("[1] x\n"), "text follows"));
  CHECK(contains(problem_of("[a, b]: 1\n"), "instead of a key"));
  CHECK(contains(problem_of("~: 1\n"), "instead of a key"));
  CHECK(contains(problem_of("a: !include b.yaml\n"), "tag"));
  CHECK(contains(problem_of("b: &b {x: 1}\na: {<<: *b}\n"), "merge keys"));
}

TEST_CASE("text that is not text is refused where it starts", "[io][document]") {
  CHECK(contains(problem_of(std::string("a: 1\nb: \0\n", 10)), "t.yaml:2:4: a control character (code 0)"));
  CHECK(contains(problem_of("a: 1\n\x04"), "code 4"));
  CHECK(contains(problem_of("a: caf\xE9\n"), "t.yaml:1:7: the text is not UTF-8"));
  const char* malformed[] = {"\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                             "\xE2\x82", "\x80",         "\xF8\x88\x80\x80\x80"};
  for (const char* text : malformed) CHECK(contains(problem_of(text), "not UTF-8"));
  CHECK(problem_of("a: caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\n").empty());
}

TEST_CASE("JSON is strict", "[io][document]") {
  CHECK(contains(problem_of("{\"a\": 1,\n \"b\": 2,}", "t.json"), "t.json:2:9: this is not valid JSON"));
  for (const char* text :
       {"{a: 1}", "{'a': 1}", "{\"a\": 1} // x", "{\"a\": NaN}", "[01]", "{\"a\": 1", "[1] [2]", "tru"}) {
    CAPTURE(text);
    CHECK(contains(problem_of(text, "t.json"), "not valid JSON"));
  }
  CHECK(parse_document("\"\\ud83d\\ude00\"", "t.json").scalar == "\xF0\x9F\x98\x80");
}

// The deep ones would take hours if each level were looked at again.
TEST_CASE("nesting is limited, however it is written", "[io][document]") {
  for (const char* opener : {"[", "{", "{a: ", "- ", "? ", "a:\n", "[[]", "&a [", "- - ? "}) {
    for (const int times : {10'000, 250'000}) {
      CAPTURE(opener, times);
      CHECK_FALSE(faults_of(repeated(opener, times)).empty());
    }
  }
  CHECK(contains(problem_of(repeated("[", 65) + repeated("]", 65)), "nested more than 64"));
  CHECK(problem_of(repeated("[", 64) + repeated("]", 64)).empty());
  CHECK(contains(problem_of(repeated("[", 1'000'000), "t.json"), "nested more than 64"));
}

TEST_CASE("aliases are copied, within a budget", "[io][document]") {
  const Node root = parse_document("a: &x [1, 2]\nb: *x\n", "t.yaml");
  CHECK(root.find("b")->items.size() == 2);
  CHECK(root.find("b")->at.line == 2);

  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 30; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before +
            repeated(", " + before, 9) + "]\n";
  }
  CHECK(contains(problem_of(bomb), "aliases are expanded"));

  std::string chain = "a0: &a0 [x]\n";
  for (int i = 1; i < 100; ++i)
    chain += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + "]\n";
  CHECK(contains(problem_of(chain), "nested more than 64"));

  std::string anchors;
  for (int i = 0; i < 60; ++i) anchors += "&a" + std::to_string(i) + " [";
  CHECK(contains(problem_of(anchors + repeated("1, ", 20'000) + repeated("]", 60)), "aliases are expanded"));
  CHECK(contains(problem_of("a: &a [*a]\n"), "inside the value that it names"));
}

TEST_CASE("files are judged before they are read", "[io][document]") {
  const TestFolder scratch;
  const auto problem = [](const std::filesystem::path& path, std::size_t limit = 100) {
    try {
      read_text(path, limit);
    } catch (const InputError& e) {
      CHECK_FALSE(e.faults().front().fix.empty());
      CHECK(e.faults().front().at.file == path.string());
      return e.faults().front().problem;
    }
    return std::string();
  };
  CHECK(contains(problem(scratch.path), "folder"));
  CHECK(contains(problem(scratch.path / "absent"), "No such file"));
  const auto fifo = scratch.path / "fifo";
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(contains(problem(fifo), "not a regular file"));
  CHECK(contains(problem("/dev/zero"), "not a regular file"));

  const auto file = scratch.path / "file";
  std::ofstream(file) << std::string(100, 'x');
  CHECK(problem(file).empty());
  CHECK(read_text(file, 100).size() == 100);
  std::ofstream(file, std::ios::app) << 'x';
  CHECK(contains(problem(file), "larger than 100"));
  std::filesystem::resize_file(file, std::uintmax_t{1} << 40);  // sparse: a terabyte that must not be read
  CHECK(contains(problem(file), "larger than 100"));
}

TEST_CASE("MapReader collects every fault", "[io][document]") {
  const Node root = parse_document(
      "nodes: 1.5\nzero: 0\nminus: -1\nunit: 32x\nexponent: 1e3\nquoted: \"4\"\nlist: [1]\noctal: 010\nbig: "
      "2147483648\n"
      "yes: yes\ntext: {a: 1}\ntokens: 15T\nbad_tokens: 15Q\nnan: .nan\nratio: 1.5\nnde: 3\n",
      "job.yaml");
  std::vector<Diagnostic> faults;
  MapReader map(root, "cluster", faults);
  for (const char* key : {"nodes", "zero", "minus", "unit", "exponent", "quoted", "list", "octal", "big"}) {
    CAPTURE(key);
    const std::size_t before = faults.size();
    CHECK(map.whole(key, 7, 1, std::numeric_limits<int>::max()) == 7);
    REQUIRE(faults.size() == before + 1);
    CHECK(faults.back().key == std::string("cluster.") + key);
    CHECK(faults.back().at.line > 0);
  }
  CHECK(faults[1].problem == "\"0\" is not a whole number of at least 1");
  CHECK(faults[5].fix == "remove the quotes: 4");
  faults.clear();
  CHECK(map.boolean("yes", true));
  CHECK(map.text("text", "t") == "t");
  CHECK(map.count("bad_tokens", 1) == 1);
  CHECK(map.number("nan", 2, 0, 10) == 2);
  CHECK(map.required_whole("absent", 3, 9) == 3);
  CHECK(faults.size() == 5);
  faults.clear();
  CHECK(map.count("tokens", 1) == 15e12);
  CHECK(map.number("ratio", 0, 0, 10) == 1.5);
  CHECK(map.whole("also_absent", 5, 1, 9) == 5);
  CHECK(faults.empty());
  map.finish();
  REQUIRE(faults.size() == 1);
  CHECK(to_string(faults[0]) == "job.yaml:16:1: cluster.nde: unknown key\n  fix: did you mean \"nodes\"?");
}

TEST_CASE("MapReader on something that is not a map reports that alone", "[io][document]") {
  std::vector<Diagnostic> faults;
  const Node list = parse_document("[1, 2]", "t.yaml");
  MapReader map(list, "training", faults);
  CHECK(map.required_whole("sequence", 1, 9) == 1);
  CHECK(map.required_text("name").empty());
  map.finish();
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].key == "training");
}

TEST_CASE("null values count as absent", "[io][document]") {
  std::vector<Diagnostic> faults;
  const Node root = parse_document("a: null\nb:\n", "t.yaml");
  MapReader map(root, "", faults);
  CHECK(map.whole("a", 4, 1, 9) == 4);
  CHECK_FALSE(map.has("a"));
  CHECK(faults.empty());
  map.required_whole("b", 1, 9);
  CHECK(faults.size() == 1);
  map.finish();
  CHECK(faults.size() == 1);
}
