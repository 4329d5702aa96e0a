# bash completion for trnplan; it asks the program, so it knows every command and option.  shellcheck shell=bash
_trnplan() {
  local word=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]} command=${COMP_WORDS[1]}
  local words
  if ((COMP_CWORD == 1)); then
    words=$("$program" --help 2>/dev/null | sed -n '/^subcommands:/I,/^$/s/^  \([a-z][a-z]*\) .*/\1/p')
  elif [[ "$word" == -* ]]; then
    words=$("$program" "$command" --help 2>/dev/null | grep -oE '^ +(-[A-Za-z],)?--[a-z-]+' | grep -oE -e '--[a-z-]+')
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
    return
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o filenames -F _trnplan trnplan
