#!/usr/bin/env bash
# Checks ./dev without installing or building anything.
#   dev_script.sh SOURCE_DIR
# shellcheck disable=SC2016
set -euo pipefail

source=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"

# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"

check 'bash -n' bash -n "$source/dev"
check 'is not executable' test -x "$source/dev"
if command -v shellcheck >/dev/null; then
  check 'shellcheck' shellcheck "$source/dev"
else
  skip 'shellcheck of ./dev' shellcheck
fi

for arguments in --help -h ''; do
  code=0
  (cd / && "$source/dev" ${arguments:+"$arguments"}) >"$work/out" 2>"$work/err" || code=$?
  check "'$arguments' exits $code" test "$code" -eq 0
  check "'$arguments' prints no usage" grep -q '^ *\./dev test' "$work/out"
  check "'$arguments' prints code" bash -c "! grep -Eq 'pipefail|packages=' '$work/out'"
done

# One list contains the packages, once each, and no other line names one to apt-get.
mapfile -t packages < <(sed -n '/^packages=(/,/^)/p' "$source/dev" | sed -e '1d;$d' -e 's/#.*//' | tr -s ' ' '\n' | sed '/^$/d')
check "has ${#packages[@]} packages" test "${#packages[@]}" -ge 8
check 'lists a package twice' test -z "$(printf '%s\n' "${packages[@]}" | sort | uniq -d)"
sed -e '/^packages=(/,/^)/d' -e 's/^ *#.*//' "$source/dev" >"$work/rest"
for package in "${packages[@]}"; do
  case $package in
    cmake | g++ | ccache) continue ;;   # also the names of programs
  esac
  check "names $package outside the list" bash -c '! grep -Fqw -e "$1" "$2"' _ "$package" "$work/rest"
done
check 'gives apt-get a package by name' bash -c "! grep -E 'apt-get .*install' '$work/rest' | grep -Eq 'install( -[^ ]+)* [a-z]'"

