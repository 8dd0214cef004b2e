# Completion of sonde in fish: options, tools, and probe points inside of quotes. What there is says `sonde --complete fish LINE`
# (driver/completion/complete.h), word by word with a tab and a description; the first line of its answer says what the others are.
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
