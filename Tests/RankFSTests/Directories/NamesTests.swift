@testable import Catalog
import Rankings
import Testing

@testable import RankFS

/// Names of searches, authors, works' pages and recent pictures.
@Suite struct NamesTests {
    @Test(arguments: [
        "風景", "blue sky", "a", "100%", "#tag", "a/b".replacing("/", with: "／"), "-sketch", "(a OR b) c", "@name",
        "desktop", "cover", String(repeating: "a", count: 200),
    ])
    func wordsAreSearchedAsTyped(words: String) {
        #expect(EntryName.searchWords(Array(words.utf8)) == words)
    }

    @Test(arguments: [
        "", " ", "\u{3000}", ".", "..", ".hidden", ".Trash-1000", ".xdg-volume-info", "desktop.ini", "Desktop.ini",
        "Thumbs.db", "AUTORUN.INF", "folder.jpg", "lost+found", "a\u{0}b", "a\nb", "a\u{1B}[0m", "a\u{7F}",
        String(repeating: "a", count: 201), String(repeating: "風", count: 67),
    ])
    func whatProgramsProbeForIsNoSearch(name: String) {
        #expect(EntryName.searchWords(Array(name.utf8)) == nil)
    }

    @Test(
        arguments: [[0xFF], [0x61, 0xC3], [0xED, 0xA0, 0x80], [0xC0, 0xAF], [0xF5, 0x80, 0x80, 0x80]] as [[UInt8]])
    func whatIsNoTextIsNeitherASearchNorAnAuthor(bytes: [UInt8]) {
        #expect(EntryName.searchWords(bytes) == nil)
        #expect(EntryName.authorName([UInt8(ascii: "@")] + bytes) == nil)
    }

    @Test func authorsAreNamedBehindAnAt() {
        #expect(EntryName.authorName(Array("@Ann".utf8)) == "Ann")
        #expect(EntryName.authorName(Array("@@".utf8)) == "@")
        for name in ["", "@", "Ann", " @Ann"] { #expect(EntryName.authorName(Array(name.utf8)) == nil) }
    }

    @Test(arguments: ["p0.jpg", "p12.png", "p199.gif", "ugoira.zip", "original.png", "sample.jpg"])
    func pagesAreNumbered(name: String) {
        #expect(EntryName.mayBeInWork(Array(name.utf8), extensions: ["jpg", "png", "gif"]))
    }

    @Test(arguments: [
        "", "p", "p.jpg", "p0", "p0.webp", "p0.JPG", "P0.jpg", "0.jpg", "p-1.jpg", "p+1.jpg", "p 1.jpg", "p1a.jpg",
        "p1.x.jpg", "p1..jpg", "p0.jpg~", ".p0.jpg", "ugoira.ZIP", "ugoira.zip.part", "ugoira.jpg", "folder.jpg",
        "p9999999999999999999.jpg", "info.json",
    ])
    func otherNamesAreNotInAWork(name: String) {
        #expect(!EntryName.mayBeInWork(Array(name.utf8), extensions: ["jpg", "png", "gif"]))
    }
}
