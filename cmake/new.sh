#!/usr/bin/env bash
# Makes the files and lines of a new thing of a kind, for ./dev new. Its files come from cmake/new/KIND, which
# is laid out as the tree is (@name@ as given, @id@ with _ for - and ., @Name@ in camel case); its lines in
# CMakeLists.txt and its row go to the end of the table that lists the kind. Everything is made in a temporary
# folder. The tree is changed last, and restored if that fails.
#   new.sh SOURCE_DIR [KIND NAME]
set -euo pipefail

tree=$(cd "$1" && pwd)
templates=$tree/cmake/new
kinds=(target loop collective schedule log model)
declare -A makes=(
  [target]='a stack that trains a plan; rows in targets/registry.cpp and models/job/stack.cpp'
  [loop]='a training loop; rows in models/framework/frameworks.cpp and, a second time, tests/second_opinion/training_loops.cpp'
  [collective]='an algorithm of the Neuron runtime inside a node; a row in models/collective/neuron_algorithms.h'
  [schedule]='an order of pipeline stages; rows in models/job/schedule.h and models/framework/schedules.cpp'
  [log]='a format of training logs, read line by line; a row in logs/detect/log_reader.h'
  [model]='a model; a row in tests/models/architecture/architecture_test.cpp'
)
# Ending of its class name, for kinds that are classes.
declare -A classes=([target]=Target [loop]=Loop [schedule]=Schedule [log]=Lines)
# Test program of each kind's new test.
declare -A suites=([target]=targets [loop]=models [collective]=models [schedule]=models [log]=logs [model]=models)

usage() {
  printf './dev new KIND NAME makes the files of a new thing, its lines in CMakeLists.txt, the row that lists it, and a test\n'
  printf 'that fails and says what to write next. CONTRIBUTING.md goes on from there. Kinds:\n'
  local kind
  for kind in "${kinds[@]}"; do
    printf '\n  %-11s %s\n' "$kind" "${makes[$kind]}"
    (cd "$templates/$kind" && find . -type f | sort) | sed -e 's|^\./|              |' -e 's|\.in$||' -e 's/@id@\|@name@/NAME/g'
  done
}
stop() { printf 'new: %s\n  fix: %s\n' "$1" "$2" >&2 && exit 2; }

