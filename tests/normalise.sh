# shellcheck shell=bash
# Sourced by the tests that compare output with a file.

# normalise SOURCE_DIR: standard input without what differs between machines, runs and releases.
normalise() {
  local source
  source=$(printf '%s' "$1" | sed 's/[]\/$*.^[]/\\&/g')
  sed -e "s/$source/{SRC}/g" -e 's/^trnplan [0-9][0-9.]*$/trnplan {VERSION}/' \
    -e '/"space": *{/,/}/s/"seconds": *[0-9.e+-]*/"seconds": 0/'
}

# answered FOLDER COMMAND: the file, without its ending, of what tests/digest/answers.sh has of it; none: 1.
answered() {
  local file
  [[ -n "$1" ]] || return 1
  file=$(grep -lxF -- "$2" "$1"/*.command | head -n 1) && [[ -n "$file" ]] && printf '%s\n' "${file%.command}"
}

# compare EXPECTED ACTUAL WHAT: 0 when they are equal; TRNPLAN_UPDATE_GOLDEN=1 rewrites EXPECTED instead.
compare() {
  if [[ -n "${TRNPLAN_UPDATE_GOLDEN:-}" ]]; then
    cmp -s "$1" "$2" || { cp "$2" "$1" && printf 'rewrote %s\n' "$1"; }
    return 0
  fi
  if [[ ! -f "$1" ]]; then
    printf 'FAIL: %s: %s is missing (TRNPLAN_UPDATE_GOLDEN=1 writes it)\n' "$3" "$1"
    return 1
  fi
  diff -u --label "expected: $1" --label "now: $3" "$1" "$2" && return 0
  printf 'FAIL: %s (if the change is meant: TRNPLAN_UPDATE_GOLDEN=1)\n' "$3"
  return 1
}
