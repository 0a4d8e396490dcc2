import Foundation
import Testing

/// What people search for has one place: a name is one type, and a folder is small enough to be read.
@Suite struct NamesTests {
    /// Folders grow; beyond this one holds more than one subject.
    static let mostFiles = 17

    @Test func noTwoModulesHaveATypeOfOneName() throws {
        let declaration = #/^(?:package |public |final )*(?:struct|class|enum|actor|protocol) (\w+)/#
        var modules: [String: Set<String>] = [:]
        for (module, path) in try Package.modules() {
            for line in try Package.swiftFiles(below: path).flatMap(\.lines) {
                guard let found = line.firstMatch(of: declaration) else { continue }
                modules[String(found.output.1), default: []].insert(module)
            }
        }
        #expect(modules.count > 300)
        for (name, owners) in modules.sorted(by: { $0.key < $1.key }) {
            #expect(owners.count == 1, "\(name) is a type of \(owners.sorted()); say in its name which one it is")
        }
    }

    /// The pages for developers name types, their members, files and folders; no compiler notices when one of them goes.
    @Test func whatPagesNameIsThere() throws {
        let (members, places) = (try members(), try places())
        for page in ["Architecture.md", "AddingASource.md"] {
            let path = Package.root.appending(path: "Sources/rankfs/Documentation.docc/\(page)")
            let named = try String(contentsOf: path, encoding: .utf8)
                .matches(of: #/`(?:[A-Z]\w*\.)*([A-Z][A-Za-z0-9]+)(?:\.([a-z]\w*))?(?:\([a-z_:]*\))?`/#)
            #expect(named.count > 5)
            for name in named {
                let (all, type, member) = name.output
                guard member != "swift", let found = members[type] else {
                    #expect(places.contains(type), "\(page) names \(all), which is not there")
                    continue
                }
                #expect(member.map(found.contains) ?? true, "\(page) names \(all), which is no member")
            }
        }
    }

    /// The types of the program and of what tests share, each with the names that the files declare that declare or extend it.
    private func members() throws -> [Substring: Set<Substring>] {
        var members: [Substring: Set<Substring>] = [:]
        for file in try Package.swiftFiles(below: "Sources") + Package.swiftFiles(below: "Tests/TestSupport") {
            var (types, names): (Set<Substring>, Set<Substring>) = ([], [])
            for line in file.lines where !line.isComment {
                let words = line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
                for (place, word) in words.enumerated() {
                    switch word {
                    case "struct", "class", "enum", "actor", "protocol", "typealias", "extension":
                        types.formUnion(words[place...].dropFirst().prefix(word == "extension" ? 2 : 1))
                    case "func", "var", "let": names.formUnion(words[place...].dropFirst().prefix(1))
                    case "case": names.formUnion(words[place...].dropFirst())
                    default: continue
                    }
                }
            }
            for type in types { members[type, default: []].formUnion(names) }
        }
        return members
    }

    /// The names of folders and of Swift files.
    private func places() throws -> Set<Substring> {
        let files = ["Sources", "Tests"].flatMap { Package.paths(below: $0, endings: [".swift", ".h"]) }
        return Set((files + ["Package.swift"]).flatMap { $0.split(separator: "/").map { $0.prefix { $0 != "." } } })
    }

    @Test func foldersAreSmall() throws {
        var folders: [Substring: Int] = [:]
        for file in try Package.swiftFiles(below: "Sources") + Package.swiftFiles(below: "Tests") {
            let end = try #require(file.path.lastIndex(of: "/"))
            folders[file.path[..<end], default: 0] += 1
        }
        for (folder, count) in folders.sorted(by: { $0.key < $1.key }) {
            #expect(count <= Self.mostFiles, "\(folder) has \(count) files; divide it by what they are about")
        }
    }
}
