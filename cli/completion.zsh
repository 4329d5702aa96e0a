#compdef trnplan
# zsh completion for trnplan; it asks the program, so it knows every command and option.
local -a candidates
local found=1
candidates=(${(f)"$($words[1] help --complete "${(j: :)words[2,CURRENT]}" 2>/dev/null)"})
candidates=(${${candidates//:/\\:}/$'\t'/:})
_describe -t words word candidates && found=0
((CURRENT > 2)) && [[ $PREFIX != -* ]] && _files && found=0
return found
