import Foundation
import Testing

/// What is spelt once: paths, and the names of other people's programs; and the kinds of directories, which only say themselves what they are.
@Suite struct TreeTests {
    /// Whoever shows, stores or names what is below a mount point.
    private static let modules = ["Rankings", "Sourcing", "Catalog", "ImageCache", "RankFS", "rankfs"]

    private func lines(
        matching pattern: String, in modules: [String], but home: Set<String>
    ) throws -> (elsewhere: [String], atHome: Int) {
        var (elsewhere, atHome): ([String], Int) = ([], 0)
        for file in try modules.flatMap({ try Package.swiftFiles(below: "Sources/\($0)") }) {
            for (number, line) in file.lines.enumerated() where !line.isComment {
                guard line.range(of: pattern, options: [.regularExpression, .caseInsensitive]) != nil else { continue }
                if home.contains(file.path) { atHome += 1 } else { elsewhere.append("\(file.path):\(number + 1)") }
            }
        }
        return (elsewhere, atHome)
    }

    @Test func pathsAreSpeltInOnePlace() throws {
        let home: Set = ["Sources/Rankings/Names/TreePath.swift", "Sources/Rankings/Names/ListingKind.swift"]
        let directories = #"ranking|users|works|search|by-date|recent|following|bookmarks|\.rankfs"#
        let beginnings = try lines(matching: "\"(\\.\\./)*(\(directories))/", in: Self.modules, but: home)
        #expect(beginnings.elsewhere == [])
        let names = #""(ranking|works|search|by-date|latest|bookmarks|random\.jpg|\.rankfs|\.sh_thumbnails)""#
        // In a record a number has this name.
        let found = try lines(matching: names, in: Self.modules, but: home)
        #expect(found.elsewhere.filter { !$0.contains("/Rankings/Works/") } == [])
        #expect(found.atHome >= 8)
    }

    @Test func programsAreNamedInOnePlace() throws {
        let home: Set = ["Sources/RankFS/Desktop/CallingPrograms.swift"]
        let names =
            #""(kioslave5|kioworker|gwenview|tracker-miner-f|localsearch-3|baloo_file|nautilus|nemo|caja|thunar|dolphin"#
            + #"|tumblerd|pcmanfm|eog|gthumb|thumbnailer|cp|rsync|tar|borg|restic)""#
        let found = try lines(matching: names, in: Self.modules, but: home)
        #expect(found.elsewhere == [])
        #expect(found.atHome >= 8)
    }

    @Test func nobodyAsksWhichKindADirectoryIs() throws {
        let found = try lines(matching: #"\b(is|as\?|as!|as) (any )?\w+(Directory|File)\b"#, in: ["RankFS"], but: [])
        #expect(found.elsewhere == [])
    }
}
