# Completion of sonde in bash: options, tools, and probe points in quotes. `sonde --complete bash LINE` prints the candidates, already quoted
# (driver/completion/complete.h). The first line of its output gives the kind of the other lines.
_sonde() {
    local IFS=$'\n'
    local -a answer
    mapfile -t answer < <("${1/#\~/$HOME}" --complete bash "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
    COMPREPLY=("${answer[@]:1}")
    case ${answer[0]} in
    open) compopt -o nospace ;;
    files)
        compopt -o filenames
        COMPREPLY+=($(compgen -f -- "$2"))
        ;;
    folders)
        compopt -o filenames
        COMPREPLY+=($(compgen -d -- "$2"))
        ;;
    commands) COMPREPLY+=($(compgen -c -- "$2")) ;;
    esac
}
complete -F _sonde sonde
