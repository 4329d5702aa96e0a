#!/usr/bin/env bash
# Each header of a floor compiles alone, so that whoever includes it needs nothing before it, and is read once.
#   headers.sh SOURCE_DIR [HEADER ...]     without headers, all of them
set -euo pipefail
cd "$1"
shift
if (($# == 0)); then
  # shellcheck disable=SC2046  # floors are plain words
  mapfile -t headers < <(find $(bash tests/floors.sh . --list) -name '*.h' | sort)
  ((${#headers[@]} > 300)) || { printf 'few headers found: the test looks at the wrong place\n' && exit 1; }
  set -- "${headers[@]}"
fi

bad=0
for header; do
  grep -q '^#pragma once$' "$header" || { printf '%s:1: no #pragma once\n' "$header" && bad=1; }
done
# Libraries outside the compiler's own folders: Eigen, and Python for the headers of its package.
CPLUS_INCLUDE_PATH=/usr/include/eigen3:$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))' || true)
export CPLUS_INCLUDE_PATH
# shellcheck disable=SC2016  # the inner shell expands them
printf '%s\0' "$@" | xargs -0 -P 2 -n 1 bash -c '
  said=$("${CXX:-g++}" -std=c++20 -fsyntax-only -I. -include "$1" -x c++ /dev/null 2>&1) && exit
  printf "%s:1: does not compile alone\n%s\n" "$1" "$said"
  exit 1' alone || bad=1
exit $bad
