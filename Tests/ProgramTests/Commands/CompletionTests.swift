import Foundation
import Testing

@testable import rankfs
import TestSupport

/// Whether a program is installed where shells are.
private func isInstalled(_ program: String) -> Bool {
    FileManager.default.isExecutableFile(atPath: "/usr/bin/\(program)")
}

/// Runs a shell on a script in a file and returns its exit status and what it printed.
private func run(_ shell: String, _ flags: [String], script: String) throws -> (status: Int32, output: String) {
    let file = FileManager.default.temporaryDirectory.appending(path: "rankfs-\(UUID().uuidString)")
    try script.write(to: file, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(at: file) }
    let process = SpawnedProcess()
    process.executableURL = URL(filePath: "/usr/bin/\(shell)")
    process.arguments = flags + [file.path]
    let pipe = Pipe()
    process.standardOutput = pipe.fileHandleForWriting
    process.standardError = pipe.fileHandleForWriting
    try process.run()
    let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: output, as: UTF8.self))
}

/// What bash offers for a line with the cursor at its end.
private func offered(_ line: String) throws -> [String] {
    // COMP_WORDS is not asked; compopt works in completions only.
    let script = """
        \(BashCompletion.script)
        compopt() { :; }
        COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'
        COMP_LINE='\(line)' COMP_POINT=\(line.utf8.count)
        _rankfs
        printf '%s\\n' "${COMPREPLY[@]}"
        """
    return try run("bash", ["--norc"], script: script).output.split(separator: "\n").map(String.init)
}

@Suite struct CompletionTests {
    @Test(arguments: CompletionShell.allCases)
    func scriptsAreInTheirLanguageAndNameEverything(_ shell: CompletionShell) throws {
        let script = Completions.script(for: shell)
        for command in CommandTable.listed.map(\.name) { #expect(script.contains(command)) }
        for option in OptionTable.all {
            #expect(script.contains(option.name))
            #expect(script.contains(String(option.flag.dropFirst(2))))
            for word in option.words { #expect(script.contains(word)) }
        }
        guard isInstalled(shell.rawValue) else { return }
        let check = try run(shell.rawValue, ["-n"], script: script)
        #expect(check.status == 0 && check.output.isEmpty, "\(check.output)")
        #expect(try run(shell.rawValue, ["-n"], script: script + "\nif (\n").status != 0)
    }

    @Test(arguments: [
        ("rankfs unm", ["unmount"]), ("rankfs mount pi", ["pixiv"]),
        ("rankfs cache ", ["info", "verify", "prune", "clear"]),
        ("rankfs cache info d", ["danbooru", "demo"]), ("rankfs mount -o ro d", ["danbooru", "demo"]),
        ("rankfs mount -o ro de", ["demo"]), ("rankfs status --j", ["--json"]),
        ("rankfs mount -o imag", ["images=", "image_url="]),
        ("rankfs mount -o images=", ["regular", "small", "original"]),
        ("rankfs mount -o ro,images=s", ["small"]), ("rankfs mount -oallow_o", ["-oallow_other"]),
        ("rankfs mount --orientation=p", ["portrait"]), ("rankfs mount --orientation p", ["portrait"]),
        ("rankfs pin /usr/loca", ["/usr/local"]), ("rankfs evict x /usr/loca", ["/usr/local"]),
        ("rankfs mount --cache-s", ["--cache-size="]), ("rankfs demo -o top=3,cache_dir=/usr/loca", ["/usr/local"]),
        ("rankfs help logi", ["login"]), ("rankfs mount -o images=%s", []), ("rankfs nonsense -o x", []),
    ])
    func bashOffersWhatFits(_ line: String, _ expected: [String]) throws {
        #expect(try offered(line) == expected)
    }

    @Test func wordsAreThoseThatTheOptionTakes() throws {
        let options = OptionTable.all.filter { $0.placeholder == "WORD" || $0.placeholder == "LEVEL" }
        #expect(options.count > 4)
        for option in options {
            #expect(option.words.contains(option.standard) || option.standard == OptionTexts.bySource)
            var settings = Settings()
            for word in option.words {
                try option.set(&settings, word, OptionContext(directory: "/", home: nil))
            }
        }
    }

    @Test func synopsesAreReadFromTheTable() throws {
        let synopses = Synopsis.all
        #expect(synopses.map(\.command) == CommandTable.listed.map(\.name))
        let mount = try #require(synopses.first)
        #expect(mount.operands == [.source, .folder] && mount.takesOptions && !mount.help.isEmpty)
        #expect(synopses.first { $0.command == "unmount" }?.operands == [.mounted])
        let made = Synopsis(
            command: "unpin", help: "", written: "[--all] PATH… [--to DIR]")
        #expect(made.operands == [.file])
        #expect(
            made.flags == [Synopsis.Flag(name: "--all", value: nil), Synopsis.Flag(name: "--to", value: .folder)])
        #expect(!made.takesOptions)
    }

    @Test func theCommandNamesOneShell() throws {
        #expect(try CommandParser.parse(["completions", "zsh"]) == .completions(.zsh))
        for words in [["completions"], ["completions", "csh"], ["completions", "zsh", "bash"]] {
            do {
                _ = try CommandParser.parse(words)
                Issue.record("parsed: \(words)")
            } catch {
                #expect(error.status == .usage)
            }
        }
    }
}
