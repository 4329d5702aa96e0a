#!/usr/bin/env bash
# What ./dev package packs: unpacked elsewhere and run with nothing in its environment, and installed in a minimal Debian root that has
# no compiler, no Boost and no network.
#   package.sh SOURCE_DIR BUILD_DIR BUILT    BUILT: 1, or 0 where the build lacked what the Python package needs
# shellcheck disable=SC2016
set -euo pipefail

source=$(cd "$1" && pwd)
build=$(realpath "$2")
program=$build/cli/trnplan-static
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
# shellcheck source=tests/cli/minimal_root.sh
. "$(dirname "$0")/minimal_root.sh"
unset TRNPLAN_CATALOG
lean() { env -i "$@"; }
pack() { bash "$source/cmake/pack.sh" "$1" "$source" "$build" "$work/packed" >"$work/named"; }

mkdir "$work/packed"
tarball=$work/packed/trnplan-$(sed -nE 's/^project\(trnplan VERSION ([0-9.]+).*/\1/p' "$source/CMakeLists.txt")-linux-$(uname -m).tar.xz
deb=
for kind in tar deb; do
  check "packs $kind" pack "$kind"
  file=$(<"$work/named")
  [[ -s $file ]] || { finish; exit; }
  [[ $kind == tar ]] && check 'has its name' test "$file" = "$tarball"
  [[ $kind == deb ]] && deb=$file
  first=$(sha256sum <"$file")
  check "packs $kind again" pack "$kind"
  check "$kind: the same bytes again" test "$first" = "$(sha256sum <"$file")"
  check "$kind: at most 6 MB" test "$(stat -c %s "$file")" -le 6000000
done
check 'unpacks' tar -C "$work" -xf "$tarball"
folders=("$work"/trnplan-*/)
root=${folders[0]%/}
trnplan=$root/bin/trnplan
check 'needs no library of this system' bash -c "! LC_ALL=C readelf -d '$trnplan' 2>/dev/null | grep -q NEEDED"
check 'asks for no interpreter' bash -c "! LC_ALL=C readelf -l '$trnplan' | grep -q INTERP"
check 'knows no folder of the machine that built it' bash -c "! grep -aFq '$source/catalog' '$trnplan'"
# A static glibc loads the system's libraries for these three.
check 'looks up no names and loads nothing' bash -c "! LC_ALL=C nm '$program' | grep -Eqw 'getaddrinfo|gethostbyname|getpwnam'"
check 'prints its version' lean "$trnplan" --version
check 'plans' lean "$trnplan" plan "$root/share/trnplan/examples/llama3-8b-one-node/job.yaml" --top 1 --out "$work/plan"
check 'the plan passes' bash -n "$work/plan/submit.sh"
check 'checks what it wrote' lean "$trnplan" check "$work/plan/nxdt.yaml"
check 'reads logs' bash -c "env -i '$trnplan' watch '$root/share/trnplan/examples/steps-of-a-log/train.log' --once | grep -q 'a step'"
if ((EUID == 0)) && command -v chroot >/dev/null; then
  mkdir "$work/bare"   # a system that is nothing but what was unpacked
  cp -r "$root/." "$work/bare/"
  check 'runs where there is nothing else' env -i TRNPLAN_CATALOG=/share/trnplan/catalog "$(command -v chroot)" "$work/bare" /bin/trnplan plan /share/trnplan/examples/llama3-8b-one-node/job.yaml --top 1 --out /plan
  check 'finds its catalogue without /proc' env -i "$(command -v chroot)" "$work/bare" /bin/trnplan topology
  check 'and wrote its files there' test -s "$work/bare/plan/nxdt.yaml"
  check 'hashes and reads there' env -i TRNPLAN_CATALOG=/share/trnplan/catalog "$(command -v chroot)" "$work/bare" /bin/trnplan calibrate /share/trnplan/examples/steps-of-a-log/train.log --no-fit
else
  skip 'a run in an empty root: not root'
