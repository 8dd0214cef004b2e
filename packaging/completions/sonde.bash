# Completion of sonde in bash: options, tools, and probe points inside of quotes. What there is, and how it is quoted, says
# `sonde --complete bash LINE` (driver/completion/complete.h); the first line of its answer says what the others are.
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
