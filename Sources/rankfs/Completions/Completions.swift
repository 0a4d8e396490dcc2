import Fuse
import Glibc
import System

/// The words that can stand where the cursor is in a command line of `rankfs`.
///
/// `rankfs complete WORDS…` prints them for the shells' scripts, which know none of the commands.
struct Completions {
    /// A whole word that can stand in the place of the last one, and one line of help; empty where there is none.
    typealias Candidate = (word: String, help: String)

    /// The folders and files that candidates are taken from.
    struct Places: Sendable {
        /// The folders on which rankfs is mounted.
        var mounted: @Sendable () -> [String]
        /// The paths that begin with a text, as written; folders alone if requested.
        var paths: @Sendable (_ beginning: String, _ foldersOnly: Bool) -> [String]
    }

    private let synopsis: Synopsis
    private let commands: [Candidate]
    /// The words between the command and the last one.
    private let words: ArraySlice<String>
    private let current: String
    private let places: Places

    /// The candidates for the last of some words.
    ///
    /// - Parameters:
    ///   - words: The words after the program's name, up to the cursor; the last one may be empty.
    ///   - commands: The commands that help lists.
    ///   - places: The folders and files.
    /// - Returns: Words that begin with the last one, in the order of help.
    static func candidates(for words: [String], of commands: [Command], _ places: Places) -> [Candidate] {
        guard let current = words.last else { return [] }
        let names = commands.map { Candidate($0.name, $0.summary ?? "") }
        guard words.count > 1 else { return names.filter { $0.word.hasPrefix(current) } }
        guard let command = commands.first(where: { $0.name == words[0] || $0.alias == words[0] }) else { return [] }
        if command.name == Command.tier.name, words.count > 2, let part = Command.partsOfTier[words[1]] {
            return candidates(for: [part.name] + words.dropFirst(2), of: [part], places)
        }
        let line = Completions(
            synopsis: command.synopsis, commands: names, words: words.dropFirst().dropLast(), current: current,
            places: places)
        return line.candidates().filter { $0.word.hasPrefix(current) }
    }

    private func candidates() -> [Candidate] {
        if synopsis.takesOptions, words.last == "-o" { return list(current, after: "") }
        if synopsis.takesOptions, current.hasPrefix("-o"), current != "-o" {
            return list(String(current.dropFirst(2)), after: "-o")
        }
        if let equals = current.firstIndex(of: "="), current.hasPrefix("--") {
            let flag = String(current[..<equals])
            return values(of: flag, String(current[equals...].dropFirst()), after: "\(flag)=")
        }
        if let flag = words.last, takesValue(flag) { return values(of: flag, current, after: "") }
        if current.hasPrefix("-") { return flags }
        return operands.flatMap(candidates)
    }

    /// The flags of the command, and the options if it takes them.
    private var flags: [Candidate] {
        let own = synopsis.flags.map { Candidate($0.name + ($0.value == nil ? "" : "="), "") }
        let table = OptionTable.all.map { Candidate($0.flag + "=", $0.help) }
        let options = synopsis.takesOptions ? [("-o", "options, as a list")] + table : []
        return own + options + [("--help", "")]
    }

    /// The last item of a list such as `ro,images=small`.
    private func list(_ list: String, after beginning: String) -> [Candidate] {
        let item = list.split(separator: ",", omittingEmptySubsequences: false).last ?? ""
        let head = beginning + list.dropLast(item.count)
        guard let equals = item.firstIndex(of: "=") else {
            return OptionTable.all.map { ("\(head)\($0.name)=", $0.help) } + plain(OptionTable.offered, after: head)
        }
        let name = String(item[..<equals])
        return values(of: name, String(item[equals...].dropFirst()), after: "\(head)\(name)=")
    }

    private func takesValue(_ flag: String) -> Bool {
        synopsis.flags.contains { $0.name == flag && $0.value != nil } || (synopsis.takesOptions && option(flag) != nil)
    }

    /// The option of the table that a flag or a name in a list means.
    private func option(_ written: String) -> OptionDefinition? {
        OptionTable.all.first { $0.flag == written || $0.name == written }
    }

    /// The values of a flag or an option that begin with a text.
    private func values(of name: String, _ text: String, after head: String) -> [Candidate] {
        if let flag = synopsis.flags.first(where: { $0.name == name }), let value = flag.value {
            if case .words(let words) = value { return plain(words, after: head) }
            return paths(text, foldersOnly: value == .folder, after: head)
        }
        guard synopsis.takesOptions, let option = option(name) else { return [] }
        if option.isPath { return paths(text, foldersOnly: option.placeholder == "DIR", after: head) }
        let source = synopsis.operands.contains(.source) ? words.lazy.compactMap(SourceName.init(rawValue:)).first : nil
        return plain(source?.words(of: option) ?? option.words, after: head)
    }

    private func paths(_ text: String, foldersOnly: Bool, after head: String) -> [Candidate] {
        plain(places.paths(text, foldersOnly), after: head)
    }

    /// Words without help.
    private func plain(_ words: [String], after head: String = "") -> [Candidate] { words.map { (head + $0, "") } }

