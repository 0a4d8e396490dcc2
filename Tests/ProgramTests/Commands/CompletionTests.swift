import Foundation
import TestSupport
import Testing

@testable import rankfs

/// Runs a shell on a script in a file and returns its exit status and what it printed.
private func run(_ shell: String, _ flags: [String], script: String) throws -> Tool.Outcome {
    let folder = TemporaryFolder()
    let file = folder.url.appending(path: "script")
    try script.write(to: file, atomically: true, encoding: .utf8)
    return try Tool(shell).run(flags + [file.path])
}

/// Where candidates are taken from: two mounts, and three paths.
private let places = Completions.Places(
    mounted: { ["/mnt/pictures", "/mnt/my pictures"] },
    paths: { beginning, foldersOnly in
        ["/usr/lib", "/usr/local", foldersOnly ? nil : "/usr/locale.txt"].compactMap(\.self).filter {
            $0.hasPrefix(beginning)
        }
    })

/// The candidates for a line with the cursor at its end.
private func offered(_ line: String) -> [String] {
    let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    return candidates(Array(words.dropFirst())).map(\.word)
}

private func candidates(_ words: [String]) -> [Completions.Candidate] {
    Completions.candidates(for: words, of: Command.listed, places)
}

/// What a shell completes a line to: its script, and the program in place of which a function answers.
private func completed(_ shell: String, _ line: String, answer: String) throws -> [String] {
    let script =
        switch shell {
        case "bash":
            """
            \(Completions.scripts["bash"] ?? "")
            rankfs() { printf '%s\\n' "$*" >&2; printf '%b' '\(answer)'; }
            cd /
            compopt() { case $* in *default*) echo "$*" ;; *filenames) files=filenames ;; esac; }
            COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'
            COMP_LINE=$(printf '%s' '\(line)') COMP_POINT=\(line.utf8.count)
            COMP_WORDS=("${COMP_LINE##*[^\\\\] }") COMP_CWORD=0
            _rankfs
            printf '%s\\n' "${COMPREPLY[@]}" $files
            """
        case "zsh":
            """
            rankfs() { printf '%s\\n' "$*" >&2; printf '%b' '\(answer)'; }
            compset() { PREFIX=${PREFIX##*=}; }
            compadd() { print -r -- $* ${(P)argv[-1]}; }
            words=(\(line)) CURRENT=$#words PREFIX=$words[-1]
            \(Completions.scripts["zsh"] ?? "")
            """
        default:
            """
            \(Completions.scripts["fish"] ?? "")
            function rankfs; echo $argv >&2; printf '%b' '\(answer)'; end
            complete -C '\(line)'
            """
        }
    let flags = ["bash": ["--norc"], "zsh": ["-f"]][shell] ?? ["--no-config"]
    return try run(shell, flags, script: script).said.split(separator: "\n").map(String.init)
}

@Suite struct CompletionTests {
    @Test(arguments: Array(Completions.scripts.keys))
    func scriptsAreInTheirLanguage(_ shell: String) throws {
        let script = try #require(Completions.scripts[shell])
        #expect(script.contains("rankfs complete "))
        guard Tool(shell).isThere else { return }
        let check = try run(shell, ["-n"], script: script)
        #expect(check.status == 0 && check.said.isEmpty, "\(check.said)")
        #expect(try run(shell, ["-n"], script: script + "\nif (\n").status != 0)
    }

    @Test(arguments: [
        ("rankfs unm", ["unmount"]), ("rankfs mount pi", ["pixiv"]),
        ("rankfs cache ", ["info", "verify", "prune", "clear"]),
        ("rankfs cache info d", ["danbooru", "demo"]), ("rankfs mount -o ro d", ["danbooru", "demo"]),
        ("rankfs mount -o ro de", ["demo"]), ("rankfs status --j", ["--json"]),
        ("rankfs mount -o imag", ["images=", "image_url="]),
        ("rankfs mount -o images=", ["images=regular", "images=small", "images=original"]),
        ("rankfs mount -o ro,images=s", ["ro,images=small"]), ("rankfs mount -oallow_o", ["-oallow_other"]),
        ("rankfs mount --orientation=p", ["--orientation=portrait"]),
        ("rankfs mount --orientation p", ["portrait"]), ("rankfs mount /usr/loca", ["/usr/local"]),
        ("rankfs pin /usr/loca", ["/usr/local", "/usr/locale.txt"]),
        ("rankfs evict x /usr/loca", ["/usr/local", "/usr/locale.txt"]),
        ("rankfs fetch x --to /usr/loca", ["/usr/local"]), ("rankfs fetch --to=/usr/loca", ["--to=/usr/local"]),
        ("rankfs mount --cache-s", ["--cache-size="]),
        ("rankfs demo -o top=3,cache_dir=/usr/loca", ["top=3,cache_dir=/usr/local"]),
        ("rankfs unmount /mnt/p", ["/mnt/pictures"]), ("rankfs umount /mnt/m", ["/mnt/my pictures"]),
        ("rankfs help logi", ["login"]), ("rankfs nonsense -o x", []), ("rankfs status -o to", []),
        ("rankfs mount -o none=", []), ("rankfs tier w", ["warm"]), ("rankfs tier info d", ["danbooru", "demo"]),
        ("rankfs tier warm /usr/loca", ["/usr/local", "/usr/locale.txt"]), ("rankfs tier warm d", []),
        ("rankfs tier forget /usr/loca", ["/usr/local", "/usr/locale.txt"]), ("rankfs tier warm --dry", ["--dry-run"]),
        ("rankfs mount yandere -o rating=", ["rating=safe", "rating=questionable", "rating=explicit"]),
        ("rankfs mount danbooru --rating=s", ["--rating=sensitive"]),
        ("rankfs mount -o rating=s", ["rating=sensitive", "rating=safe"]),
    ])
    func whatFitsIsOffered(_ line: String, _ expected: [String]) {
        #expect(offered(line) == expected)
    }

