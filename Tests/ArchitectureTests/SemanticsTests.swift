import Foundation
import Testing

/// A promise without a test is a wish: each heading of Semantics is quoted by the suite that holds it.
@Suite struct SemanticsTests {
    @Test func everyPromiseHasItsTest() throws {
        let page = Package.root.appending(path: "Sources/rankfs/Documentation.docc/Semantics.md")
        let headings = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
            .filter { $0.hasPrefix("## ") }.map { String($0.dropFirst(3)) }
        #expect(headings.count > 10)
        let quotes = try Package.swiftFiles(below: "Tests").flatMap(\.lines).filter { $0.contains("Semantics: \"") }
        for heading in headings {
            #expect(quotes.contains { $0.contains("\"\(heading)\"") }, "no test names “\(heading)”")
        }
        for quote in quotes {
            #expect(headings.contains { quote.contains("\"\($0)\"") } || quote.contains("contains("), "\(quote)")
        }
    }

    @Test func everyAbilityNamesATestThatExists() throws {
        let page = Package.root.appending(path: "Sources/rankfs/Documentation.docc/Abilities.md")
        let rows = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
            .filter { $0.hasPrefix("| ") && !$0.hasPrefix("| ---") }.dropFirst()
        #expect(rows.count > 20)
        let tests = Set(
            try Package.swiftFiles(below: "Tests").flatMap(\.lines).compactMap { line -> Substring? in
                guard let start = line.range(of: "func ") else { return nil }
                return line[start.upperBound...].prefix { $0.isLetter || $0.isNumber }
            })
        for row in rows {
            let name = row.split(separator: "|").last { !$0.allSatisfy(\.isWhitespace) }?.filter {
                $0 != "`" && $0 != " "
            }
            #expect(tests.contains { name == String($0) }, "\(row)")
        }
    }

    /// SECURITY.md: each answer to a threat has its suites, or its tests in them.
    @Test func everyThreatNamesTestsThatExist() throws {
        let page = Package.root.appending(path: "SECURITY.md")
        let table = try #require(
            try String(contentsOf: page, encoding: .utf8).split(separator: "\n## ").first { $0.hasPrefix("Threats") })
        let rows = table.split(separator: "\n").filter { $0.hasPrefix("| ") && !$0.hasPrefix("| ---") }.dropFirst()
        #expect(rows.count > 5)
        let files = try Package.swiftFiles(below: "Tests").map(\.lines)
        for row in rows {
            let names = row.split(separator: "|")[2].split(separator: "`").filter { $0.first?.isUppercase ?? false }
            #expect(!names.isEmpty, "\(row)")
            for name in names {
                let parts = name.split(separator: ".")
                let suites = files.filter { $0.contains { line in line.contains("struct \(parts[0])") } }
                #expect(!suites.isEmpty || parts[0] == "FuzzTests", "\(name)")
                guard parts.count > 1 else { continue }
                #expect(suites.contains { $0.contains { line in line.contains("func \(parts[1])(") } }, "\(name)")
            }
        }
    }
}
