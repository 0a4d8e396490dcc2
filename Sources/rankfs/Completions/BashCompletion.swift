/// The completion script for bash; it does not need the package bash-completion.
enum BashCompletion {
    static var script: String {
        """
        # bash completion of rankfs, printed by `rankfs completions bash`.

        # Folders on which rankfs is mounted; the kernel writes blanks in them as \\040.
        _rankfs_mounted() {
            local device folder type rest
            while read -r device folder type rest; do
                if [[ $type == fuse.rankfs ]]; then printf '%b\\n' "${folder//\\\\0/\\\\00}"; fi
            done </proc/self/mounts
        }

        # The candidates of stdin that begin with $1. Bash replaces only what stands behind the last = or : of a word,
        # so that what stands before it is taken off.
        _rankfs_offer() {
            local line kept=
            if [[ $COMP_WORDBREAKS == *=* ]]; then kept=${1%"${1##*[=:]}"}; fi
            COMPREPLY=()
            while IFS= read -r line; do
                if [[ $line == "$1"* ]]; then COMPREPLY+=("${line#"$kept"}"); fi
            done
        }

        # The words behind $1, each with $1 in front.
        _rankfs_words() {
            local before=$1 word
            shift
            for word; do printf '%s%s\n' "$before" "$word"; done
        }

        # What may stand behind NAME=; $1 is the name, $2 the beginning of the value, $3 goes before each candidate.
        _rankfs_values() {
            case $1 in
        \(valueCases)
            esac
        }

        # The names of options, as `-o` takes them.
        _rankfs_names='\((OptionTable.all.map { $0.name + "=" } + MountOptions.offered).joined(separator: " "))'

        _rankfs_list() {
            local before=$1 list=$2 head item
            item=${list##*,}
            head=$before${list%"$item"}
            if [[ $item == *=* ]]; then
                _rankfs_offer "$before$list" < <(_rankfs_values "${item%%=*}" "${item#*=}" "$head${item%%=*}=")
            else
                _rankfs_offer "$before$list" < <(_rankfs_words "$head" $_rankfs_names)
            fi
            # A value or a further option may follow.
            compopt -o nospace
        }

        _rankfs() {
            # The line up to the cursor without bash's cuts at = and :.
            local line=${COMP_LINE:0:COMP_POINT} words current previous command= position=0 word operand flags= skip=
            read -ra words <<<"$line"
            if [[ $line == *[[:blank:]] ]]; then words+=(''); fi
            current=${words[-1]}
            previous=${words[-2]}
            command=${words[1]}
            if ((${#words[@]} <= 2)); then
                _rankfs_offer "$current" < <(_rankfs_words '' \(CommandTable.listed.map(\.name).joined(separator: " ")))
                return
            fi
            case $command in
        \(flagCases)
            esac
            # How many operands there are already; the value of an option is none.
            for word in "${words[@]:2:${#words[@]}-3}"; do
                if [[ $skip ]]; then
                    skip=
                elif [[ $word == -o || $word == --* && $word != *=* && $flags == *" $word= "* ]]; then
                    skip=1
                elif [[ $word != -* ]]; then
                    ((position += 1))
                fi
            done
            case $command in
        \(operandCases)
            esac
            case $current in
            -o?*) if [[ $flags == *' -o '* ]]; then _rankfs_list -o "${current#-o}"; fi; return ;;
            --*=*)
                word=${current%%=*}
                word=${word#--}
                _rankfs_offer "$current" < <(_rankfs_values "${word//-/_}" "${current#*=}" "${current%%=*}=")
                return
                ;;
            -*)
                _rankfs_offer "$current" < <(_rankfs_words '' $flags)
                if [[ ${COMPREPLY[*]} == *= ]]; then compopt -o nospace; fi
                return
                ;;
            esac
            case $previous in
            -o) _rankfs_list '' "$current"; return ;;
            --*)
                if [[ $flags == *" $previous= "* ]]; then
                    word=${previous#--}
                    case ${word//-/_} in
                    \(tableNames))
                        _rankfs_offer "$current" < <(_rankfs_values "${word//-/_}" "$current" '')
                        if [[ ${COMPREPLY[*]} == */* ]]; then compopt -o filenames; fi
                        return
                        ;;
                    *) operand=file ;;
                    esac
                fi
                ;;
            esac
            for word in $operand; do
                case $word in
                file) compopt -o filenames; mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current") ;;
                folder) compopt -o filenames; mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$current") ;;
                mounted)
                    compopt -o filenames
                    while IFS= read -r word; do
                        if [[ $word == "$current"* ]]; then COMPREPLY+=("$word"); fi
                    done < <(_rankfs_mounted)
                    ;;
                *) if [[ $word == "$current"* ]]; then COMPREPLY+=("$word"); fi ;;
                esac
            done
        }

        complete -F _rankfs rankfs

        """
    }

    /// `log) _rankfs_words … ;;`, for each option with known values, and the cases of paths.
    private static var valueCases: String {
        let lists = OptionTable.all.filter { !$0.words.isEmpty }.map {
            "    \($0.name)) _rankfs_words \"$3\" \($0.words.joined(separator: " ")) ;;"
        }
        let files = OptionTable.all.filter { $0.placeholder == "FILE" }.map(\.name).joined(separator: "|")
        let folders = OptionTable.all.filter { $0.placeholder == "DIR" }.map(\.name).joined(separator: "|")
        return
            (lists + [
                "    \(files)) compgen -P \"$3\" -f -- \"$2\" ;;", "    \(folders)) compgen -P \"$3\" -d -- \"$2\" ;;",
            ]).joined(separator: "\n")
    }

    private static var tableNames: String {
        OptionTable.all.map(\.name).joined(separator: "|")
    }

    private static func pattern(_ synopsis: Synopsis) -> String {
        synopsis.command == "unmount" ? "unmount|umount" : synopsis.command
    }

    private static var flagCases: String {
        Synopsis.all.map { synopsis in
            let table = synopsis.takesOptions ? ["-o"] + OptionTable.all.map { $0.flag + "=" } : []
            let flags = synopsis.flags.map { $0.name + ($0.value == nil ? "" : "=") } + table + ["--help"]
            return "    \(pattern(synopsis))) flags=' \(flags.joined(separator: " ")) ' ;;"
        }.joined(separator: "\n")
    }

    private static var operandCases: String {
        Synopsis.all.map { "    \(pattern($0))) \(operands(of: $0)) ;;" }.joined(separator: "\n")
    }

    private static func operands(of synopsis: Synopsis) -> String {
        let places = synopsis.operands.indices.map { index in
            // A source may be omitted: the next operand then takes its place.
            let isSource = synopsis.operands[index] == .source && index + 1 < synopsis.operands.count
            let both = isSource ? [synopsis.operands[index], synopsis.operands[index + 1]] : [synopsis.operands[index]]
            return both.map(words).joined(separator: " ")
        }
        guard let last = places.last else { return ":" }
        let cases = places.dropLast().enumerated().map { "\($0)) operand='\($1)' ;; " }.joined()
        return "case $position in \(cases)*) operand='\(last)' ;; esac"
    }

    private static func words(_ operand: Synopsis.Operand) -> String {
        switch operand {
        case .words(let words): words.joined(separator: " ")
        case .source: SourceName.all.map(\.rawValue).joined(separator: " ")
        case .folder: "folder"
        case .mounted: "mounted"
        case .command: CommandTable.listed.map(\.name).joined(separator: " ")
        case .file: "file"
        }
    }
}
