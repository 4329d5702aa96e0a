// Commands that a bash script would start, found without running it.
#include "targets/flags/shell_follower.h"

#include "tests/catch.h"
#include "tests/faults.h"

using namespace trnplan;
using targets::follow_shell;

namespace {

/// The commands that would run, with bars between words and a line each.
std::string commands(const std::string& text, const targets::ShellEnvironment& environment = {}) {
  std::string all;
  for (const targets::ShellCommand& c : follow_shell(text, "run.sh", environment).commands) {
    for (std::size_t i = 0; i < c.size(); ++i) all += (i > 0 ? "|" : "") + c[i].text;
    all += "\n";
  }
  return all;
}

struct Row {
  const char *text, *runs;
};

}  // namespace

// Each row is a way in which scripts keep a value; the answer is what bash prints of the words.
TEST_CASE("values of variables are followed", "[targets][shell]") {
  const Row rows[] = {
      {"A=4\nrun $A ${A} \"$A\" '$A' \\$A", "run|4|4|4|$A|$A\n"},
      {"A=${A:-7}; B=${B-8} C=${1:-9}\nrun $A $B $C", "run|7|8|9\n"},
      {": \"${A:=5}\"\nrun $A", "run|5\n"},
      {"A=\nrun ${A:-x} ${A-y} ${A:+z} end", "run|x|end\n"},
      {"A=1\nrun ${A:+set} ${B:+set} end", "run|set|end\n"},
      {"A=(--x 1 \\\n  --y \"2 3\" # why\n)\nA+=(--z)\nrun \"${A[@]}\" ${#A[@]} ${A[1]}",
       "run|--x|1|--y|2 3|--z|5|1\n"},
      {"A=(\"--x 1\" '--y 2')\nrun ${A[@]} \"${A[*]}\"", "run|--x|1|--y|2|--x 1 --y 2\n"},
      {"A=(1 2)\nB=(0 \"${A[@]}\")\nB+=(\"${A[@]}\")\nrun ${B[@]}", "run|0|1|2|1|2\n"},
      {"A=()\nrun \"${A[@]}\" x\"${A[@]}\" \"\" end", "run|x||end\n"},
      {"ARGS=\"--x 1 --y 2\"\nARGS+=\" --z\"\nrun $ARGS", "run|--x|1|--y|2|--z\n"},
      {"A=2 B=3\nrun $((A * (B + 1) - 5 % 3)) $(( $A/2 ))", "run|6|1\n"},
      {"export A=1 B=\"two words\"\ndeclare -a C=(x)\nrun $A \"$B\" $C", "run|1|two words|x\n"},
      {"run \"$@\" $* $# end", "run|0|end\n"},
      {"run a \\\r\n b # c\n", "run|a|b\n"},
      {"run a >log 2>&1 </dev/null b &>>log | tee x; next && more", "run|a|b\ntee|x\nnext\nmore\n"},
      {"cat <<EOF\nrun no\nEOF\nrun yes", "cat\nrun|yes\n"},
      {"A=x; unset A\nrun ${A:-none}", "run|none\n"},
      {"A=1 run $A", "run|$A\n"},
      {"A=1 true\nrun $A", "run|$A\n"},
      {"[ 1 = 2 ] &&\n  # why\n  run no\nrun yes", "run|yes\n"},
      {"V=2\n[ \"$V\" = 2 ] ||\n  V=8\nrun $V", "run|2\n"},
      {"for n in\t1 2; do A=$n; done\nrun $A", "run|1\n"},
      {"run a; exit 0; run b", "run|a\n"},
      {"if [ 1 = 1 ]; then run a; exit; fi\nrun b", "run|a\n"},
      {"if [ $# -lt 1 ]; then echo usage; exit 1; fi\nrun b", "echo|usage\nrun|b\n"},
      {"exec run a\nrun b", "exec|run|a\n"},
      {"main() {\n  run $A\n}\nA=1\nmain \"$@\"", "run|$A\nmain\n"},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK(commands(row.text) == row.runs);
  }
  CHECK(commands("run $NODES ${NODES:-1}", {{"NODES", "4"}}) == "run|4|4\n");
  CHECK(commands("NODES=2\nrun $NODES", {{"NODES", "4"}}) == "run|2\n");
  CHECK(commands("unset NODES\nrun x$NODES", {{"NODES", "4"}}) == "run|x\n");
  CHECK(contains(follow_shell("source env.sh\nrun", "run.sh").notes.at(0), "env.sh is not followed"));
  CHECK(follow_shell("run $NODES", "run.sh", {{"NODES", "4"}, {"N", "1"}}).taken ==
        std::vector<std::string>{"NODES"});
}

