#!/usr/bin/env bash
# shellcheck disable=SC2016  # `...` is Markdown
# Names, links and excerpts of output in the pages are true. TRNPLAN_UPDATE_GOLDEN=1 rewrites docs/rules.md and the excerpts.
#   docs.sh TRNPLAN SOURCE_DIR
set -euo pipefail

trnplan=$(realpath "$1")
cd "$2"
checks=0 failed=0
floors=()
for folder in units text topology sim models logs planner calibrate targets io launch api cli; do [[ -d $folder ]] && floors+=("$folder"); done
named() {  # named WHAT FILE: the file has `WHAT`
  checks=$((checks + 1))
  grep -qF -- "\`$1\`" "$2" || { printf 'FAIL: %s does not name %s\n' "$2" "$1" && failed=$((failed + 1)); }
}

# Every command, in the overview of the program and in the table of the README.
commands=$("$trnplan" --help | sed -n '/^Subcommands:/,/^[^ ]*$/s/^  \([a-z][a-z-]*\) .*/\1/p')
for command in $commands; do
  named "$command" docs/architecture.md
  named "$command" README.md
done

# docs/rules.md is what the rows of api/rules say; TRNPLAN_UPDATE_GOLDEN rewrites it.
checks=$((checks + 1))
if [[ -n ${TRNPLAN_UPDATE_GOLDEN:-} ]]; then "$trnplan" explain --format markdown >docs/rules.md; fi
"$trnplan" explain --format markdown | diff -u docs/rules.md - ||
  { echo 'FAIL: docs/rules.md is not what trnplan explain --format markdown prints' && failed=$((failed + 1)); }

# The list fits a terminal; every id that a remark ends in has a row, and every row's id is printed in some test.
checks=$((checks + 1))
"$trnplan" explain | grep -E '.{81}' && { echo 'FAIL: trnplan explain is wider than 80 columns' && failed=$((failed + 1)); }
remarked=$(cat api/*.cpp io/input/*.cpp | perl -0ne 'print "$1\n" while /(?:remarks\.add|d\.note|with_id|note)\((?:[^;"]|"(?:[^"\\]|\\.)*")*?,\s*"([a-z-]+)"\);/g' | sort -u)
(($(wc -w <<<"$remarked") > 15)) || { echo 'FAIL: few ids of remarks found' && failed=$((failed + 1)); }
for id in $remarked; do
  checks=$((checks + 1))
  grep -qE "^- \{?id: $id\b" api/rules/9_remarks.yaml || { echo "FAIL: api/rules/9_remarks.yaml has no row $id" && failed=$((failed + 1)); }
done
while read -r id; do
  checks=$((checks + 1))
  grep -rqE --include='*.cpp' --include='*.sh' --include='*.out' --include='*.py' --include='expected-output' "[\"\[ ]${id}[]\":,]" tests examples ||
    { echo "FAIL: no test has the id $id" && failed=$((failed + 1)); }
done < <(sed -nE 's/^- \{?id: ([a-z0-9-]+).*/\1/p' api/rules/*.yaml | sort -u)

# Files that the table of changes sends a reader to.
for path in $(sed -n '/^## Change/,/^## /p' docs/architecture.md | grep -oE '`[a-z_0-9]+/[A-Za-z_0-9./*-]+`' | tr -d '`' | sort -u); do
  checks=$((checks + 1))
  compgen -G "$path" >/dev/null || { printf 'FAIL: docs/architecture.md names %s, which is not there\n' "$path" && failed=$((failed + 1)); }
done

# Whatever CONTRIBUTING.md has in backticks is there: a path (NAME and what `./dev new` makes aside), a word in some file. Its own example is run by
# tests/soak.sh.
text=$(sed '/^```/,/^```/d' CONTRIBUTING.md)
links=$(grep -oE '\]\([^)#]+' <<<"$text" | cut -c3- | sort -u)
while read -r word; do
  case $word in
    *NAME* | ./dev* | *' '*) continue ;;
  esac
  checks=$((checks + 1))
  if [[ $word == */* || $word =~ \.(md|cpp|h|csv|json|sh)$ ]]; then
    compgen -G "$word" >/dev/null || { printf 'FAIL: CONTRIBUTING.md names %s, which is not there\n' "$word" && failed=$((failed + 1)); }
  elif [[ $word =~ ^[A-Za-z_][A-Za-z0-9_:-]*(\(\))?$ ]]; then
    where=("${word%()}" "${floors[@]}" tests catalog)
    if [[ $word == *_tests ]]; then where=("add_floor_test(${word%_tests}" tests/CMakeLists.txt); fi
    grep -rqwF --include='*.cpp' --include='*.h' --include='*.json' --include=CMakeLists.txt -- "${where[@]}" ||
      { printf 'FAIL: CONTRIBUTING.md names %s, which no file has\n' "$word" && failed=$((failed + 1)); }
  fi
done < <({ grep -oE '`[^`]+`' <<<"$text" | tr -d '`'; printf '%s\n' "$links"; } | sort -u)
words=$(wc -w <CONTRIBUTING.md)
((words <= 1500)) || { printf 'FAIL: CONTRIBUTING.md has %d words, 1500 at most: explanations belong in docs/architecture.md\n' "$words" && failed=$((failed + 1)); }

# The README of an example says which plan wins: the one that its output starts with.
folder=examples/llama3-8b-one-node
checks=$((checks + 1))
layout=$(sed -nE 's/^Best +([^,]*[^ ,])(,|  ).*/\1/p' "$folder/expected-output" | sed -E 's/  .*//' | head -n 1)
grep -qF "It proposes $layout" "$folder/README.md" ||
  { printf 'FAIL: %s/README.md does not propose %s\n' "$folder" "$layout" && failed=$((failed + 1)); }

# Excerpts of output and links of all pages; the guides are run as stories.
checks=$((checks + 1))
if command -v python3 >/dev/null; then
  python3 tests/stories/excerpts.py "$trnplan" . || failed=$((failed + 1))
else
  echo 'SKIPPED: docs: the excerpts of the pages; needs python3'
fi

# One value for ninety per cent.
checks=$((checks + 1))
if grep -rnE '[^0-9]1\.64[45]' --include='*.cpp' --include='*.h' "${floors[@]}" | grep -vE '^units/normal\.h:|///'; then
  printf 'FAIL: another value for ninety per cent than kNinetyPercent of units/normal.h\n'
  failed=$((failed + 1))
fi

printf 'docs: %d checks, %d failed\n' "$checks" "$failed"
((checks > 40 && failed == 0))
