#!/usr/bin/env bash
# ./dev new, in a copy of the tree: what each kind makes, what is refused, and that a fault leaves nothing behind. Nothing is
# built here: tests/soak.sh does that.
#   new.sh SOURCE_DIR
# shellcheck disable=SC2016
set -euo pipefail

source=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# shellcheck source=tests/checks.sh
. "$(dirname "$0")/../checks.sh"

tree=$work/tree
mkdir "$tree"
# Where there is no Git, all but what is built.
if git -C "$source" rev-parse --git-dir >"$out" 2>&1; then
  (cd "$source" && git ls-files -z --cached --others --exclude-standard | xargs -0 ls -d 2>/dev/null | tar -cf - -T -) | tar -xf - -C "$tree"
else
  tar -cf - -C "$source" --exclude=./build . | tar -xf - -C "$tree"
fi
cp -r "$tree" "$work/first"

new() {  # new CODE ARGUMENTS...
  local wanted=$1 code=0
  shift
  "$tree/dev" new "$@" >"$out" 2>"$err" </dev/null || code=$?
  check "new $* exits $code instead of $wanted" test "$code" -eq "$wanted"
}
changes() { { diff -rq "$work/first" "$tree" || true; } | sed -E -e "s|^Only in $tree/?(.*): (.*)|made \1/\2|" -e "s|^Files .* and $tree/(.*) differ|changed \1|" | sort; }
untouched() { check "$1: the tree is another" test -z "$(changes)"; }
again() { rm -rf "$tree" && cp -r "$work/first" "$tree"; }

# ---- what is said ----

for arguments in '' --help -h; do
  # shellcheck disable=SC2086
  new 0 $arguments
  for kind in target loop collective schedule log model; do
    check "new $arguments does not list $kind" grep -qE "^  $kind +" "$out"
    # What it is said to make is what it makes.
    check "new $arguments says not what $kind makes" test "$(grep -c "NAME" <<<"$(sed -n "/^  $kind /,/^\$/p" "$out")")" -eq \
      "$(find "$source/cmake/new/$kind" -type f | wc -l)"
  done
done

# ---- what is refused ----

refused() {  # refused WORDS ARGUMENTS...
  local words=$1
  shift
  new 2 "$@"
  check "new $*: does not say $words" grep -qF -- "$words" "$err"
  check "new $*: tells no fix" grep -q '^  fix: ' "$err"
  check "new $*: prints to standard output" test ! -s "$out"
}
refused 'there is no kind room' room attic
refused 'a kind and a name are needed' log
refused 'a kind and a name are needed' log a b
for name in '' A aB 1a -a _a a- a_ a__b a-_b 'a b' a/b ../a a.b 'a;b' $'a\nb' 'é' a\"b '$(touch x)'; do refused 'is none' log "$name"; done
refused 'is a word of C++' schedule goto
refused 'has 41 characters' log "$(printf 'a%.0s' {1..41})"
refused 'second one' target nxdt
refused 'second one' loop megatron-bridge
refused 'second one' loop fsdp
refused 'second one' collective rdh
refused 'second one' schedule gpipe
refused 'second one' schedule count
refused 'second one' log titan
refused 'second one' model llama3.1-8b
untouched 'what is refused'

# ---- what is made ----

