# bash completion for trnplan; it asks the program, so it knows every command and option.  shellcheck shell=bash
_trnplan() {
  local word=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]} command=${COMP_WORDS[1]}
  local words
  if ((COMP_CWORD == 1)); then
    words=$("$program" --help 2>/dev/null | sed -n '/^subcommands:/I,/^$/s/^  \([a-z][a-z]*\) .*/\1/p')
  elif [[ "$word" == -* ]]; then
    words=$("$program" "$command" --help 2>/dev/null | grep -oE '^ +(-[A-Za-z],)?--[a-z-]+' | grep -oE -e '--[a-z-]+')
  elif [[ "$command" == help ]]; then
    words=$("$program" --help 2>/dev/null | sed -n '/^subcommands:/I,/^$/s/^  \([a-z][a-z]*\) .*/\1/p')
  elif [[ "${COMP_WORDS[COMP_CWORD - 1]}" == --instance* ]]; then
    words=$("$program" instances --format json 2>/dev/null | sed -n 's/^      "name": "\(.*\)",$/\1/p')
  elif ((COMP_CWORD == 2)) && [[ "$command" =~ ^(plan|simulate|export|whatif)$ ]]; then
    words=$("$program" models --format json 2>/dev/null | sed -n 's/^      "name": "\(.*\)",$/\1/p')
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word"; compgen -f -- "$word")
    return
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
    return
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o filenames -F _trnplan trnplan
