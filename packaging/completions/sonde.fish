# Completion of sonde in fish: options, tools, and probe points in quotes. `sonde --complete fish LINE` prints one candidate per line, with a tab
# and a description (driver/completion/complete.h). The first line of its output gives the kind of the other lines.
function __sonde_complete
    set -l answer (sonde --complete fish (commandline -cp | string collect) 2>/dev/null)
    test (count $answer) -gt 1; and printf '%s\n' $answer[2..-1]
    switch "$answer[1]"
        case files
            __fish_complete_path (commandline -ct)
        case folders
            __fish_complete_directories (commandline -ct)
        case commands
            __fish_complete_command
    end
end
complete -c sonde -f -a '(__sonde_complete)'