holds() { check "$kind: $1 has no $2" grep -qF -- "$2" "$tree/$1"; }
makes() {  # makes KIND NAME LINE...: these changes and no others
  kind=$1
  local name=$2
  shift 2
  new 0 "$kind" "$name"
  check "$kind makes and changes other files" diff <(printf '%s\n' "$@" | sort) <(changes)
  local file
  while read -r file; do
    check "$kind does not say: $file" grep -qF "$file" "$out"
    file=$tree/${file#* }
    [[ -f $file ]] || file=$(find "$file" -type f | head -n 1)
    check "$kind leaves a placeholder in $file" bash -c '! grep -nE "@(name|id|Name)@" "$1"' _ "$file"
  done < <(changes | sed -e 's/^made \(.*\)/\1/' -e 's/^changed //')
  new 2 "$kind" "$name"
  check "$kind: a second one is not refused as such" grep -q 'second one' "$err"
  check "$kind: a second call changes something" diff <(printf '%s\n' "$@" | sort) <(changes)
}
command -v clang-format-14 >/dev/null || skip 'how what is made is laid out' clang-format-14
formatted() {
  command -v clang-format-14 >/dev/null || return 0   # said above
  (cd "$tree" && changes | sed 's/^[a-z]* //' | while read -r path; do find "$path" -name '*.cpp' -o -name '*.h'; done | xargs -r clang-format-14 --dry-run -Werror)
}

makes target my-stack 'made targets/my_stack' 'made tests/targets/my_stack' 'changed targets/CMakeLists.txt' \
  'changed targets/registry.cpp' 'changed models/job/stack.cpp' 'changed tests/CMakeLists.txt'
holds targets/CMakeLists.txt 'add_room(targets_my_stack'
holds targets/registry.cpp '&my_stack_target()'
holds targets/registry.cpp '#include "targets/my_stack/my_stack_target.h"'
holds models/job/stack.cpp '{.name = "my-stack"}'
holds targets/my_stack/my_stack_target.cpp 'class MyStackTarget'
holds tests/CMakeLists.txt 'targets/my_stack/my_stack_target_test.cpp'
check 'the room is not of the registry, or not of the floor' test "$(grep -cE '(DEPENDS|add_floor).* targets_my_stack' "$tree/targets/CMakeLists.txt")" -eq 2
check 'a target is laid out otherwise' formatted
again
makes loop my-loop 'made models/framework/my_loop.h' 'made tests/models/framework/my_loop_test.cpp' \
  'changed models/framework/frameworks.cpp' 'changed tests/second_opinion/training_loops.cpp' 'changed tests/CMakeLists.txt'
holds models/framework/frameworks.cpp 'const MyLoopLoop kMyLoopLoop;'
holds models/framework/frameworks.cpp '&kMyLoopLoop'
holds tests/second_opinion/training_loops.cpp '.name = "my-loop"'
check 'a loop is laid out otherwise' formatted
again
makes collective my-way 'made models/collective/neuron_my_way.cpp' 'made tests/models/collective/my_way_test.cpp' \
  'changed models/collective/neuron_algorithms.h' 'changed models/CMakeLists.txt' 'changed tests/CMakeLists.txt'
holds models/collective/neuron_algorithms.h '{my_way, my_way_stages, my_way_can_run,'
holds models/CMakeLists.txt collective/neuron_my_way.cpp
check 'a collective is laid out otherwise' formatted
again
makes schedule my-order 'made models/framework/my_order_schedule.h' 'made models/framework/my_order_schedule.cpp' \
  'made tests/models/framework/my_order_schedule_test.cpp' 'changed models/framework/schedules.cpp' \
  'changed models/job/schedule.h' 'changed models/CMakeLists.txt' 'changed tests/CMakeLists.txt'
holds models/job/schedule.h ' my_order,'
holds models/job/schedule.h '{"my-order", {1, 1}}'
holds models/framework/schedules.cpp '&kMyOrderSchedule'
check 'a schedule is laid out otherwise' formatted
again
makes log my-log 'made logs/training/my_log_lines.h' 'made logs/training/my_log_lines.cpp' \
  'made tests/logs/training/my_log_lines_test.cpp' 'changed logs/detect/log_reader.h' 'changed logs/CMakeLists.txt' \
  'changed tests/CMakeLists.txt'
holds logs/detect/log_reader.h MyLogLines
holds logs/CMakeLists.txt training/my_log_lines.cpp
check 'a log is laid out otherwise' formatted
again
makes model my.model-1b 'made catalog/models/my.model-1b.json' 'changed tests/models/architecture/architecture_test.cpp'
holds catalog/models/my.model-1b.json '"name": "my.model-1b"'
holds tests/models/architecture/architecture_test.cpp '{"my.model-1b", 0}'
check 'a model is laid out otherwise' formatted
again

# A second and a third one go next to the first, whatever their names: lines that got too long are broken by then.
for kind in target loop collective schedule log model; do
  for name in zz-of-a-rather-long-name abc zy-of-another-rather-long-name; do new 0 "$kind" "$name"; done
done
for file in models/framework/schedules.cpp models/framework/frameworks.cpp targets/registry.cpp; do
  check "$file has not all three" test "$(grep -cE '#include .*(zz|zy)_of_a|/abc(_schedule|_target)?\.h"' "$tree/$file")" -eq 3
done
check 'enumerators out of place' test "$(tr -d '\n ' <"$tree/models/job/schedule.h" | grep -oE 'zz_of_a[a-z_]*,abc,zy_of_a[a-z_]*,count}')" != ''
check 'three of each kind are laid out otherwise' formatted
again

# ---- a fault leaves nothing ----

# The last folder cannot be made: a file has its name.
printf 'in the way\n' | tee "$tree/tests/targets/my_stack" >"$work/first/tests/targets/my_stack"
new 1 target my-stack
check 'does not say that nothing was made' grep -q 'nothing was made' "$err"
untouched 'a fault while files are written'
rm "$tree/tests/targets/my_stack" "$work/first/tests/targets/my_stack"

# A table that ends otherwise than the script knows.
file=logs/detect/log_reader.h
sed -i 's/using LineReaders/using Readers/' "$tree/$file"
cp "$tree/$file" "$work/first/$file"
new 2 log my-log
check 'does not say which table it lacks' grep -qF "$file has no \"using LineReaders\"" "$err"
untouched 'a table that is not found'

finish
