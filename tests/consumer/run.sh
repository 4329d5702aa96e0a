#!/usr/bin/env bash
# Installs the built project into a temporary folder, builds a project that uses the package, and runs both.
#   run.sh BUILD_DIR CONSUMER_DIR CXX CXXFLAGS
set -euo pipefail

build=$(cd "$1" && pwd)
consumer=$(cd "$2" && pwd)
cxx=$3 flags=${4:-}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
unset TRNPLAN_CATALOG

checks=0
die() { printf 'FAIL: %s\n' "$1" && exit 1; }
pass() { checks=$((checks + 1)); }
quietly() {  # quietly WHAT COMMAND...: shows the output only when it fails
  local what=$1
  shift
  "$@" >log 2>&1 || { tail -n 40 log && die "$what: $*"; }
  pass
}

# Moved after the installation: the package must not depend on where it was installed.
quietly 'install' cmake --install "$build" --prefix "$work/first"
mv first prefix

if grep -rlF -e "$build" -e "$work/first" prefix/lib*/cmake prefix/include; then die 'the package names the folder it was built in'; fi
pass

quietly 'configure the consumer' cmake -G Ninja -S "$consumer" -B consumer -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Debug \
  -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_CXX_FLAGS="$flags"
quietly 'build the consumer' cmake --build consumer
line=$(./consumer/consumer) || die 'the consumer fails'
[[ "$line" =~ ^winner:\ tp=[0-9]+.*,\ [0-9.]+\ s\ a\ step$ ]] || die "the consumer prints: $line"
pass

# The installed program, with an empty environment.
program=$work/prefix/bin/trnplan
quietly 'topology' env -i "$program" topology
grep -q '^1 x trn1.32xlarge: 16 chips' log || die "topology prints: $(head -n 1 log)"
pass
[[ "$(env -i "$program" plan "$consumer/../../examples/llama3-8b-one-node/job.yaml" --profile trn1-datasheet --risk fastest | sed -nE 's/^ +(tp=[^ ]+).*/\1/p')" == \
  "$(sed -E 's/^winner: (.*), .*/\1/' <<<"$line")" ]] || die 'program and library have different winners'
pass

# The manual page, which is the same each time, and the completions.
for completion in bash-completion/completions/trnplan zsh/site-functions/_trnplan fish/vendor_completions.d/trnplan.fish; do
  [[ -f prefix/share/$completion ]] || die "no $completion"
done
env -i "$program" help --man | cmp -s - prefix/share/man/man1/trnplan.1 || die 'no manual page of this program'
pass

# It reads the installed catalogue, not that of the source tree: only the installed one has this instance.
cd prefix/share/trnplan/catalog/instances
sed 's/"name": "trn1\.32xlarge"/"name": "trn1.moved"/' trn1.32xlarge.json >trn1.moved.json
cd "$work"
quietly 'topology of the installed catalogue' env -i "$program" topology --instance trn1.moved

printf 'consumer: %d checks, 0 failed\n' "$checks"