// Nothing is run: text that only a run can expand stays as written, and its place is reported.
TEST_CASE("what a run alone knows is left as it is written", "[targets][shell]") {
  const Row rows[] = {
      {"run $(hostname) `id` $PWD/x", "run|$(hostname)|`id`|$PWD/x\n"},
      {"A=$(touch /tmp/trnplan-must-not-exist; echo 1)\nrun \"$A\"",
       "run|$(touch /tmp/trnplan-must-not-exist; echo 1)\n"},
      {"A=$A\nrun $A", "run|$A\n"},
      {"A=$B\nB=$A\nrun $A $B", "run|$B|$B\n"},
      {"run ${A%/} ${A//x/y} ${!A} ${A:?no} $? end", "run|${A%/}|${A//x/y}|${!A}|${A:?no}|$?|end\n"},
      {"run $((1/0)) $((9223372036854775807 + 1)) $((A+1)) $((1 ? 2 : 3))",
       "run|$((1/0))|$((9223372036854775807 + 1))|$((A+1))|$((1 ? 2 : 3))\n"},
      {"run \"unclosed $(", "run|unclosed $(\n"},
      {"A=1; A[0]=8\nrun $A", "run|$A\n"},
      {"A=1; read A <file\nrun $A", "read|A\nrun|$A\n"},
      {"A=1; ((A=A*128))\nrun $A", "run|$A\n"},
      {"A=1; (( A++ ))\nrun $A", "run|$A\n"},
      {"A=1; (( A == 1 && A <= 2 )); run $A", "run|1\n"},
      {"A=1; let \"A=A*2\"\nrun $A", "let|A=A*2\nrun|$A\n"},
      {"A=1; printf -v A %s 3\nrun $A", "printf|-v|A|%s|3\nrun|$A\n"},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK(commands(row.text) == row.runs);
  }
  const auto words = follow_shell("A=(--x\n  $(id))\nrun \"${A[@]}\"", "run.sh").commands.at(0);
  CHECK(words.at(1).known);
  CHECK((words[1].line == 1 && words[1].column == 4));
  CHECK_FALSE(words.at(2).known);
  CHECK((words[2].line == 2 && words[2].column == 3));
}

TEST_CASE("branches whose condition is known are taken", "[targets][shell]") {
  const Row rows[] = {
      {"D=fp8\nif [[ \"$D\" == \"fp8\" ]]; then A=1; else A=2; fi\nrun $A", "run|1\n"},
      {"D=bf16\nif [ \"$D\" = fp8 ]; then A=1\nelif [[ $D == bf* ]]; then A=2\nelse A=3; fi\nrun $A",
       "run|2\n"},
      {"N=4\nif [ $N -le 2 ]; then A=1; elif [ $N -ge 4 ]; then A=2; fi\nrun $A", "run|2\n"},
      {"if [ -n \"${KEY}\" ]; then A=1; else A=2; fi\nrun $A", "run|2\n"},
      {"if [[ -z \"$X\" ]] || [[ -f /x ]]; then A=1; fi\nrun $A", "run|1\n"},
      {"if [[ -n \"$X\" && -f /x ]]; then A=1; else A=2; fi\nrun $A", "run|2\n"},
      {"N=4\nif (( N > 2 )); then A=1; fi\nrun $A", "run|1\n"},
      {"A=0\n[ 1 -eq 1 ] && A=1\n[ 1 -eq 2 ] || B=2\nrun $A $B", "run|1|2\n"},
      {"if ! [ 1 -eq 2 ]; then A=1; fi\nrun $A", "run|1\n"},
      {"case fp8 in\n  bf16) A=1 ;;\n  fp*|x) A=2 ;;\n  *) A=3 ;;\nesac\nrun $A", "run|2\n"},
      {"for n in 1 2; do A=$n; done\nrun $A", "run|1\n"},
      {"while [[ $# -gt 0 ]]; do case $1 in --tp) A=2 ;; esac; shift; done\nrun ${A:-1}", "run|1\n"},
      {"if [ 1 -eq 1 ]; then if [ 1 -eq 2 ]; then run no; else run yes; fi; else run never; fi", "run|yes\n"},
      {"mkdir x && cd x || exit 1\nrun", "mkdir|x\ncd|x\nrun\n"},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK(commands(row.text) == row.runs);
  }
}

