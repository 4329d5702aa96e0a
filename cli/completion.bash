# bash completion for trnplan; it asks the program, so it knows every command and option.  shellcheck shell=bash
_trnplan() {
  local word=${COMP_WORDS[COMP_CWORD]} words
  words=$("${COMP_WORDS[0]}" help --complete "${COMP_WORDS[*]:1:COMP_CWORD}" 2>/dev/null | cut -f 1)
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word"; [[ "$word" == -* ]] || ((COMP_CWORD == 1)) || compgen -f -- "$word")
}
complete -o filenames -F _trnplan trnplan
