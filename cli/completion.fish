# fish completion for trnplan; it asks the program, so it knows every command and option.
function __trnplan_candidates
    set -l words (commandline -opc) (commandline -ct)
    $words[1] help --complete "$words[2..-1]" 2>/dev/null
end
# Where a command is still to be named, no file can stand.
complete -c trnplan -n 'test (count (commandline -opc)) -eq 1' -f
complete -c trnplan -a '(__trnplan_candidates)'
