/// The completion script for zsh.
enum ZshCompletion {
    static var script: String {
        """
        #compdef rankfs
        # zsh completion of rankfs, printed by `rankfs completions zsh`.

        # Folders on which rankfs is mounted; the kernel writes blanks in them as \\040.
        _rankfs_mounted() {
            local device folder type rest
            local -a folders
            while read -r device folder type rest; do
                if [[ $type == fuse.rankfs ]]; then folders+=("$(printf '%b' "${folder//\\\\0/\\\\00}")"); fi
            done </proc/self/mounts
            compadd -f -a folders
        }

        _rankfs_source_or_folder() {
            _alternative 'sources:source:(\(sources))' 'folders:folder:_directories'
        }

        _rankfs_list() {
            _values -s , option \\
        \(listItems)
        }

        _rankfs_options=(
            '*-o+[options, as a list]:options:_rankfs_list'
        \(flags)
        )

        _rankfs() {
            local curcontext=$curcontext state line
            local -a commands=(
        \(commands)
            )
            _arguments -C '1:command:->command' '*::argument:->argument'
            case $state in
            command) _describe command commands ;;
            argument)
                case $words[1] in
        \(commandCases)
                esac
                ;;
            esac
        }

        _rankfs "$@"

        """
    }

    private static var sources: String { SourceName.all.map(\.rawValue).joined(separator: " ") }

    private static var listItems: String {
        let table = OptionTable.all.map { "        '\($0.name)[\(escaped($0.help))]:\(value(of: $0))'" }
        let others = MountOptions.offered.map {
            $0.hasSuffix("=") ? "        '\($0.dropLast())[passed on]:number:'" : "        '\($0)[passed on]'"
        }
        return (table + others).joined(separator: " \\\n")
    }

    private static var flags: String {
        OptionTable.all.map { "    '\($0.flag)=[\(escaped($0.help))]:\(value(of: $0))'" }.joined(separator: "\n")
    }

    private static func value(of option: OptionDefinition) -> String {
        let name = option.placeholder.lowercased()
        if !option.words.isEmpty { return "\(name):(\(option.words.joined(separator: " ")))" }
        guard option.isPath else { return "\(name):" }
        return option.placeholder == "DIR" ? "\(name):_directories" : "\(name):_files"
    }

    private static var commands: String {
        Synopsis.all.map { "        '\($0.command):\(escaped($0.help))'" }.joined(separator: "\n")
    }

    private static var commandCases: String {
        Synopsis.all.map { synopsis in
            let name = synopsis.command == "unmount" ? "unmount|umount" : synopsis.command
            var words = synopsis.flags.map { flag in
                flag.value.map { "'\(flag.name)=:\(action($0))'" } ?? "'\(flag.name)'"
            }
            words += ["'--help'"] + operands(of: synopsis)
            if synopsis.takesOptions { words.append("$_rankfs_options") }
            return "        \(name)) _arguments \(words.joined(separator: " ")) ;;"
        }.joined(separator: "\n")
    }

    private static func operands(of synopsis: Synopsis) -> [String] {
        synopsis.operands.enumerated().map { index, operand in
            if operand == .source, index + 1 < synopsis.operands.count {
                return "'\(index + 1):source or folder:_rankfs_source_or_folder'"
            }
            // Any number of paths may follow.
            return operand == .file && index + 1 == synopsis.operands.count
                ? "'*:\(action(operand))'" : "'\(index + 1):\(action(operand))'"
        }
    }

    private static func action(_ operand: Synopsis.Operand) -> String {
        switch operand {
        case .words(let words): "word:(\(words.joined(separator: " ")))"
        case .source: "source:(\(sources))"
        case .folder: "folder:_directories"
        case .mounted: "mounted folder:_rankfs_mounted"
        case .command: "command:(\(CommandTable.listed.map(\.name).joined(separator: " ")))"
        case .file: "file:_files"
        }
    }

    /// The text, escaped for single quotes and brackets, where a colon or a bracket would end it.
    private static func escaped(_ text: String) -> String {
        String(
            text.flatMap { character -> [Character] in
                switch character {
                case "'": Array("'\\''")
                case ":", "[", "]", "\\": ["\\", character]
                default: [character]
                }
            })
    }
}