# A separate list contains the further needs of tests.
mapfile -t extra < <({
  sed -n '/^test_packages=(/,/^)/p' "$source/dev" | sed -e '1d;$d'
  sed -n 's/^wheel_packages=(\(.*\)).*/\1/p' "$source/dev"   # on one line
} | sed -e 's/#.*//' | tr -s ' ' '\n' | sed '/^$/d')
for package in $(sed -nE "s/^ *skip '[^']*' ([a-z0-9 -]+)$/\1/p" "$source"/tests/*/*.sh) slurm-wlm munge libsimgrid-dev; do
  check "test_packages lacks $package" test "$(printf '%s\n' "${extra[@]}" | grep -cFx -e "$package")" -eq 1
done
check 'a package is in both lists' test -z "$(printf '%s\n' "${packages[@]}" "${extra[@]}" | sort | uniq -d)"
# So do linters; shellcheck tests and lints.
mapfile -t linters < <(sed -n '/^lint_packages=(/,/^)/p' "$source/dev" | sed -e '1d;$d' -e 's/#.*//' | tr -s ' ' '\n' | sed '/^$/d')
for package in clang-format-14 clang-tidy-14 eslint flake8 shellcheck; do
  check "lint_packages lacks $package" test "$(printf '%s\n' "${linters[@]}" | grep -cFx -e "$package")" -eq 1
done
check 'a package is in the lists of the build and of linters' test -z "$(printf '%s\n' "${packages[@]}" "${linters[@]}" | sort | uniq -d)"
check 'CI runs every test' test "$(tail -n 1 "$source/.ci/run")" = './dev test --all'

# A system with nothing but the shell's tools, and what is put there in their place.
cp "$source/dev" "$work/dev"
chmod 755 "$work/dev"
bash=$(command -v bash)
tools() {  # tools NAME: an empty folder of tools
  bin=$work/$1
  mkdir "$bin"
  local tool
  for tool in bash env sed dirname cat mktemp rm; do ln -s "$(command -v "$tool")" "$bin/$tool"; done
}
stand_in() { printf '#!%s\n%s\n' "$bash" "$2" >"$bin/$1" && chmod 755 "$bin/$1"; }
names_all() {
  local package
  for package in "${packages[@]}"; do grep -Fqw -e "$package" "$work/err" || return 1; done
}

tools elsewhere
code=0
env -i PATH="$bin" HOME="$work" "$bash" "$work/dev" plan job.yaml >"$work/out" 2>"$work/err" || code=$?
check "no apt-get: exit $code instead of 1" test "$code" -eq 1
check 'no apt-get: does not list every library' names_all
check 'no apt-get: does not say why' grep -qi 'not a Debian' "$work/err"
check 'no apt-get: writes to standard output' test ! -s "$work/out"

tools debian
stand_in apt-get "echo called >'$work/apt-get-called'"
stand_in dpkg-query 'exit 1'
unprivileged=()
if ((EUID == 0)); then unprivileged=(setpriv --reuid=65534 --regid=65534 --clear-groups); fi
if ((EUID != 0)) || { command -v setpriv >/dev/null && "${unprivileged[@]}" test -r "$work/dev" 2>/dev/null; }; then
  code=0
  "${unprivileged[@]}" env -i PATH="$bin" HOME="$work" "$bash" "$work/dev" test >"$work/out" 2>"$work/err" || code=$?
  check "no sudo: exit $code instead of 1" test "$code" -eq 1
  check 'no sudo: does not print the line to run as root' grep -q 'apt-get install .*libyaml-cpp-dev' "$work/err"
  check 'no sudo: does not list every package' names_all
  check 'no sudo: called apt-get' test ! -e "$work/apt-get-called"
else
  skip './dev as a user without sudo: cannot become another user here'
fi

# One line reports what was skipped, from the output of the tests; --all fails on it and runs the sanitizers.
tools built
for tool in mkdir grep awk; do ln -s "$(command -v "$tool")" "$bin/$tool"; done
stand_in apt-get 'exit 9'
stand_in dpkg-query "printf 'install ok installed'"
stand_in cmake "echo \"\$*\" >>'$work/calls'"
stand_in ctest "echo ctest \"\$*\" >>'$work/calls'; mkdir -p 'build/'\$2/Testing/Temporary; cp_log \$2"
stand_in cp_log "while IFS= read -r line; do echo \"\$line\"; done <'$work/log' >build/\$1/Testing/Temporary/LastTest.log"
dev_test() {  # dev_test CODE ARGUMENTS...
  local wanted=$1 code=0
  : >"$work/calls"
  env -i PATH="$bin" HOME="$work" "$bash" "$work/dev" test "${@:2}" >"$work/out" 2>"$work/err" || code=$?
  check "dev test ${*:2} exits $code instead of $wanted" test "$code" -eq "$wanted"
}
printf '%s\n' 'a line' 'SKIPPED: slurm: no Slurm here: no munged; needs slurm-wlm munge' 'SKIPPED: simgrid: links; needs libsimgrid-dev' \
  'SKIPPED: sweep: as a job array: no Slurm here: no munged; needs slurm-wlm munge' 'SKIPPED: package: a run in an empty root: not root' >"$work/log"
dev_test 0
check 'the summary of what was skipped' test "$(tail -n 1 "$work/out")" = \
  'skipped: 4 tests (need slurm-wlm, munge, libsimgrid-dev, not root): ./dev test --all'
check 'runs the sanitizers unasked' bash -c "! grep -q asan '$work/calls'"
dev_test 1 --all
check 'does not say what was skipped' grep -q 'SKIPPED: simgrid' "$work/err"
check 'does not run the sanitizers' grep -q 'ctest --preset asan' "$work/calls"
printf 'no word of it\n' >"$work/log"
dev_test 0
check 'speaks although nothing was skipped' test ! -s "$work/out"
dev_test 0 --all
dev_test 2 --everything
check 'built before it looked at the arguments' test ! -s "$work/calls"

# A release test that fails ends the sanitizers' build too.
ln -s "$(command -v sleep)" "$bin/sleep"
stand_in cmake "[[ \$* != '--build --preset asan'* ]] || { echo \$\$ >'$work/builder'; exec sleep 600; }"
stand_in ctest "until [[ -s '$work/builder' ]]; do sleep 0.1; done; exit 1"
dev_test 1 --all
check 'says more than that' bash -c "! grep -v '^Building' '$work/err'"
gone() { local tries=0; while kill -0 "$1" 2>/dev/null; do ((tries++ < 100)) || return 1; sleep 0.1; done; }
check 'the build goes on alone' gone "$(cat "$work/builder")"
stand_in cmake "echo \"\$*\" >>'$work/calls'"

# lint configures, builds nothing, and hands its revision on.
mkdir -p "$work/cmake"
printf '%s\n' 'printf "lint.sh %s\n" "${*:3}" >>"$HOME/calls"' 'exit 1' >"$work/cmake/lint.sh"
for arguments in '' main --all; do
  : >"$work/calls"
  code=0
  env -i PATH="$bin" HOME="$work" "$bash" "$work/dev" lint ${arguments:+"$arguments"} >"$work/out" 2>"$work/err" || code=$?
  check "lint $arguments: exit $code instead of that of the linters" test "$code" -eq 1
  check "lint $arguments: calls other than to configure and lint" test "$(cat "$work/calls")" = \
    "$(printf -- '--preset tidy\nlint.sh %s' "$arguments")"
done
: >"$work/calls"
code=0
env -i PATH="$bin" HOME="$work" "$bash" "$work/dev" lint main HEAD >"$work/out" 2>"$work/err" || code=$?
check "lint with two revisions: exit $code instead of 2" test "$code" -eq 2
check 'built before it looked at the arguments' test ! -s "$work/calls"

# Packages: what is asked for is looked at before anything is built, and each kind builds what it packs.
mkdir -p "$work/cmake"
printf 'printf "pack %%s\\n" "$1" >>"%s"; printf "a file of %%s\\n" "$1"\n' "$work/calls" >"$work/cmake/pack.sh"
printf 'printf "sysroot %%s\\n" "$1" >>"%s"\n' "$work/calls" >"$work/cmake/sysroot.sh"
dev_package() {  # dev_package CODE ARGUMENTS...
  local wanted=$1 code=0
  : >"$work/calls"
  env -i PATH="$bin" HOME="$work" "$bash" "$work/dev" package "${@:2}" >"$work/out" 2>"$work/err" || code=$?
  check "dev package ${*:2} exits $code instead of $wanted" test "$code" -eq "$wanted"
}
for arguments in rpm 'tar --all' '--arch' '--arch riscv64' 'wheel --arch arm64'; do
  # shellcheck disable=SC2086
  dev_package 2 $arguments
  check "dev package $arguments: built before it looked at the arguments" test ! -s "$work/calls"
done
dev_package 0
check 'packs all three' test "$(cat "$work/out")" = $'a file of tar\na file of deb\na file of wheel'
check 'builds the program and the wheel' grep -q -- '--target trnplan_static trnplan_static trnplan_wheel_files' "$work/calls"
dev_package 0 deb
check 'packs one' test "$(cat "$work/out")" = 'a file of deb'
check 'builds the wheel unasked' bash -c '! grep -q wheel "$1"' _ "$work/calls"
ln -s "$(command -v diff)" "$bin/diff"
mkdir -p "$work/examples/llama3-8b-one-node"
printf 'a plan\n' >"$work/examples/llama3-8b-one-node/expected-output"
stand_in qemu-aarch64-static 'echo a plan'
dev_package 0 --arch arm64
check 'packs two for arm64' test "$(cat "$work/out")" = $'a file of tar\na file of deb'
check 'unpacks the libraries of arm64' grep -q '^sysroot arm64$' "$work/calls"
check 'builds for arm64' grep -q -- '--build --preset arm64 --target trnplan_static' "$work/calls"
stand_in qemu-aarch64-static 'echo another plan'
dev_package 1 tar --arch arm64
check 'says that the plan is another' grep -q 'otherwise' "$work/err"

finish
