#!/usr/bin/env bash
# The Python package: a wheel of this build, installed into a new environment, and everything of it from there.
#   run.sh TRNPLAN BUILD_DIR SOURCE_DIR
# shellcheck disable=SC2016
set -euo pipefail

trnplan=$(realpath "$1")
build=$(realpath "$2")
source=$(cd "$3" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"
unset TRNPLAN_CATALOG PYTHONPATH PYTHONHOME

python=/usr/bin/python3   # the one that has Debian's packages
has() { "$python" -c "import $1" 2>/dev/null; }

# The wheel: what CMake has built already, without a compiler and without a network.
cp -r "$source/python" "$work/python"
cp "$source/CMakeLists.txt" "$work/"   # its version
wheel() { cd "$work/python" && TRNPLAN_BUILD_DIR=$build "$python" setup.py -q bdist_wheel -d "$work/wheels"; }
check 'the wheel' wheel
check 'a new environment' "$python" -m venv "$work/env"
check 'pip install' "$work/env/bin/pip" install -q --no-index --no-deps --disable-pip-version-check "$work"/wheels/trnplan-*.whl
rm -rf "$work/python"   # what is tested is the wheel
new=$work/env/bin/python

# In the new environment, which has no pandas: everything but tables.
cd "$work"
check 'the functions' env PATH="$work/env/bin:$PATH" "$new" "$source/tests/python/functions.py" "$trnplan" "$source"
finish
