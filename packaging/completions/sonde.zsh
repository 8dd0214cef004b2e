#compdef sonde
# Completion of sonde in zsh: options, tools, and probe points in quotes. `sonde --complete zsh LINE` prints one candidate per line, with a tab
# and a description (driver/completion/complete.h). The first line of its output gives the kind of the other lines.
_sonde() {
    local kind line
    local -a answer texts shown
    # LBUFFER lacks the open quote.
    answer=("${(@f)$(${~${(Q)words[1]}} --complete zsh "${(j: :)words[1,CURRENT-1]} $QIPREFIX$IPREFIX$PREFIX" 2>/dev/null)}")
    kind=$answer[1]
    shift answer
    for line in "${answer[@]}"; do
        [[ -n $line ]] || continue
        texts+=("${line%%$'\t'*}")
        if [[ $line == *$'\t'* ]]; then
            shown+=("${line%%$'\t'*}  -- ${line#*$'\t'}")
        else
            shown+=("$line")
        fi
    done
    local -a suffix
    [[ $kind == open ]] && suffix=(-S '')
    (($#texts)) && compadd "${suffix[@]}" -l -d shown -- "${texts[@]}"
    # The path in `--sysroot=PATH` begins after the `=`.
    [[ $kind == (files|folders) && $PREFIX == --*=* ]] && compset -P 1 '*='
    case $kind in
    files) _files ;;
    folders) _files -/ ;;
    commands) _command_names -e ;;
    *) (($#texts)) ;;
    esac
}
_sonde "$@"
