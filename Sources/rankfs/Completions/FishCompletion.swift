/// The completion script for fish.
enum FishCompletion {
    static var script: String {
        """
        # fish completion of rankfs, printed by `rankfs completions fish`.

        # Folders on which rankfs is mounted; the kernel writes blanks in them as \\040.
        function __rankfs_mounted
            while read -l device folder type rest
                test "$type" = fuse.rankfs; and printf '%b\\n' (string replace -a '\\\\0' '\\\\00' -- $folder)
            end </proc/self/mounts
        end

        # Completes the last item of a list such as ro,images=small.
        function __rankfs_list
            set -l list (string replace -r '^-o' '' -- (commandline -ct))
            set -l head (string replace -r '[^,]*$' '' -- $list)
            set -l item (string replace -r '^.*,' '' -- $list)
            switch $item
        \(listCases)
                case '*'
                    printf '%s\\n' $head{\(names)}
            end
        end

        set -l commands \(CommandTable.listed.map(\.name).joined(separator: " "))
        complete -c rankfs -f
        \((commands + operands + flags + options).joined(separator: "\n"))

        """
    }

    private static var names: String {
        (OptionTable.all.map { $0.name + "=" } + MountOptions.offered).joined(separator: ",")
    }

    private static var listCases: String {
        OptionTable.all.filter { !$0.words.isEmpty || $0.isPath }.map { option in
            let values =
                option.isPath
                ? "(__fish_complete_path (string replace -r '^[^=]*=' '' -- $item) | string replace -r '\\t.*' '')"
                : "{\(option.words.joined(separator: ","))}"
            return """
                        case '\(option.name)=*'
                            printf '%s\\n' $head'\(option.name)='\(values)
                """
        }.joined(separator: "\n")
    }

    private static var commands: [String] {
        Synopsis.all.map {
            "complete -c rankfs -n \"not __fish_seen_subcommand_from $commands\" -a \($0.command) -d '\(escaped($0.help))'"
        }
    }

    private static func condition(_ synopsis: Synopsis) -> String {
        "complete -c rankfs -n '__fish_seen_subcommand_from \(synopsis.command)"
            + (synopsis.command == "unmount" ? " umount'" : "'")
    }

    private static var operands: [String] {
        Synopsis.all.flatMap { synopsis in
            synopsis.operands.map { operand in
                switch operand {
                case .words(let words): condition(synopsis) + " -a '\(words.joined(separator: " "))'"
                case .source:
                    condition(synopsis) + " -a '\(SourceName.all.map(\.rawValue).joined(separator: " "))'"
                case .folder: condition(synopsis) + " -a '(__fish_complete_directories)'"
                case .mounted: condition(synopsis) + " -a '(__rankfs_mounted)'"
                case .command: condition(synopsis) + " -a '\(CommandTable.listed.map(\.name).joined(separator: " "))'"
                case .file: condition(synopsis) + " -F"
                }
            }
        }
    }

    /// Flags of single commands; a flag with a value takes a path.
    private static var flags: [String] {
        Synopsis.all.flatMap { synopsis in
            synopsis.flags.map { flag in
                let name = flag.name.hasPrefix("--") ? "-l \(flag.name.dropFirst(2))" : "-s \(flag.name.dropFirst())"
                return condition(synopsis) + " \(name)" + (flag.value == nil ? "" : " -r -F")
            }
        }
    }

    private static var options: [String] {
        let takers = Synopsis.all.filter(\.takesOptions).map(\.command).joined(separator: " ")
        let head = "complete -c rankfs -n '__fish_seen_subcommand_from \(takers)'"
        return ["\(head) -s o -x -a '(__rankfs_list)' -d 'options, as a list'"]
            + OptionTable.all.map { option in
                let value: String
                if !option.words.isEmpty {
                    value = " -x -a '\(option.words.joined(separator: " "))'"
                } else {
                    value = option.isPath ? " -r -F" : " -x"
                }
                return "\(head) -l \(option.flag.dropFirst(2))\(value) -d '\(escaped(option.help))'"
            }
    }

    /// The text, escaped for single quotes.
    private static func escaped(_ text: String) -> String {
        String(text.flatMap { $0 == "'" || $0 == "\\" ? ["\\", $0] : [$0] })
    }
}
