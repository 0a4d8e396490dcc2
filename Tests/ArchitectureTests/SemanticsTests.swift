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
}
