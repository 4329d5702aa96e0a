#!/usr/bin/env bash
# The Python package: a wheel of this build, installed into a new environment, and everything of it from there.
#   python.sh TRNPLAN BUILD_DIR SOURCE_DIR BUILT    BUILT: 1, or 0 where the build lacked what the package needs
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
if [[ $4 != 1 ]]; then
  skip 'the Python package' pybind11-dev python3-dev
  finish
  exit
fi
if ! has setuptools || ! has wheel || ! has ensurepip; then
  skip 'the Python package' python3-setuptools python3-wheel python3-venv
  finish
  exit
fi

# The wheel: what CMake has built already, without a compiler and without a network.
mkdir "$work/wheels"
check 'the wheel' bash "$source/cmake/pack.sh" wheel "$source" "$build" "$work/wheels"
check 'a new environment' "$python" -m venv "$work/env"
check 'pip install' "$work/env/bin/pip" install -q --no-index --no-deps --disable-pip-version-check "$work"/wheels/trnplan-*.whl
new=$work/env/bin/python
# Each bundled library has its licence next to ours.
licences() {
  local package library bundled=0
  package=$("$new" -c 'import os, trnplan; print(os.path.dirname(trnplan.__file__))')
  [[ -s $package/LICENSE ]] || return 1
  for library in libfmt:fmt libyaml-cpp:yaml-cpp libcrypto:openssl libsqlite3:sqlite libz:zlib libsnappy:snappy libzstd:zstd; do
    compgen -G "$package/lib/${library%:*}.so*" >/dev/null || continue
    [[ -s $package/licenses/${library#*:}.txt ]] || return 1
    bundled=$((bundled + 1))
  done
  ((bundled == $(find "$package/lib" -type f | wc -l)))
}
check 'licences of what is bundled' licences

# In the new environment, which has no pandas: everything but tables.
cd "$work"
check 'the functions' env PATH="$work/env/bin:$PATH" "$new" "$source/tests/python/functions.py" "$trnplan" "$source"
check 'the pages' env PATH="$work/env/bin:$PATH" "$new" "$source/tests/python/pages.py" "$trnplan" "$source"
if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then
  check 'pages in the frames of a notebook' env HOME="$work" "$new" "$source/tests/python/frame.py" "$source"
else
  skip 'pages in the frames of a notebook' chromium chromium-driver
fi
"$new" "$source/examples/python/clusters.py" llama3-8b 500B 60 >"$out" 2>"$err" || true
check 'examples/python/clusters.py' grep -q '^ *8 .* <$' "$out"

# With the packages of Debian's Python, which has another folder of packages: tables, the notebook, types.
packages=$("$new" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
debian() { env HOME="$work" JUPYTER_PATH="$work/jupyter" IPYTHONDIR="$work/ipython" PYTHONPATH="$packages" PYTHONWARNINGS=ignore "$python" "$@"; }
if has pandas; then
  check 'tables' debian "$source/tests/python/tables.py" "$source"
else
  skip 'tables of the Python package' python3-pandas
fi
notebook=$source/examples/python/plan.ipynb
if has nbclient && has nbformat && has ipykernel && has pandas; then
  mkdir -p "$work/jupyter/kernels/python3"
  printf '{"argv": ["%s", "-m", "ipykernel_launcher", "-f", "{connection_file}"], "display_name": "Python 3", "language": "python"}' \
    "$python" >"$work/jupyter/kernels/python3/kernel.json"
  check 'the notebook from top to bottom' debian "$source/tests/python/notebook.py" "$notebook" "$work/notebook.py"
else
  skip 'the notebook of examples/python' python3-nbclient python3-nbformat python3-ipykernel python3-pandas
fi
if has mypy; then
  types() { "$python" -m mypy --config-file "$source/python/pyproject.toml" --cache-dir "$work/mypy" "$@"; }
  check 'types of the package' types --strict "$source/python/trnplan"
  # As a user's: from the installed package, whose py.typed is what mypy goes by.
  check 'types of the examples and the tests' types --strict --python-executable "$new" "$source"/examples/python/*.py \
    "$source/tests/python/functions.py" "$source/tests/python/pages.py"
  [[ ! -e $work/notebook.py ]] || check 'types of the notebook' types --strict --python-executable "$new" "$work/notebook.py"
  printf 'import trnplan\ntrnplan.plan("llama3-8b", nodes=4.5)\ntrnplan.plan("llama3-8b").best.rank\n' >"$work/wrong.py"
  "$python" -m mypy --strict --cache-dir "$work/mypy" --python-executable "$new" "$work/wrong.py" >"$out" 2>"$err" || true
  check 'wrong types are found' grep -q 'Found 2 errors' "$out"
  check 'the stub of the native module' debian -m mypy.stubtest --mypy-config-file "$source/python/pyproject.toml" trnplan._native
else
  skip 'types of the Python package' mypy
fi
finish