TEST_CASE("a condition that the run decides is taken as not, and said", "[targets][shell]") {
  const auto file = follow_shell("A=1\nif [ -d /opt ]; then\n  A=2\nfi\nrun $A\n", "run.sh");
  CHECK(file.commands.at(0).at(1).text == "1");
  REQUIRE(file.notes.size() == 1);
  CHECK(contains(file.notes[0], "line 2: "));
  // Compared with a number, a variable that nothing sets is no answer.
  const auto nodes = follow_shell("if [ $N -le 4 ]; then A=1; else A=2; fi\nrun $A\n", "run.sh");
  CHECK(nodes.commands.at(0).at(1).text == "2");
  CHECK(nodes.notes.size() == 1);
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "if [ -f x ]; then run; fi\n";
  CHECK(follow_shell(many, "run.sh").notes.size() == 20);
}

// Each took a time or memory without bound, or an end of the stack, in a reader that follows carelessly.
TEST_CASE("hostile scripts end", "[targets][shell]") {
  std::string doubled = "A=xxxxxxxxxxxxxxxx\n";
  for (int i = 0; i < 60; ++i) doubled += "A=\"$A$A\"\n";
  CHECK(contains(refusal_of([&] { (void)follow_shell(doubled, "run.sh"); }), "expands to more than 8 MiB"));
  std::string lists = "A=(1)\n";
  for (int i = 0; i < 60; ++i) lists += "A+=(\"${A[@]}\")\n";
  CHECK(contains(refusal_of([&] { (void)follow_shell(lists, "run.sh"); }), "expands to more than 8 MiB"));
  std::string deep;
  for (int i = 0; i < 65; ++i) deep += "if true; then\n";
  CHECK(contains(refusal_of([&] { (void)follow_shell(deep, "run.sh"); }),
                 "run.sh:65:3: commands are nested deeper than 64"));
  std::string assignments;
  for (int i = 0; i < 100'000; ++i)
    assignments += "V" + std::to_string(i) + "=$V" + std::to_string(i / 2) + "\n";
  CHECK(follow_shell(assignments, "run.sh").variables.size() == 100'000);
  std::string appended = "A=()\n";
  for (int i = 0; i < 100'000; ++i) appended += "A+=(x)\n";
  CHECK(follow_shell(appended, "run.sh").variables.at("A").size() == 100'000);
  CHECK(follow_shell(std::string_view("run \0 a", 7), "run.sh").commands.at(0).size() ==
        3);  // once an end of the stack
  for (const char* part :
       {"(",  ")",  "$(", "${A:-", "\"",  "`",     "[[ ", "((",   "$((", "case x in ", "{ ", "} ",
        ";;", "<<", "<(", "A=(",   "if ", "then ", "\\",  "for ", "&& ", "$",          "'",  "#"}) {
    INFO(part);
    std::string text;
    for (int i = 0; i < 20'000; ++i) text += part;
    try {
      (void)follow_shell(text, "run.sh");
      (void)follow_shell("A=" + text + "\nrun $A\n", "run.sh");
    } catch (const InputError& e) {
      CHECK(e.faults().size() == 1);
    }
  }
}
