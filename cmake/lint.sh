#!/usr/bin/env bash
# What ./dev lint runs: linters over what changed since a revision, or over everything. What takes seconds looks at everything
# anyway: scripts, JavaScript, Python and the layout of the code. Every fault is printed; exit 1 where there was one.
#   lint.sh SOURCE_DIR COMPILE_COMMANDS [REVISION | --all]
# Without a revision it is where the branch left origin/main, else the commit before this one.
set -euo pipefail
cd "$1"
commands=$2/compile_commands.json
since=${3:-}
# Debian's modules, for a node that is not Debian's.
export NODE_PATH=/usr/share/nodejs:/usr/lib/nodejs${NODE_PATH:+:$NODE_PATH}

faults=()
ran() { printf '%-14s %s\n' "$1" "$2"; }   # ran LINTER WHAT: what it looked at
of() { if (($1 == 1)); then printf '1 %s' "$2"; else printf '%d %ss' "$1" "$2"; fi; }
program() { if command -v "$1" >/dev/null; then printf '%s' "$1"; else printf '%s' "${1%-14}"; fi; }   # of LLVM 14, where it is called so
# Inputs of tests are no code of this project.
files() { git ls-files --cached --others --exclude-standard -- "$@" ':!tests/regress' ':!tests/digest/configs' | while read -r file; do [[ ! -e $file ]] || printf '%s\n' "$file"; done; }

# changed PATTERN...: what differs from the revision; with --all, everything.
changed() {
  if [[ $since == --all ]]; then
    files "$@"
  else
    { git diff --name-only --diff-filter=d "$since" -- "$@" && git ls-files --others --exclude-standard -- "$@"; } | sort -u
  fi
}

if [[ -z $since ]]; then
  since=$(git merge-base origin/main HEAD 2>/dev/null || true)
  # On main itself that is this commit.
  [[ -n $since && $since != "$(git rev-parse HEAD)" ]] || since=$(git rev-parse HEAD~1)
fi
if [[ $since == --all ]]; then
  printf 'everything\n'
else
  since=$(git rev-parse --verify --quiet "$since^{commit}") || { printf 'no such revision: %s\n' "$3" >&2 && exit 2; }
  printf 'changes since %s\n' "$(git log -1 --format='%h %s' "$since")"
fi

mapfile -t code < <(files '*.h' '*.cpp' '*.js')
ran clang-format "$(of ${#code[@]} file)"
printf '%s\0' "${code[@]}" | xargs -0 -P 2 -n 40 "$(program clang-format-14)" --dry-run -Werror || faults+=(clang-format)

# Templates (*.in) are scripts only when they are filled in: tests/launch/scripts.sh and gpu_folders.sh lint those.
mapfile -t scripts < <({ files '*.sh' && files ':!*.in' | xargs -d '\n' awk 'FNR > 1 { nextfile } /^#!.*[\/ ](ba|da)?sh( |$)/ { print FILENAME; nextfile }'; } | sort -u)
ran shellcheck "$(of ${#scripts[@]} script)"
shellcheck -x "${scripts[@]}" || faults+=(shellcheck)

# A page runs its files as one program, in this order; what one defines another uses.
mapfile -t parts < <(sed -n '/kScripts/,/;/p' launch/report/report_page.cpp | grep -oE '[a-z_]+\.js' | sed 's|^|launch/report/page/|')
ran eslint "$(of ${#parts[@]} file) of launch/report/page"
[[ "$(printf '%s\n' "${parts[@]}" | sort)" == "$(files 'launch/report/page/*.js')" ]] || { printf 'launch/report/report_page.cpp has other files than launch/report/page\n' && faults+=(eslint); }
said=$(cat "${parts[@]}" | eslint --no-color -f unix --stdin --stdin-filename page.js) || faults+=(eslint)
# The place in the program becomes the place in the file.
awk -F: -v OFS=: '
  NR == FNR { first[++n] = $2; name[n] = $1; next }
  /page\.js:[0-9]+:/ { line = $2; for (i = n; first[i] > line; --i); $1 = name[i]; $2 = line - first[i] + 1; print }
' <(at=1; for part in "${parts[@]}"; do printf '%s:%d\n' "$part" "$at"; at=$((at + $(wc -l <"$part"))); done) - <<<"$said"

mapfile -t python < <(files '*.py')
ran flake8 "$(of ${#python[@]} file)"
flake8 "${python[@]}" || faults+=(flake8)

mapfile -t floors < <(bash tests/floors.sh . --list)
mapfile -t headers < <(changed "${floors[@]/%//*.h}")
ran headers "$(of ${#headers[@]} header), each alone"
((${#headers[@]} == 0)) || bash tests/headers.sh . "${headers[@]}" || faults+=(headers)

# clang-tidy takes files that are compiled: of a header, one that includes it. Tests and benchmarks are not in the list.
known() { grep -qF "\"file\": \"$PWD/$1\"" "$commands"; }
mapfile -t sources < <(
  {
    changed '*.cpp'
    [[ $since == --all ]] || for header in ${headers[@]+"${headers[@]}"}; do
      { files "${header%.h}.cpp" && git grep -lF "#include \"$header\"" -- '*.cpp'; } | while read -r file; do
        if known "$file"; then printf '%s\n' "$file" && break; fi
      done
    done
  } | sort -u | while read -r file; do if known "$file"; then printf '%s\n' "$file"; fi; done
)
ran clang-tidy "$(of ${#sources[@]} file)"
# shellcheck disable=SC2016  # the inner shell expands them
((${#sources[@]} == 0)) || printf '%s\0' "${sources[@]}" | xargs -0 -P 2 -n 1 bash -c '
  said=$("$0" --quiet -p "$1" "$2" 2>/dev/null) || { printf "%s\n" "$said" && exit 1; }' \
  "$(program clang-tidy-14)" "${commands%/*}" || faults+=(clang-tidy)

if ((${#faults[@]} > 0)); then
  printf 'faults: %s\n' "$(printf '%s\n' "${faults[@]}" | sort -u | tr '\n' ' ')"
  exit 1
fi
printf 'no faults\n'