fi
printf 'job: %s\ntokens: 1T\n' "$root/share/trnplan/examples/llama3-8b-one-node/job.yaml" >"$work/grid.yaml"
check 'sweeps' lean "$trnplan" sweep "$work/grid.yaml"
check 'starts other programs' bash -c "! env -i PATH='$PATH' '$trnplan' launch '$work/plan' 2>'$work/said' && grep -q 'TRNPLAN_VENV: is not set' '$work/said'"

# Completion knows every command.
# shellcheck disable=SC2016
complete_with() {
  env -i PATH="$root/bin:$PATH" bash --norc -c \
    '. "$1"; shift; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _trnplan; printf "%s\n" "${COMPREPLY[@]}"' _ \
    "$root/share/bash-completion/completions/trnplan" "$@"
}
check 'completes commands' bash -c "[[ '$(complete_with trnplan wa)' == watch ]]"
check 'completes models' bash -c "[[ '$(complete_with trnplan plan llama3-)' == *llama3-8b* ]]"
check 'completes instances' bash -c "[[ '$(complete_with trnplan topology --instance trn1n)' == trn1n.32xlarge ]]"
check 'completes help' bash -c "[[ '$(complete_with trnplan help wha)' == whatif ]]"
check 'brings a manual page' grep -q '^[.]SS trnplan plan' "$root/share/man/man1/trnplan.1"
check 'completes options' bash -c "[[ '$(complete_with trnplan watch --cal)' == --calibrate ]]"
if command -v zsh >/dev/null; then
  # zsh's own functions want a terminal; in their place stands one that prints what it is given.
  # shellcheck disable=SC2016
  zsh_completes() {
    env -i PATH="$root/bin:$PATH" zsh -f -c '_describe() { print -rl -- ${(P)${@[-1]}} }; _files() { }; file=$1; shift
      words=("$@") CURRENT=$# PREFIX=${@[-1]}; . $file' _ "$root/share/zsh/site-functions/_trnplan" "$@" | grep "$wanted"
  }
  wanted='^watch:Compare a run' check 'zsh completes commands' zsh_completes trnplan wa
  wanted='^--calibrate:' check 'zsh completes options' zsh_completes trnplan watch --cal
  wanted='^llama3-8b$' check 'zsh completes models' zsh_completes trnplan plan ''
else
  skip 'completion in zsh' zsh
fi
if command -v fish >/dev/null; then
  # shellcheck disable=SC2016
  fish_completes() {
    env -i HOME="$work" PATH="$root/bin:$PATH" fish --no-config -c 'source $argv[1]; complete -C "$argv[2]"' \
      "$root/share/fish/vendor_completions.d/trnplan.fish" "$1" | grep "$wanted"
  }
  wanted=$'^watch\tCompare a run' check 'fish completes commands' fish_completes 'trnplan wa'
  wanted=$'^--calibrate\t' check 'fish completes options' fish_completes 'trnplan watch --cal'
  wanted='^llama3-8b$' check 'fish completes models' fish_completes 'trnplan plan llama3-'
else
  skip 'completion in fish' fish
fi

# The minimal root: from the package in hand to the first plan, which is that of the example.
if ((EUID != 0)) || ! unshare -mn true 2>/dev/null || ! command -v apt-cache >/dev/null; then
  skip 'packages in a minimal Debian root: not root on Debian, or no namespaces'
  finish
  exit
