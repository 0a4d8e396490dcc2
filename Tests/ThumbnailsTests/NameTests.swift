import System
import Foundation
import TestSupport
import Testing

@testable import RankFS

/// Under which names desktops look for thumbnails.
@Suite struct NameTests {
    /// RFC 1321, A.5, and lengths around a block's end (from md5sum(1)).
    @Test(arguments: [
        ("", "d41d8cd98f00b204e9800998ecf8427e"),
        ("a", "0cc175b9c0f1b6a831c399e269772661"),
        ("abc", "900150983cd24fb0d6963f7d28e17f72"),
        ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
        ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
        ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "d174ab98d277d9f5a5611c2c9f419d9f"),
        (
            "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
            "57edf4a22be3c955ac49da2e2107b67a"
        ),
    ])
    func digests(_ message: String, digest: String) {
        #expect(MD5.hex(message.utf8) == digest)
    }

    /// Checked with `g_filename_to_uri`.
    @Test(arguments: [
        ("/home/me/001-a.jpg", "file:///home/me/001-a.jpg"),
        ("/m/a b#c%d.jpg", "file:///m/a%20b%23c%25d.jpg"),
        ("/m/猫 (1).jpg", "file:///m/%E7%8C%AB%20(1).jpg"),
        ("/m/~!$&'()*+,:=@-._;", "file:///m/~!$&'()*+,:=@-._%3B"),
        ("/m/[x]{y}|\\^`\"<>?", "file:///m/%5Bx%5D%7By%7D%7C%5C%5E%60%22%3C%3E%3F"),
        ("/m/\u{7f}\t", "file:///m/%7F%09"),
    ])
    func addresses(_ path: String, uri: String) {
        #expect(FileURI.of(path) == uri)
    }

    /// Checked with `QUrl::fromLocalFile(path).toEncoded()` of Qt 5.15.
    @Test(arguments: [
        ("/m/a b#c%d.jpg", "file:///m/a%20b%23c%25d.jpg"),
        ("/m/猫;(1).jpg", "file:///m/%E7%8C%AB;(1).jpg"),
        ("/m/[x]", "file:///m/[x]"),
    ])
    func addressesOfQt(_ path: String, uri: String) {
        #expect(FileURI.of(path, .qt) == uri)
    }

    /// Checked with `QUrl::fromLocalFile(path).url()` of Qt 5.15.
    @Test(arguments: [
        ("/home/me/001-a.jpg", "file:///home/me/001-a.jpg"),
        ("/m/猫 (1).jpg", "file:///m/猫 (1).jpg"),
        ("/m/a#b%c?d.jpg", "file:///m/a%23b%25c%3Fd.jpg"),
        ("/m/[x]{y}|\\^`\"<>.jpg", "file:///m/[x]%7By%7D%7C%5C%5E%60%22%3C%3E.jpg"),
        ("/m/\u{7f}", "file:///m/%7F"),
        ("/m/e\u{301} \u{200f}\u{3000}\u{202e}.jpg", "file:///m/e\u{301} \u{200f}\u{3000}\u{202e}.jpg"),
    ])
    func decodedAddresses(_ path: String, uri: String) {
        #expect(FileURI.of(path, .decoded) == uri)
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
        let file = FileManager.default.temporaryDirectory.appending(path: "rankfs-names-\(UUID().uuidString)")
        try JSONEncoder().encode(paths).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let process = SpawnedProcess()
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = ["-c", script, file.path]
        let pipe = Pipe()
        process.standardOutput = pipe.fileHandleForWriting
        process.standardError = .nullDevice
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return try JSONDecoder().decode([[String]].self, from: output)
    }
}
