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
        #expect(Set(sources).isSuperset(of: ["Pixiv", "Boards"]))
        for file in try Package.swiftFiles(below: "Sources") where file.path != Self.registry {
            for source in sources where file.imports.contains(source) {
                Issue.record("\(file.path) imports \(source); what it needs belongs into the source's description")
            }
        }
    }

    /// What one source alone has, and where that may be said.
    private struct Own {
        let places: [String]
        let words: [String]
        /// Words of which capitals matter.
        var exact: [String] = []
        /// Places where some of the words may be said too.
        var besides: [String: Set<String>] = [:]
    }

    private static let own = [
        // Its hosts, its calendar, its sizes, its cookie and the names of its placeholders. The embedded origin speaks its API
        // and draws its pictures, the other side of the same service; the bench mounts it from that origin.
        Own(
            places: [
                "Sources/Pixiv/", "Sources/Tools/Origin/", "Sources/Tools/rankfs-origin/",
                "Sources/Tools/rankfs-bench/", registry,
            ],
            words: [
                "pixiv", "pximg", "PHPSESSID", "JST", "noon", "1200 pixels", "1200-pixel", "480 pixels", "480-pixel",
                "ranking.php", "/ajax/", "xRestrict",
            ], exact: ["limit_"],
            // Posts of the image boards tell which work of it they come from.
            besides: ["Sources/Boards/": ["pixiv", "pximg"]]),
        // Hosts, calendar and record.
        Own(
            places: ["Sources/Boards/Danbooru/", "Sources/Tools/Origin/", "Sources/Tools/rankfs-origin/", registry],
            words: ["danbooru", "donmai", "Eastern", "tag_string", "media_asset"]),
        Own(
            places: ["Sources/Boards/Moebooru/", "Sources/Tools/Origin/", "Sources/Tools/rankfs-origin/", registry],
            words: ["moebooru", "yande", "konachan", "include_tags", "sample_url"]),
        // What image boards have in common.
        Own(
            places: [
                "Sources/Boards/", "Sources/Tools/Origin/", "Sources/Tools/rankfs-origin/", registry,
            ], words: ["booru", "order:score"]),
    ]

    @Test func wordsOfASourceStandInItsModule() throws {
        let files = try Package.swiftFiles(below: "Sources")
        for own in Self.own {
            var found = 0
            for file in files {
                let isOwn = own.places.contains { file.path.hasPrefix($0) }
                let admitted = own.besides.first { file.path.hasPrefix($0.key) }?.value ?? []
                for (number, line) in file.lines.enumerated() {
                    for word in own.words + own.exact where Self.says(line, word, exactly: own.exact.contains(word)) {
                        found += 1
                        guard !isOwn, !admitted.contains(word) else { continue }
                        Issue.record(
                            "\(file.path):\(number + 1) says \(word), which only the source's own module may know")
                    }
                }
            }
            #expect(found > 20, "the words are not those of the source: \(own.words)")
        }
    }

    private static func says(_ line: Substring, _ word: String, exactly: Bool) -> Bool {
        // RLIMIT_NOFILE and the like are the system's.
        let text = line.replacingOccurrences(of: "RLIMIT_", with: "").replacingOccurrences(of: "rlimit_", with: "")
        return text.range(of: word, options: exactly ? [] : .caseInsensitive) != nil
    }
}
