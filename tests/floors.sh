#!/usr/bin/env bash
# A folder is a floor and includes only floors below it; a floor's subfolders are rooms, of which none needs another that
# needs it; headers include each other in no circle. docs/architecture.md shows the whole.
#   floors.sh SOURCE_DIR             checks them
#   floors.sh SOURCE_DIR --list      prints their folders
set -euo pipefail
cd "$1"
# From the lowest floor to the highest; two in one line are side by side.
floors=('units' 'text' 'sim topology' 'models' 'logs' 'planner calibrate' 'targets' 'io' 'launch' 'api' 'cli python')
bad=0
complain() {
  printf '%s\n' "$1"
  bad=1
}

declare -A floor
folders=()
for i in "${!floors[@]}"; do
  for folder in ${floors[i]}; do
    [[ -d $folder ]] || continue
    floor[$folder]=$i
    folders+=("$folder")
  done
done

if [[ ${2:-} == --list ]]; then
  printf '%s\n' "${folders[@]}"
  exit
fi

# CMake builds these floors, and clang-tidy looks at the headers of each.
built=$(sed -nE 's/^foreach\(floor IN ITEMS (.*)\)$/\1/p; s/^  add_subdirectory\(([a-z]+)\)$/\1/p' CMakeLists.txt | tr ' ' '\n' | grep -vxE 'tests|bench|' | sort)
[[ $built == "$(printf '%s\n' "${folders[@]}" | sort)" ]] || complain "CMakeLists.txt has other floors: $(tr '\n' ' ' <<<"$built")"
tidied=$(sed -nE "s/^HeaderFilterRegex: '[^(]*\(([a-z|]+)\).*/\1/p" .clang-tidy | tr '|' '\n' | sort)
[[ $tidied == "$built" ]] || complain "the HeaderFilterRegex of .clang-tidy has other floors: $(tr '\n' ' ' <<<"$tidied")"

# file included-file, each include of this project once
includes=$(grep -rnE '^[[:space:]]*#[[:space:]]*include "' --include='*.h' --include='*.cpp' "${folders[@]}" |
  sed -E 's/^([^:]+):[0-9]+:.*include "([^"]+)".*/\1 \2/')
while read -r file included; do
  from=${file%%/*} to=${included%%/*}
  [[ $from == "$to" ]] && continue
  if [[ -z ${floor[$to]:-} ]] || ((floor[$to] >= floor[$from])); then
    # sim stands on topology's level and may not include it, nor the other way round.
    complain "climbs: $file includes $included"
  fi
done <<<"$includes"

# tsort names the members of a circle.
rooms=$(awk '{ a = $1; b = $2; sub(/\/[^\/]*$/, "", a); sub(/\/[^\/]*$/, "", b); if (a != b) print a, b }' <<<"$includes" | sort -u)
circle=$(tsort <<<"$rooms" 2>&1 >/dev/null) || complain "rooms that need each other: $circle"
headers=$(awk '$1 ~ /\.h$/ { print }' <<<"$includes" | sort -u)
circle=$(tsort <<<"$headers" 2>&1 >/dev/null) || complain "headers that include each other: $circle"

# Heavy headers stay out of headers but for private ones, which are not installed, and file formats on their floors.
heavy=$(grep -rnE '#include <(nlohmann|Eigen|boost|yaml-cpp|toml\+\+|CLI)/' --include='*.h' "${folders[@]}" | grep -vE '^(cli/options|calibrate/fit/fit_problem|planner/cost/draws|io/(format|output)/json_tree)\.h:' || true)
[[ -z $heavy ]] || complain "heavy header in a header: $heavy"
above_text=()
for folder in "${folders[@]}"; do [[ $folder == text || $folder == io ]] || above_text+=("$folder"); done
stray=$(grep -rnE '#include <(yaml-cpp|toml\+\+|nlohmann)/' --include='*.cpp' "${above_text[@]}" || true)
[[ -z $stray ]] || complain "a file format outside text/ and io/: $stray"
# A machine or a model is asked for its traits and features, never for the name of its family.
named=$(grep -rnE --include='*.h' --include='*.cpp' 'family (==|!=)|family\.starts_with|Family::' models planner calibrate launch cli topology || true)
[[ -z $named ]] || complain "a family asked by its name: $named"
# A framework or target is asked for its traits too; who reads its name looks it up in a table.
named=$(grep -rnE --include='*.h' --include='*.cpp' '(framework|stack|target)(\.name\(\))? *(==|!=) *"[a-z]|\{"nxdt", ' \
  models planner topology io launch api cli || true)
[[ -z $named ]] || complain "a framework asked by its name: $named"
# What forwards to another floor is included there.
[[ ! -e io/input/nxdt_yaml.h ]] || complain 'io/input/nxdt_yaml.h forwards to targets/nxdt/nxdt_yaml.h: include that'
# A second opinion that asks the first is none: of the product it knows plain structs, and the one file that reads plans.
copied=$(grep -nE '#include "' tests/second_opinion/{activations,check_plan,rules,groups,memory,schedules,training_loops}.{h,cpp} 2>/dev/null |
  grep -vE '"(tests/second_opinion/(activations|check_plan|groups|memory|schedules|training_loops)\.h|models/(job/(job|strategy|schedule)|architecture/architecture|parameters/profile)\.h|topology/instance\.h|units/(quantity|index|normal)\.h)"' || true)
[[ -z $copied ]] || complain "the second opinion includes what it is to check: $copied"
[[ -e tests/second_opinion/check_plan.h ]] || complain 'tests/second_opinion/check_plan.h is missing'
# Tests stand where what they test stands.
for test in tests/{units,text,sim,topology,models,logs,planner,calibrate,targets,io,launch,api}/*/; do
  folder=${test#tests/}
  folder=${folder%/}
  case ${folder##*/} in fixtures | shipped | stand_in | '*') continue ;; esac
  [[ -d $folder ]] || complain "$test has no room of that name"
done
(($(wc -l <<<"$includes") > 50)) || complain 'few includes found: the test looks at the wrong place'
exit $bad
