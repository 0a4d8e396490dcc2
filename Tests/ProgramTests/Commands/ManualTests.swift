import Foundation
import TestSupport
import Testing

@testable import rankfs

/// The manual pages say what the tables say.
@Suite struct ManualTests {
    private static let directory = TestPrograms.root.appending(path: "mount-helper/man")

    private static func page(_ name: String) throws -> String {
        try String(contentsOf: directory.appending(path: name), encoding: .utf8)
    }

    @Test func everyOptionHasItsEntryAndItsDefault() throws {
        let entries = try Self.page("rankfs.conf.5").components(separatedBy: "\n.It Cm ").dropFirst()
        #expect(entries.map { String($0.prefix { $0 != " " }) } == OptionTable.all.map(\.name))
        for (entry, option) in zip(entries, OptionTable.all) {
            #expect(entry.hasPrefix("\(option.name) Ns = Ns Ar \(option.placeholder.lowercased())\n"))
            #expect((entry + "\n").contains("\nDefault: \(option.standard).\n"), "default of \(option.name)")
            for word in option.words { #expect(entry.contains(".Cm \(word)"), "\(word) of \(option.name)") }
        }
    }

    /// The page about the configuration: its rows are options, in the order of the table, with their defaults and their words.
    @Test func theRowsOfThePageAreOptions() throws {
        let page = TestPrograms.root.appending(path: "Sources/rankfs/Documentation.docc/Configuration.md")
        let table = try #require(
            String(contentsOf: page, encoding: .utf8).split(separator: "\n\n").first {
                $0.hasPrefix("| option | default |")
            })
        let rows = table.split(separator: "\n").dropFirst(2).map { row in
            row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        #expect(rows.count > 30)
        var options = OptionTable.all[...]
        for row in rows {
            let name = row[0].filter { $0 != "`" }
            options = options.drop { $0.name != name }
            let option = try #require(options.first, "\(name) is no option, or not in its place")
            #expect(row[1].filter { $0 != "`" } == option.standard, "default of \(name)")
            for word in option.words { #expect(row[1...].contains { $0.contains("`\(word)`") }, "\(word) of \(name)") }
        }
    }

    @Test func everyCommandHasItsEntry() throws {
        let parts = try Self.page("rankfs.1").components(separatedBy: ".Sh DESCRIPTION")
        try #require(parts.count == 2)
        for command in Command.listed.map(\.name) {
            #expect(parts[0].contains("\n.Cm \(command)"), "synopsis of \(command)")
            #expect(parts[1].contains("\n.It Cm \(command)"), "entry of \(command)")
        }
        let synopses = parts[0].components(separatedBy: "\n.Nm\n.Cm ").dropFirst()
        for synopsis in Command.listed.map(\.synopsis) {
            let written = try #require(
                synopses.first { $0.prefix { $0 != "\n" } == synopsis.command }, "synopsis of \(synopsis.command)")
            let flags = synopsis.flags.map(\.name).filter { $0.hasPrefix("--") } + (synopsis.takesOptions ? ["o"] : [])
            for flag in flags {
                let macro = flag.hasPrefix("--") ? "Fl \\-\(flag.dropFirst(2))" : "Fl \(flag) "
                #expect(written.contains(macro), "\(macro) of \(synopsis.command)")
            }
        }
        for status in ExitStatus.allCases where status.rawValue == 0 || status.rawValue > 2 {
            #expect(parts[1].contains("\n.It \(status.rawValue)\n"))
        }
    }

    @Test func theHelperHasItsExitStatuses() throws {
        let page = try Self.page("mount.rankfs.8")
        for status in ExitStatus.allCases { #expect(page.contains("\n.It \(status.ofMountHelper.rawValue)\n")) }
    }

    @Test(.enabled(if: Tool("mandoc").isThere, "needs mandoc")) func pagesPassTheLinter() throws {
        let pages = ["rankfs.1", "rankfs.conf.5", "mount.rankfs.8"].map { Self.directory.appending(path: $0).path }
        let result = try Tool("mandoc").run(["-T", "lint", "-W", "warning"] + pages)
        #expect(result.status == 0, "\(result.said)")
    }
}
