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