fi
example=llama3-8b-one-node
# first_plan FILE FOLDER SCRIPT: runs SCRIPT there with FILE in hand, and says what the package is and the seconds to the plan.
first_plan() {
  local file=$1 folder=$2 script=$3 from to size files
  cp "$file" "$folder/tmp/"
  from=$(date +%s%N)
  inside "$folder" bash -euc "$script" >"$out" 2>"$err" || true
  to=$(date +%s%N)
  check "$(basename "$file"): the plan in a minimal root, as the example says" diff "$source/examples/$example/expected-output" "$out"
  case $file in
    *.tar.xz) files=$(tar -tf "$file" | grep -vc '/$') ;;
    *.deb) files=$(dpkg-deb -c "$file" | grep -vc '^d') ;;
    *.whl) files=$(/usr/bin/python3 -m zipfile -l "$file" | sed 1d | wc -l) ;;
  esac
  size=$(stat -c %s "$file")
  printf '%s: %s: %d files, %d.%02d MB, %s s to the first plan\n' "$suite" "$(basename "$file")" "$files" $((size / 1000000)) \
    $((size / 10000 % 100)) "$(awk "BEGIN { printf \"%.1f\", ($to - $from) / 1e9 }")"
}

bare=$work/root
check 'a minimal root' minimal_root "$bare" xz-utils
check 'has no compiler, no headers' inside "$bare" bash -c '! type cc gcc g++ clang make cmake && test ! -e /usr/include/boost'
check 'has no network' inside "$bare" bash -c '! sed 1,2d /proc/net/dev | grep -qv "^ *lo:"'
first_plan "$tarball" "$bare" "cd /tmp && tar -xf ./*.tar.xz && cd trnplan-*/share/trnplan && ../../bin/trnplan \$(cat examples/$example/command)"
first_plan "$deb" "$bare" "dpkg -i /tmp/*.deb >&2 && cd /usr/share/trnplan && trnplan \$(cat examples/$example/command)"
check 'dpkg: as it was packed' inside "$bare" bash -c 'test -z "$(dpkg --verify trnplan)" && test "$(dpkg-query -W -f "\${Status}" trnplan)" = "install ok installed"'
check 'dpkg: needs no package' test -z "$(dpkg-deb -f "$deb" Depends)"
check 'dpkg: a manual page' inside "$bare" bash -c 'zcat /usr/share/man/man1/trnplan.1.gz | grep -q "^[.]SS trnplan plan"'
check 'dpkg: examples' inside "$bare" test -s /usr/share/doc/trnplan/examples/$example/job.yaml
check 'dpkg: licences' inside "$bare" grep -q 'has openssl inside' /usr/share/doc/trnplan/copyright
check 'dpkg: completion' inside "$bare" bash -c '. /usr/share/bash-completion/completions/trnplan
  COMP_WORDS=(trnplan wa) COMP_CWORD=1; _trnplan; [[ ${COMPREPLY[*]} == watch ]]'
for completion in zsh/vendor-completions/_trnplan fish/vendor_completions.d/trnplan.fish; do
  check "dpkg: $completion" test -s "$bare/usr/share/$completion"
done
check 'dpkg: goes without a trace' inside "$bare" bash -c 'dpkg -P trnplan && ! find /usr /etc -name "*trnplan*" | grep .'

if [[ $3 != 1 ]] || ! /usr/bin/python3 -c 'import setuptools, wheel, ensurepip' 2>/dev/null; then
  skip 'the wheel in a minimal root' pybind11-dev python3-dev python3-setuptools python3-wheel python3-venv
  finish
  exit
fi
check 'packs wheel' pack wheel
wheel=$(<"$work/named")
[[ -s $wheel ]] || { finish; exit; }
first=$(sha256sum <"$wheel")
check 'packs wheel again' pack wheel
check 'wheel: the same bytes again' test "$first" = "$(sha256sum <"$wheel")"
check 'a minimal root with Python' minimal_root "$work/python" python3-venv libstdc++6
mkdir "$work/python/examples"   # the wheel has none
cp -r "$source/examples/$example" "$work/python/examples/"
first_plan "$wheel" "$work/python" "python3 -m venv /env && /env/bin/pip install -q --no-index --disable-pip-version-check /tmp/*.whl >&2
  cd / && /env/bin/trnplan \$(cat examples/$example/command)"
check 'imports there' inside "$work/python" /env/bin/python -c 'import trnplan; assert trnplan.plan("llama3-8b", nodes=1).best.step_seconds'

finish