    /// The kinds of operands that can stand in this place; a source may be left out, and the next one stands there then.
    private var operands: ArraySlice<Synopsis.Operand> {
        var place = 0
        var isValue = false
        for word in words {
            if isValue {
                isValue = false
            } else if word == "-o" || (takesValue(word) && word.hasPrefix("--")) {
                isValue = true
            } else if !word.hasPrefix("-") {
                place += 1
            }
        }
        let all = synopsis.operands
        guard !all.isEmpty else { return [] }
        let index = min(place, all.count - 1)
        return all[index..<min(all.count, index + (all[index] == .source ? 2 : 1))]
    }

    private func candidates(for operand: Synopsis.Operand) -> [Candidate] {
        switch operand {
        case .words(let words): plain(words)
        case .source: plain(SourceName.all.map(\.rawValue))
        case .folder: paths(current, foldersOnly: true, after: "")
        case .mounted: plain(places.mounted())
        case .command: commands
        case .file: paths(current, foldersOnly: false, after: "")
        }
    }
}

// MARK: - Files and mounts

extension Completions.Places {
    /// Those of this machine.
    static let system = Completions.Places(
        mounted: { MountTable.current().mountPoints(of: geteuid()) },
        paths: { beginning, foldersOnly in
            let slash = beginning.lastIndex(of: "/").map { beginning.index(after: $0) } ?? beginning.startIndex
            let folder = String(beginning[..<slash])
            let name = beginning[slash...]
            let names = (try? LocalFiles.names(in: folder.isEmpty ? "." : folder)) ?? []
            return names.filter { $0.hasPrefix(name) && ($0.first != "." || name.first == ".") }.map { folder + $0 }
                .filter { path in !foldersOnly || fileStatus(at: path)?.st_mode.isDirectory == true }.sorted()
        })
}

// MARK: - Commands

extension Command {
    /// The command that prints scripts, for `make install` and the package.
    static let completions = Command(
        name: "completions", words: "bash|zsh|fish", summary: "the completion script of a shell",
        details: "Prints the script by which that shell completes command lines; `make install` and the package "
            + "put them in place.",
        run: { Output.print(Completions.scripts[$0.positions[0]] ?? "", terminator: "") })

    /// The candidates for the last of some words, printed for the shells' scripts.
    static let complete = Command(name: "complete", takesAnyWords: true) { arguments in
        for candidate in Completions.candidates(for: arguments.positions, of: listed, .system) {
            Output.print(candidate.word + (candidate.help.isEmpty ? "" : "\t\(candidate.help)"))
        }
    }
}

// MARK: - Scripts

extension Completions {
    /// The script by which a shell hands its words over, by the shell's name; it needs no other package.
    static let scripts = ["bash": bash, "zsh": zsh, "fish": fish]

    private static let bash = #"""
        # bash completion of rankfs, printed by `rankfs completions bash`.

        _rankfs() {
            COMPREPLY=()
            # bash itself expands and quotes paths.
            case ${COMP_WORDS[COMP_CWORD]} in *[\~\$\\\"\']*) compopt -o bashdefault -o default; return ;; esac
            # The line up to the cursor without bash's cuts at = and :, of which only the last piece is replaced.
            local line=${COMP_LINE:0:COMP_POINT} words kept= word help
            read -ra words <<<"$line"
            if [[ $line == *[[:blank:]] ]]; then words+=(''); fi
            if [[ $COMP_WORDBREAKS == *=* ]]; then kept=${words[-1]%"${words[-1]##*[=:]}"}; fi
            while IFS=$'\t' read -r word help; do
                word=${word#"$kept"}
                COMPREPLY+=("$word")
                # What has a help text is a command or an option.
                if [[ $word == */* || -z $help && -e $word ]]; then compopt -o filenames; fi
            done < <(rankfs complete "${words[@]:1}")
            # A value or a further option may follow.
            if [[ ${COMPREPLY[*]} == *= || ${words[-1]} == -o?* || ${words[-2]} == -o ]]; then compopt -o nospace; fi
        }

        complete -F _rankfs rankfs

        """#

    private static let zsh = #"""
        #compdef rankfs
        # zsh completion of rankfs, printed by `rankfs completions zsh`.

        _rankfs() {
            local line head= written=$PREFIX
            # The path of NAME=PATH is completed like one that stands alone, with a slash after folders.
            if [[ $PREFIX == *=* ]]; then head=${PREFIX%"${PREFIX##*=}"}; compset -P '*='; fi
            # zsh itself expands paths.
            if [[ $PREFIX == *[~\$]* ]]; then _files; return; fi
            local -a plain open folders shown
            for line in "${(@f)$(rankfs complete "${(@Q)words[2,CURRENT-1]}" "${(Q)written}")}"; do
                line=${line#"${(Q)head}"}
                case ${line%%$'\t'*} in
                '') ;;
                */*) folders+=("$line") ;;
                *=) open+=("${line%%$'\t'*}") ;;
                *) plain+=("${line%%$'\t'*}"); shown+=("${line/$'\t'/  }") ;;
                esac
            done
            compadd -d shown -a plain
            compadd -S '' -a open
            # Where zsh looks whether it is a folder.
            local from=./
            if [[ $folders[1] == /* ]]; then from=/; fi
            compadd -f -W $from -a folders
        }

        _rankfs "$@"

        """#

    private static let fish = #"""
        # fish completion of rankfs, printed by `rankfs completions fish`.

        function __rankfs_complete
            set -l words (commandline -opc)
            set -e words[1]
            rankfs complete $words (commandline -ct)
        end

        complete -c rankfs -f -a '(__rankfs_complete)'

        """#
}
