#include "launch/folder/setup_env.h"

#include "tests/catch.h"

using namespace trnplan;

namespace {

launch::SetupEnv read(const std::string& text) {
  return launch::read_setup_env(text, [](const std::string& name) -> std::optional<std::string> {
    if (name == "HOME") return "/home/me";
    if (name == "EMPTY") return "";
    return std::nullopt;
  });
}

/// "?" for what is not known, "-" for what is not set.
std::string value(const std::string& text, const std::string& name = "A") {
  const auto env = read(text);
  const auto found = env.values.find(name);
  return found == env.values.end() ? "-" : found->second.text.value_or("?");
}

}  // namespace

TEST_CASE("assignments are read as bash would run them", "[launch]") {
  CHECK(value("A=/x") == "/x");
  CHECK(value("  export A=/x   # a comment") == "/x");
  CHECK(value("A='a b'\"c d\"e\\ f") == "a bc de f");
  CHECK(value("A=\"$HOME/x\"") == "/home/me/x");
  CHECK(value("A=${HOME}x") == "/home/mex");
  CHECK(value("A=\"${A:-/default}\"") == "/default");
  CHECK(value("A=\"${HOME:-/default}\"") == "/home/me");
  CHECK(value("A=${EMPTY:-x}${EMPTY-y}") == "x");
  CHECK(value("A=\"${NO:-${HOME}/deep}\"") == "/home/me/deep");
  CHECK(value("B=/b; A=$B/a") == "/b/a");
  CHECK(value("A=1\nA=2") == "2");
  CHECK(value("A='$HOME'") == "$HOME");
  CHECK(value("A=\"a\\$b\\c\"") == "a$b\\c");
  CHECK(value("A=a#b") == "a#b");
  CHECK(value("A=a*b?[c]{d,e}") == "a*b?[c]{d,e}");  // bash expands none of these in an assignment
  CHECK(value("A=") == "");
  CHECK(value("A=x B=y", "B") == "y");
}

TEST_CASE("what only running would tell is not known, and never run", "[launch]") {
  CHECK(value("A=$(touch pwned)") == "?");
  CHECK(value("A=`touch pwned`") == "?");
  CHECK(value("A=\"x$(echo \"a b\")\"") == "?");
  CHECK(value("A=~/x") == "?");
  CHECK(value("A=$((1 + 2))") == "?");
  CHECK(value("A=${HOME%/*}") == "?");
  CHECK(value("A=$1") == "?");
  CHECK(value("A=/x\nsource other.sh") == "/x");
  CHECK(read("A=/x\nsource other.sh").unread == std::vector<int>{2});
  CHECK(value("A=/x\neval A=/y") == "?");
  CHECK(value("if true; then\nA=/x\nfi") == "?");
  CHECK(value("A=/x\nif true; then A=/y; fi") == "?");
  CHECK(value("f() {\nA=/x\n}\nB=/b", "B") == "/b");
  CHECK(value("exit 0\nA=/x") == "?");
  CHECK(value("cat <<END\nA=/x\nEND") == "?");
  CHECK(value("B='\nA=/x\n'") == "?");
  CHECK(value("A=/x command") == "?");
  CHECK(value("A=/x | tee y") == "?");
  CHECK(value("B=$(pwd)\nA=$B/x") == "?");
  CHECK(value("A+=x") == "?");
  CHECK(value("# A=/x") == "-");
  CHECK(value(std::string(100000, '$')) == "-");
  CHECK(value("A=" + std::string(100000, '{')) == std::string(100000, '{'));
}
