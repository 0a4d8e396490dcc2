import Foundation
import Sourcing
import TestSupport
import Testing

@testable import rankfs

/// The sources that the registry has, and where else they are named.
@Suite struct SourceListTests {
    @Test func namesAreUniqueAndThoseOfCommands() {
        let names = SourceRegistry.all.map(\.description.name)
        #expect(names == ["pixiv", "danbooru", "yandere", "konachan"] && !names.contains(SourceName.demo.rawValue))
        for name in names { #expect(SourceRegistry.plugIn(named: name)?.description.name == name) }
    }

    @Test(arguments: ["rankfs.1", "mount.rankfs.8"])
    func manualsNameThem(page: String) throws {
        let text = try String(
            contentsOf: TestPrograms.root.appending(path: "mount-helper/man/\(page)"), encoding: .utf8)
        for source in SourceName.all { #expect(text.contains(".Cm \(source.rawValue)")) }
    }

    /// The page of the documentation is made of the descriptions; help names what differs.
    @Test func theDocumentationHasTheTableOfSources() throws {
        let page = try String(
            contentsOf: TestPrograms.root.appending(path: "Sources/rankfs/Documentation.docc/Sources.md"),
            encoding: .utf8)
        #expect(page.contains("\n\(SourcesPage.table)\n"), "write this:\n\(SourcesPage.table)")
        let help = Command.mount.details
        for source in SourceRegistry.all.map(\.description) {
            #expect(help.contains("\n  \(source.name) "), "\(source.name)")
            for choice in source.choices {
                #expect(help.contains("\(choice.name)=\(choice.words.joined(separator: "|"))"))
            }
        }
    }

    /// Operators who look for a program in their logs find which one it was.
    @Test func theProgramsOwnNameHasItsVersion() {
        #expect(Version.userAgent == "rankfs/\(Version.text)")
    }

    /// A work's page is read by its own source alone.
    @Test func webPagesBelongToOneSource() {
        let pages = [
            "https://www.pixiv.net/artworks/5", "https://danbooru.donmai.us/posts/5", "https://yande.re/post/show/5",
            "https://konachan.net/post/show/5",
        ]
        for (place, page) in pages.enumerated() {
            let readers = SourceRegistry.all.indices.filter { SourceRegistry.all[$0].description.work(page) != nil }
            #expect(readers == [place])
        }
    }
}