    @Test func everyCommandAndOptionIsOfferedWithItsHelp() {
        #expect(offered("rankfs ") == Command.listed.map(\.name))
        for option in OptionTable.all {
            #expect(offered("rankfs mount -o \(option.name)=").allSatisfy { $0.hasPrefix("\(option.name)=") })
            let flags = candidates(["mount", option.flag])
            #expect(flags.contains { $0.word == option.flag + "=" && $0.help == option.help })
        }
        #expect(candidates(["moun"]).first?.help.isEmpty == false)
        #expect(candidates([]).isEmpty)
    }

    @Test func theProgramIsGivenTheLineUpToTheCursor() throws {
        #expect(
            try completed("bash", "rankfs mount -o ro,images=s", answer: "ro,images=small\\n")
                == ["complete mount -o ro,images=s", "small"])
        #expect(
            try completed("bash", "rankfs unmount ", answer: "/mnt/my pictures\\tone\\n/mnt/b\\n")
                == ["complete unmount ", "/mnt/my pictures", "/mnt/b", "filenames"])
        // bash quotes names of files, and puts a slash after folders, where it knows that they are such.
        #expect(
            try completed("bash", "rankfs mount us", answer: "usr\\n") == ["complete mount us", "usr", "filenames"])
        #expect(try completed("bash", "rankfs us", answer: "usr\\thelp\\n") == ["complete us", "usr"])
        // Paths that the shell has to expand are its own matter.
        for word in ["~/P", "$HOME/P", #"/mnt/019-Electric\ L"#] {
            #expect(try completed("bash", "rankfs pin \(word)", answer: "no\\n") == ["-o bashdefault -o default"])
        }
        if Tool("zsh").isThere {
            // zsh puts a slash after a folder that it finds by the path alone.
            let said = try completed("zsh", "rankfs mount -o ro,cache_dir=/et", answer: "ro,cache_dir=/etc\\n")
            #expect(said.first == "complete mount -o ro,cache_dir=/et" && said.last == "-f -W / -a folders /etc")
            #expect(try completed("zsh", "rankfs pin a/b", answer: "a/bc\\n").last == "-f -W ./ -a folders a/bc")
        }
        guard Tool("fish").isThere else { return }
        #expect(
            try completed("fish", "rankfs mount -o ro,images=s", answer: "ro,images=small\\tless\\n")
                == ["complete mount -o ro,images=s", "ro,images=small\tless"])
    }

    @Test func pathsAreThoseOfTheMachine() throws {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: "\(folder)/inner", withIntermediateDirectories: true)
        try Data().write(to: folder.url.appending(path: "in.txt"))
        try Data().write(to: folder.url.appending(path: ".in"))
        let paths = Completions.Places.system.paths
        #expect(paths(folder.path + "/in", false) == [folder.path + "/in.txt", folder.path + "/inner"])
        #expect(paths(folder.path + "/in", true) == [folder.path + "/inner"])
        #expect(paths(folder.path + "/.", false) == [folder.path + "/.in"])
        #expect(paths(folder.path + "/no/such", false) == [])
        #expect(paths("/et", true) == ["/etc"])
    }

    @Test func wordsAreThoseThatTheOptionTakes() throws {
        let options = OptionTable.all.filter { $0.placeholder == "WORD" || $0.placeholder == "LEVEL" }
        #expect(options.count > 4)
        for option in options {
            #expect(option.words.contains(option.standard) || option.standard == OptionTable.bySource)
            var settings = Settings()
            for word in option.words {
                try option.set(&settings, word, ("/", nil))
            }
        }
    }
}
