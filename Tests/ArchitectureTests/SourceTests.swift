import Foundation
import Testing

/// A source is a plug-in: what is its own stays in its module.
@Suite struct SourceTests {
    static let registry = "Sources/rankfs/Sources/SourceRegistry.swift"

    /// The modules that are sources: those that the registry imports besides what every plug-in is made of.
    private func sources() throws -> [String] {
        let registry = try #require(try Package.swiftFiles(below: "Sources/rankfs").first { $0.path == Self.registry })
        return registry.imports.filter { !["Sourcing", "Rankings"].contains($0) }
    }

    @Test func nobodyButTheRegistryImportsASource() throws {
        let sources = try sources()
        #expect(sources.contains("Pixiv"))
        for file in try Package.swiftFiles(below: "Sources") where file.path != Self.registry {
            for source in sources where file.imports.contains(source) {
                Issue.record("\(file.path) imports \(source); what it needs belongs into the source's description")
            }
        }
    }

    /// The embedded origin speaks pixiv's API and draws pixiv's pictures: it is the other side of the same service.
    ///
    /// The bench mounts pixiv from that origin.
    private static let pixivsOwn = [
        "Sources/Pixiv/", "Sources/Origin/", "Sources/rankfs-origin/", "Sources/rankfs-bench/", registry,
    ]

    /// What pixiv alone has: its hosts, its calendar, its sizes, its cookie and the names of its placeholders.
    private static let words = [
        "pixiv", "pximg", "PHPSESSID", "JST", "noon", "1200 pixels", "1200-pixel", "480 pixels", "480-pixel",
        "limit_", "ranking.php", "/ajax/", "xRestrict",
    ]

    @Test func wordsOfASourceStandInItsModule() throws {
        var found = 0
        for file in try Package.swiftFiles(below: "Sources") {
            let isOwn = Self.pixivsOwn.contains { file.path.hasPrefix($0) }
            for (number, line) in file.lines.enumerated() {
                // RLIMIT_NOFILE and the like are the system's.
                let text = line.replacingOccurrences(of: "RLIMIT_", with: "").replacingOccurrences(
                    of: "rlimit_", with: "")
                for word in Self.words
                where text.range(of: word, options: word == "limit_" ? [] : .caseInsensitive) != nil {
                    found += 1
                    guard !isOwn else { continue }
                    Issue.record("\(file.path):\(number + 1) says \(word), which only the source's own module may know")
                }
            }
        }
        #expect(found > 100, "the words are not those of the source")
    }
}
