#compdef sonde
# Completion of sonde in zsh: options, tools, and probe points inside of quotes. What there is says `sonde --complete zsh LINE`
# (driver/completion/complete.h), word by word with a tab and a description; the first line of its answer says what the others are.
_sonde() {
    local kind line
    local -a answer texts shown
    # LBUFFER has lost the quote that is open.
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
    case $kind in
    files) _files ;;
    folders) _files -/ ;;
    commands) _command_names -e ;;
    *) (($#texts)) ;;
    esac
}
_sonde "$@"
