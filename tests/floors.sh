#!/usr/bin/env bash
# A floor includes only floors below it: units < topology < sim < models < planner, calibrate < io < launch < cli.
set -euo pipefail
cd "$1"
declare -A floor=([units]=1 [topology]=2 [sim]=3 [models]=4 [planner]=5 [calibrate]=5 [io]=6 [launch]=7 [cli]=8)
folders=(units topology sim models planner calibrate io launch cli)
seen=0
bad=0
while IFS= read -r line; do
  file=${line%%:*}
  target=$(sed -E 's/.*#include "([^"\/]+)\/.*/\1/' <<<"$line")
  from=${file%%/*}
  seen=$((seen + 1))
  [[ "$from" == "$target" ]] && continue
  if [[ -z "${floor[$target]:-}" ]] || ((floor[$target] >= floor[$from])); then
    echo "climbs: $line"
    bad=1
  fi
done < <(grep -rnE '^[[:space:]]*#[[:space:]]*include "' --include='*.h' --include='*.cpp' "${folders[@]}")
# Heavy headers stay out of headers, and graphs, parsers and file formats on their floor.
heavy=$(grep -rnE '#include <(nlohmann|Eigen|boost|yaml-cpp|CLI)/' --include='*.h' "${folders[@]}" | grep -v '^cli/options.h' || true)
if [[ -n "$heavy" ]]; then
  echo "heavy header in a header: $heavy"
  bad=1
fi
stray=$(grep -rnE '#include <(yaml-cpp|nlohmann)/' --include='*.cpp' units topology sim models planner calibrate launch cli || true)
if [[ -n "$stray" ]]; then
  echo "a file format outside io/: $stray"
  bad=1
fi
# A second opinion that asks the first is none.
copied=$(grep -nE '#include "' planner/check_plan*.{h,cpp} |
  grep -vE '"(planner/check_plan\.h|models/job\.h|models/profile\.h|units/quantity\.h)"' || true)
if [[ -n "$copied" ]]; then
  echo "check_plan includes what it is to check: $copied"
  bad=1
fi
if ((seen < 50)); then
  echo "only $seen includes found: the test looks at the wrong place"
  bad=1
fi
exit $bad
