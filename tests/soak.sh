#!/usr/bin/env bash
# What is too long for every change: property tests with ten times the cases and fresh seeds, the catalogue under random
# names, kills and tampering again and again, the builds that CI does not make, and fuzzing for what time is left.
#   soak.sh SOURCE_DIR MINUTES [SEED]     ./dev soak calls it
# Parts come in this order until the time is over; the last lines say what failed and what was not reached. A part that
# was begun is ended. A failure found here becomes a row of the suite (docs/tests.md).
# shellcheck disable=SC2016  # `...` is Markdown
set -euo pipefail

source=$(cd "$1" && pwd)
minutes=$2
seed=${3:-$(($(date +%s) % 1000000000))}
cd "$source"
log=$source/build/soak.log
mkdir -p build
: >"$log"
program=$source/build/release/cli/trnplan
end=$((SECONDS + minutes * 60))
failed=() unreached=()

# part WHAT COMMAND...: runs it while there is time, and says how it went.
part() {
  local what=$1 start=$SECONDS
  shift
  if ((SECONDS >= end)); then
    unreached+=("$what")
    return
  fi
  printf '\n== %s: %s\n' "$what" "$*" >>"$log"
  if "$@" >>"$log" 2>&1 </dev/null; then
    printf 'passed  %5d s  %s\n' $((SECONDS - start)) "$what"
  else
    failed+=("$what")
    printf 'FAILED  %5d s  %s (build/soak.log)\n' $((SECONDS - start)) "$what"
  fi
}

again() {  # again TIMES COMMAND...
  local n
  for ((n = 0; n < $1; n++)); do "${@:2}" || return 1; done
}

seeded() { TRNPLAN_SOAK=$seed "build/release/tests/$1_tests" --order rand --rng-seed "$seed"; }

compiled() {  # compiled PRESET TEST...: another build, and library tests of it
  local preset=$1 name
  shift
  cmake --preset "$preset" && cmake --build --preset "$preset" || return 1
  for name in "$@"; do "build/$preset/tests/${name}_tests" || return 1; done
}

in_copy() {  # in_copy COMMAND...: in a fresh copy of the tree, which shares what ccache holds
  local copy=$source/build/soak
  rm -rf "$copy" && mkdir -p "$copy" || return 1
  git ls-files -z | tar -cf - --null -T - | tar -xf - -C "$copy" && git init -q "$copy" || return 1
  (cd "$copy" && export CCACHE_BASEDIR=$copy CCACHE_NOHASHDIR=1 && "$@")
}

made() {  # made KIND: the test that ./dev new makes fails and says what to write next; no other does
  local said program filter
  said=$(./dev new "$1" "soak-$1") && printf '%s\n' "$said" && [[ $said =~ --target\ ([a-z]+)_tests\ .*\'(.*)\' ]] || return 1
  program=${BASH_REMATCH[1]}_tests filter=${BASH_REMATCH[2]}
  cmake --preset release && cmake --build --preset release --target "$program" || return 1
  program=build/release/tests/$program
  if said=$("$program" "$filter"); then return 1; fi
  printf '%s\n' "$said" && grep -q 'write next: ' <<<"$said" && "$program" "~$filter"
}

pasted() {  # the example of CONTRIBUTING.md
  bash -euo pipefail -c "$(sed -n '/^```bash$/,/^```$/p' CONTRIBUTING.md | grep -v '^```')"
}

fuzzed() {  # fuzzed SECONDS: every target for an equal share of them
  local targets=() target each found status=0
  cmake --preset fuzz && cmake --build --preset fuzz || return 1
  mapfile -t targets < <(cd build/fuzz/tests/fuzz && printf '%s\n' *_fuzz)
  each=$(($1 / ${#targets[@]}))
  for target in "${targets[@]%_fuzz}"; do
    found=build/fuzz/found/$target
    mkdir -p "$found" "build/fuzz/crashes/$target"
    tar -xzf "tests/fuzz/corpus/${target//_/-}.tar.gz" -C "$found"
    [[ ! -d tests/regress/${target//_/-} ]] || cp "tests/regress/${target//_/-}"/* "$found/"
    "build/fuzz/tests/fuzz/${target}_fuzz" -max_total_time=$((each > 5 ? each : 5)) -timeout=10 -rss_limit_mb=2048 -max_len=65536 \
      -seed="$((seed % 2147483647))" -artifact_prefix="build/fuzz/crashes/$target/" "$found" || status=1
  done
  return $status
}

printf 'soak: %d minutes, seed %d; soak.sh . %d %d repeats it\n' "$minutes" "$seed" "$minutes" "$seed"
for name in property planner models sim io launch; do
  part "properties of $name, ten times the cases" seeded "$name"
done
part 'scripts and TOMLs of GPU frameworks, ten times the cases' env TRNPLAN_SOAK="$seed" build/release/tests/api_tests '[start]'
part 'the digest under random names' python3 tests/digest/digest.py "$program" . --renamed random
part 'pages of reports, 200 settings' env TRNPLAN_SOAK="$seed" python3 tests/report/pages.py "$program" .
part 'kills and broken pipes, 10 times' again 10 bash tests/cli/processes.sh "$program" .
part 'folders that somebody changed, 3 times' again 3 bash tests/launch/evidence.sh "$program" .
kinds=(target loop collective schedule log model)
kind=${kinds[seed % ${#kinds[@]}]}
part "./dev new $kind, built" in_copy made "$kind"
part 'the example of CONTRIBUTING.md' in_copy pasted
part 'every file compiled by itself' compiled files units text
part 'the build of Clang, and its library tests' compiled clang units text topology sim models logs planner calibrate targets io
left=$((end - SECONDS))
part 'fuzzing' fuzzed $((left > 0 ? left : 1))

((${#unreached[@]} == 0)) || printf 'not reached in %d minutes: %s\n' "$minutes" "$(printf '%s; ' "${unreached[@]}" | sed 's/; $//')"
printf 'soak: %d failed\n' "${#failed[@]}"
((${#failed[@]} == 0))