case ${2:-} in '' | -h | --help) usage && exit ;; esac
(($# == 3)) || stop "a kind and a name are needed, not ${*:2}" './dev new KIND NAME'
kind=$2 name=$3
[[ -n ${makes[$kind]:-} ]] || stop "there is no kind $kind" "one of ${kinds[*]}"
# A model is named as its publisher names it: llama3.1-8b.
between='[_-]'
if [[ $kind == model ]]; then between='[._-]'; fi
LC_ALL=C
[[ $name =~ ^[a-z][a-z0-9]*(${between}[a-z0-9]+)*$ ]] ||
  stop "the name $(printf %q "$name") is none" 'small letters and digits, the first a letter, words joined by one - or _: my-name'
((${#name} <= 40)) || stop "the name has ${#name} characters" '40 at most'
keywords=' alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const consteval constexpr
  constinit continue decltype default delete do double else enum explicit export extern false float for friend goto if inline int
  long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register requires return short
  signed sizeof static struct switch template this throw true try typedef typeid typename union unsigned using virtual void
  volatile while xor xor_eq '
id=${name//[-.]/_}
[[ ! $keywords =~ [[:space:]]${id}[[:space:]] ]] || stop "$name is a word of C++" "another name: my-$name"
words=${id//_/ }
Name=
for word in $words; do Name+=${word^}; done

work=$(mktemp -d)
changing=()   # files of the tree that are written, while they are
folders=()    # that were made for them
leave() {
  local code=$? file
  trap '' INT TERM HUP
  set +e
  if ((code != 0 && ${#changing[@]} > 0)); then
    for file in "${changing[@]}"; do
      if [[ -e $work/before/$file ]]; then cp -p "$work/before/$file" "$tree/$file"; else rm -f "$tree/$file" 2>/dev/null; fi
    done
    for file in ${folders[@]+"${folders[@]}"}; do rmdir "$tree/$file" 2>/dev/null; done
    printf 'new: nothing was made: the tree is as it was\n' >&2
  fi
  rm -rf "$work"
}
trap leave EXIT
trap 'exit 130' INT TERM HUP
mkdir "$work/now" "$work/before"

taken() { stop "the $kind $name would be a second one: $1" 'another name, or change what is there'; }

fill() { sed -e "s/@name@/$name/g" -e "s/@id@/$id/g" -e "s/@Name@/$Name/g"; }

# row FILE START END TEXT: inserts the text before the first END after START.
row() {
  local file=$1 start=$2 end=$3 text all before behind
  [[ -e $work/now/$file ]] || {
    [[ -f $tree/$file ]] || stop "$file is not there" 'cmake/new.sh names the file that lists such things'
    mkdir -p "$work/now/$(dirname "$file")" && cp -p "$tree/$file" "$work/now/$file"
  }
  all=$(cat "$work/now/$file" && printf .) && all=${all%.}
  before=${all%%"$start"*}
  [[ $before != "$all" ]] || stop "$file has no \"$start\", behind which the row of a $kind goes" 'cmake/new.sh says where the table is'
  behind=${all#*"$start"}
  [[ $behind == *"$end"* ]] || stop "$file: the table of \"$start\" does not end with \"${end//$'\n'/\\n}\"" 'cmake/new.sh says how it ends'
  text=$(printf '%s.' "$4" | fill) && text=${text%.}
  printf '%s%s%s%s' "$before$start" "${behind%%"$end"*}" "$text" "$end${behind#*"$end"}" >"$work/now/$file"
}
# listed FILE LIST SOURCE: inserts the source among those of a room or of a test program.
listed() { row "$1" "$2"$'\n' '  DEPENDS' "    $3"$'\n'; }
# included FILE HEADER: inserts the header among those that the file includes, in their order.
included() {
  local new other last
  new=$(fill <<<"$2")
  while read -r other; do
    [[ $other != "${1%.cpp}.h" ]] || continue
    if [[ $other > $new ]]; then row "$1" '' "#include \"$other\"" "#include \"$new\""$'\n' && return; fi
    last=$other
  done < <(sed -nE 's/^#include "(.*)"$/\1/p' "$tree/$1")
  row "$1" "#include \"$last\"" $'\n' $'\n'"#include \"$new\""
}

while read -r template; do
  file=$(fill <<<"${template%.in}")
  [[ ! -e $tree/$file ]] || taken "$file is there"
  mkdir -p "$work/now/$(dirname "$file")"
  fill <"$templates/$kind/$template" >"$work/now/$file"
done < <(cd "$templates/$kind" && find . -type f -printf '%P\n' | sort)

# lists FILE...: fails if a file already has such a name or identifier.
lists() {
  local file
  for file; do
    ! grep -qE "\"$name\"|(^|[^A-Za-z0-9_/-])$id($|[^A-Za-z0-9_/.-])" <(sed 's|//.*||' "$tree/$file") || taken "$file has the word"
  done
}
class=$Name${classes[$kind]:-}
[[ -z ${classes[$kind]:-} ]] || ! grep -rqE "(class|struct) $class( |;)" "$tree"/{logs,models,planner,targets} || taken "there is a class $class"

case $kind in
  target)
    lists targets/registry.cpp models/job/stack.cpp
    row targets/CMakeLists.txt '' 'add_room(targets_registry' "add_room(targets_@id@
  SOURCES
    @id@/@id@_target.cpp
  DEPENDS planner_plan targets_flags
  PRIVATE fmt::fmt)
"
    row targets/CMakeLists.txt 'add_room(targets_registry' ' text)' ' targets_@id@'
    row targets/CMakeLists.txt 'add_floor(targets' ' targets_registry)' ' targets_@id@'
    included targets/registry.cpp targets/@id@/@id@_target.h
    row targets/registry.cpp 'all() {' '};' ', &@id@_target()'
    row models/job/stack.cpp 'kStacks[] = {' '};' '    {.name = "@name@"},
'
    listed tests/CMakeLists.txt 'add_floor_test(targets' targets/@id@/@id@_target_test.cpp
    ;;
  loop)
    lists models/framework/frameworks.cpp tests/second_opinion/training_loops.cpp
    included models/framework/frameworks.cpp models/framework/@id@.h
    row models/framework/frameworks.cpp 'const Nxd kNxd;' $'\n\n' $'\nconstinit const @Name@Loop k@Name@Loop;'
    row models/framework/frameworks.cpp 'kFrameworks = ' '});' ', &k@Name@Loop'
    row tests/second_opinion/training_loops.cpp 'kLoops = {' '};' '    TrainingLoop{.name = "@name@", .reduces_with_backward = false, .capacity = 2},
'
    listed tests/CMakeLists.txt 'add_floor_test(models' models/framework/@id@_test.cpp
    ;;
  collective)
    table=models/collective/neuron_algorithms.h
    lists "$table"
    row "$table" 'constexpr Algorithm' ';' ', @id@{"@name@"}'
    row "$table" 'LocalStages ring_stages' ';' ', @id@_stages'
    row "$table" 'CanRun kangaring_can_run' ';' ', @id@_can_run'
    row "$table" 'kLocalAlgorithms[] = {' '};' '    {@id@, @id@_stages, @id@_can_run, "it is not written yet"},
'
    listed models/CMakeLists.txt 'add_room(models_collective
  SOURCES' collective/neuron_@id@.cpp
    listed tests/CMakeLists.txt 'add_floor_test(models' models/collective/@id@_test.cpp
    ;;
  schedule)
    lists models/job/schedule.h
    row models/job/schedule.h 'enum class Schedule' ' count' ' @id@,'
    row models/job/schedule.h 'kSchedules = {{' $'\n}};' $'\n    {"@name@", {1, 1}},'
    included models/framework/schedules.cpp models/framework/@id@_schedule.h
    row models/framework/schedules.cpp 'const OneFOneB kOneFOneB' $'\n\n' $'\nconstinit const @Name@Schedule k@Name@Schedule(Schedule::@id@);'
    row models/framework/schedules.cpp 'kPipelineSchedules = {' '};' ', &k@Name@Schedule'
    listed models/CMakeLists.txt 'add_room(models_framework
  SOURCES' framework/@id@_schedule.cpp
    listed tests/CMakeLists.txt 'add_floor_test(models' models/framework/@id@_schedule_test.cpp
    ;;
  log)
    lists logs/detect/log_reader.h
    included logs/detect/log_reader.h logs/training/@id@_lines.h
    row logs/detect/log_reader.h 'using LineReaders' '>;' ', @Name@Lines'
    listed logs/CMakeLists.txt 'add_room(logs_training
  SOURCES' training/@id@_lines.cpp
    listed tests/CMakeLists.txt 'add_floor_test(logs' logs/training/@id@_lines_test.cpp
    ;;
  model)
    row tests/models/architecture/architecture_test.cpp 'parameters of the published models' '}));' ', {"@name@", 0}'
    ;;
esac

if command -v clang-format-14 >/dev/null; then
  cp "$tree/.clang-format" "$work/now/.clang-format"
  (cd "$work/now" && find . \( -name '*.h' -o -name '*.cpp' \) -exec clang-format-14 -i {} +)
  rm "$work/now/.clang-format"
fi

mapfile -t files < <(cd "$work/now" && find . -type f -printf '%P\n' | sort)
for file in "${files[@]}"; do
  [[ ! -e $tree/$file ]] || { mkdir -p "$work/before/$(dirname "$file")" && cp -p "$tree/$file" "$work/before/$file"; }
done
said=()
for file in "${files[@]}"; do
  folder=$(dirname "$file")
  [[ -d $tree/$folder ]] || folders+=("$folder")
  changing+=("$file")
  mkdir -p "$tree/$folder"
  cp "$work/now/$file" "$tree/$file"
  if [[ -e $work/before/$file ]]; then said+=("changed $file"); else said+=("made    $file"); fi
done
changing=()

printf '%s\n' "${said[@]}"
which="[$name]"
[[ $kind != model ]] || which='parameters of the published models'
printf 'Its test fails and says what to write next:\n'
printf "  cmake --preset release && cmake --build --preset release --target %s_tests && build/release/tests/%s_tests '%s'\n" \
  "${suites[$kind]}" "${suites[$kind]}" "$which"
