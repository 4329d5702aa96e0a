# shellcheck shell=bash disable=SC2154
# Sourced by tests that run commands and count: $work is a folder of their own, $trnplan the program.

suite=$(basename "$0" .sh)
checks=0 failed=0 skipped=0
out=$work/out err=$work/err   # what the last run() printed

# check WHAT COMMAND...: the command must succeed; what it prints is in $work/check
check() {
  local what=$1
  shift
  checks=$((checks + 1))
  "$@" >"$work/check" 2>&1 && return
  failed=$((failed + 1))
  printf 'FAIL: %s: %s\n' "$suite" "$what"
  tail -n 5 "$work/check" "$out" "$err" 2>/dev/null || true
}

# skip WHAT [PACKAGE...]: says and counts what cannot be checked here, and what it needs; ./dev reads the line. With
# TRNPLAN_TEST_ALL=1 nothing may be left out.
skip() {
  local how=SKIPPED
  skipped=$((skipped + 1))
  if [[ ${TRNPLAN_TEST_ALL:-} == 1 ]]; then how=FAIL failed=$((failed + 1)); fi
  printf '%s: %s: %s%s\n' "$how" "$suite" "$1" "${2:+; needs ${*:2}}"
}

# run CODE ARGUMENTS...: trnplan must exit with CODE
run() {
  local wanted=$1 code=0
  shift
  "$trnplan" "$@" >"$out" 2>"$err" </dev/null || code=$?
  check "trnplan $* exits $code instead of $wanted" test "$code" -eq "$wanted"
}

# finish: prints the counts; fails when a check failed. The last line of a test.
finish() {
  printf '%s: %d checks, %d failed, %d skipped\n' "$suite" "$checks" "$failed" "$skipped"
  ((failed == 0))
}
