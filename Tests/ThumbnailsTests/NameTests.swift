import System
import Foundation
import TestSupport
import Testing

@testable import RankFS

/// Under which names desktops look for thumbnails.
@Suite struct NameTests {
    /// Checked with `g_filename_to_uri`, and with `QUrl::fromLocalFile(path)`, its `toEncoded()` and its `url()`, of Qt 5.15.
    @Test(
        arguments: [
            (.glib, "/home/me/001-a.jpg", "file:///home/me/001-a.jpg"),
            (.glib, "/m/a b#c%d.jpg", "file:///m/a%20b%23c%25d.jpg"),
            (.glib, "/m/猫 (1).jpg", "file:///m/%E7%8C%AB%20(1).jpg"),
            (.glib, "/m/~!$&'()*+,:=@-._;", "file:///m/~!$&'()*+,:=@-._%3B"),
            (.glib, "/m/[x]{y}|\\^`\"<>?", "file:///m/%5Bx%5D%7By%7D%7C%5C%5E%60%22%3C%3E%3F"),
            (.glib, "/m/\u{7f}\t", "file:///m/%7F%09"), (.qt, "/m/a b#c%d.jpg", "file:///m/a%20b%23c%25d.jpg"),
            (.qt, "/m/猫;(1).jpg", "file:///m/%E7%8C%AB;(1).jpg"), (.qt, "/m/[x]", "file:///m/[x]"),
            (.decoded, "/home/me/001-a.jpg", "file:///home/me/001-a.jpg"),
            (.decoded, "/m/猫 (1).jpg", "file:///m/猫 (1).jpg"),
            (.decoded, "/m/a#b%c?d.jpg", "file:///m/a%23b%25c%3Fd.jpg"),
            (.decoded, "/m/[x]{y}|\\^`\"<>.jpg", "file:///m/[x]%7By%7D%7C%5C%5E%60%22%3C%3E.jpg"),
            (.decoded, "/m/\u{7f}", "file:///m/%7F"),
            (
                .decoded, "/m/e\u{301} \u{200f}\u{3000}\u{202e}.jpg",
                "file:///m/e\u{301} \u{200f}\u{3000}\u{202e}.jpg"
            ),
        ] as [(FileURI.Spelling, String, String)])
    func addresses(_ spelling: FileURI.Spelling, _ path: String, uri: String) {
        #expect(FileURI.of(path, spelling) == uri)
    }

    /// A thousand names of every kind of character, as the libraries that desktops are made of write them.
    @Test(.enabled(if: Libraries.areThere, "needs the packages python3-gi and python3-pyqt5"))
    func thousandsOfNamesAreWrittenAsTheLibrariesDo() throws {
        var random = SystemRandomNumberGenerator()
        let signs = (32...126).map { Character(Unicode.Scalar($0)) } + Array("äñ猫ｶﾞ〜é👨‍👩‍👧🏳️‍🌈\u{202e}\u{300}\u{600}\u{7f}\t")
        let names = (0..<1000).map { number in
            "/home/me/\(number)-"
                + String((0..<12).map { _ in signs.randomElement(using: &random) ?? "a" }.filter { $0 != "/" })
        }
        let written = try Libraries.write(names)
        #expect(written.count == names.count)
        for (name, uris) in zip(names, written) {
            #expect(FileURI.Spelling.allCases.map { FileURI.of(name, $0) } == uris)
        }
    }

    /// The third is the name as it is; `./` and the encoded name is the standard's.
    @Test(arguments: [
        ("a.jpg", ["./a.jpg", "a.jpg"]),
        ("猫 1.jpg", ["./%E7%8C%AB%201.jpg", "%E7%8C%AB%201.jpg", "猫 1.jpg"]),
    ])
    func addressesInASharedStore(_ name: String, addresses: [String]) {
        #expect(SharedThumbnailNames.addresses(of: name) == addresses)
    }

    @Test func digestsInNames() {
        let digest = "c6ee772d9e49320e97ec29a7eb5b1697"
        #expect(SharedThumbnailNames.digest(in: Array("\(digest).png".utf8)) == digest)
        for name in [digest, "\(digest).jpg", "C\(digest.dropFirst()).png", "\(digest)0.png", "x\(digest).png", ".png"]
        {
            #expect(SharedThumbnailNames.digest(in: Array(name.utf8)) == nil, "\(name)")
        }
    }

    /// The example of the Thumbnail Managing Standard, "Thumbnail Creation".
    @Test func theStandardsExample() {
        let thumbnail = Thumbnail(uri: "file:///home/jens/photos/me.png", size: .normal, modified: 1, length: nil)
        #expect(thumbnail.path == "normal/c6ee772d9e49320e97ec29a7eb5b1697.png")
    }
}

/// GLib and Qt, by way of Python.
private enum Libraries {
    private static let script = """
        import json, sys
        from gi.repository import GLib
        from PyQt5.QtCore import QUrl
        written = []
        for name in json.load(open(sys.argv[1], encoding="utf-8")):
            url = QUrl.fromLocalFile(name)
            written.append([GLib.filename_to_uri(name, None), bytes(url.toEncoded()).decode(), url.url()])
        json.dump(written, sys.stdout)
        """

    static let areThere = (try? write(["/a"])) == [["file:///a", "file:///a", "file:///a"]]

    /// The addresses of paths in each spelling.
    static func write(_ paths: [String]) throws -> [[String]] {
        let folder = TemporaryFolder()
        let file = folder.url.appending(path: "names")
        try JSONEncoder().encode(paths).write(to: file)
        let written = try Tool("python3").run(["-c", script, file.path], hearsErrors: false)
        return try JSONDecoder().decode([[String]].self, from: written.output)
    }
}
