import CTurboJPEG
import Foundation
import Rankings
import Testing

@testable import Origin
import TestSupport

/// The fixed places of the universe, over HTTP.
@Suite(.timeLimit(.minutes(2))) struct LandmarkTests {
    private let universe = Universe(seed: 1)

    private func work(_ name: String) throws -> Post {
        try #require(universe.post(Landmarks.id(name, .pixiv), now: noon))
    }

    private func path(_ url: String?) throws -> String {
        let url = try #require(url)
        #expect(url.hasPrefix("https://i.pximg.net/"))
        return String(url.dropFirst("https://i.pximg.net".count))
    }

    private func body(_ server: OriginServer, _ target: String) async throws -> JSON {
        try #require(JSON(await fetch(server, target).body)?["body"])
    }

    private func size(ofJPEG bytes: [UInt8]) -> PixelSize? {
        guard let handle = tjInitDecompress() else { return nil }
        defer { tjDestroy(handle) }
        var width: Int32 = 0
        var height: Int32 = 0
        var subsampling: Int32 = 0
        var colours: Int32 = 0
        guard tjDecompressHeader3(handle, bytes, UInt(bytes.count), &width, &height, &subsampling, &colours) == 0 else {
            return nil
        }
        return PixelSize(width: Int(width), height: Int(height))
    }

    @Test func anAnimationOfSixtyFrames() async throws {
        let server = try OriginServer.start { $0.chunks = false }
        defer { server.stop() }
        let meta = try await body(server, "/ajax/illust/\(Landmarks.id("longAnimation", .pixiv))/ugoira_meta")
        let frames = try #require(meta["frames"]).children
        #expect(frames.count == 60)
        let delays = frames.compactMap { $0["delay"]?.number }
        #expect(delays.allSatisfy { (60...120).contains($0) || $0 == 300 })
        #expect(delays.contains(300) && Set(delays).count > 3)
        for (key, width) in [("src", 600), ("originalSrc", 1280)] {
            let path = try path(meta[key]?.string)
            let archive = await fetch(server, path)
            #expect(archive.status == 200)
            #expect(archive["Content-Type"] == "application/zip")
            let head = await fetch(server, path, method: "HEAD")
            #expect(head["Content-Length"] == "\(archive.body.count)")
            #expect(archive["Content-Length"] == "\(archive.body.count)")
            let entries = StoredEntry.all(in: archive.body)
            #expect(entries.map(\.name) == frames.compactMap { $0["file"]?.string })
            #expect(Set(entries.map(\.bytes)).count == 60, "no two frames are the same")
            for entry in entries {
                #expect(entry.bytes.prefix(2) == [0xff, 0xd8] && entry.bytes.suffix(2) == [0xff, 0xd9])
                #expect(size(ofJPEG: entry.bytes)?.width == width)
                #expect(width > 600 || (10_000...25_000).contains(entry.bytes.count))
            }
            let part = await fetch(server, path, headers: ["Range: bytes=300000-399999"])
            #expect(part.status == 206)
            #expect(part.body.elementsEqual(archive.body[300_000..<400_000]))
            try expectValid(archive.body)
            #expect(await fetch(server, path, referer: false).status == 403)
        }
    }

    /// Whether an independent reader finds the archive whole, checksums and all.
    private func expectValid(_ archive: [UInt8]) throws {
        let python = "/usr/bin/python3"
        guard FileManager.default.isExecutableFile(atPath: python) else { return }
        let directory = try TemporaryDirectory()
        let file = directory.path + "/a.zip"
        try Data(archive).write(to: URL(filePath: file))
        let child = SpawnedProcess()
        child.executableURL = URL(filePath: python)
        child.arguments = [
            "-c",
            "import sys,zipfile; z=zipfile.ZipFile(sys.argv[1]); "
                + "sys.exit(z.testzip() is not None or any(i.compress_type for i in z.infolist()))",
            file,
        ]
        try child.run()
        child.waitUntilExit()
        #expect(child.terminationStatus == 0)
    }

    @Test func animationsOfRankings() async throws {
        let archive = PageRendition.archive(size: "600x600")
        let found = try #require(universe.newest(archive) { work, _ in work.kind == .animation })
        let count = universe.delays(of: found.work).count
        #expect((8...40).contains(count))
        let picture = try #require(universe.picture(at: found.path))
        let bytes = try #require(picture.file())
        #expect(bytes.count == picture.bytes)
        #expect(StoredEntry.all(in: bytes).count == count)
        let first = PageRendition.original.path(found.work, 0)
        #expect(first.hasSuffix("_ugoira0.jpg"))
        #expect(universe.picture(at: first)?.pixels == found.work.pages[0])
        #expect(universe.picture(at: PageRendition.regular.path(found.work, 0)) != nil)
        let still = try #require(universe.newest(archive) { work, _ in work.kind == .manga })
        #expect(universe.picture(at: still.path) == nil)
        #expect(universe.picture(at: found.path.replacing("600x600", with: "700x700")) == nil)
    }

    @Test func aWorkOfTwelvePagesOfPNG() async throws {
        let server = try OriginServer.start { $0.chunks = false }
        defer { server.stop() }
        let pages = try await body(server, "/ajax/illust/\(Landmarks.id("twelvePages", .pixiv))/pages").children
        #expect(pages.count == 12)
        for page in pages {
            let path = try path(page["urls"]?["original"]?.string)
            let original = await fetch(server, path)
            #expect(original["Content-Type"] == "image/png")
            #expect(original.body.starts(with: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]))
            #expect(original.body.suffix(8).starts(with: Array("IEND".utf8)))
            #expect((200_000...1_000_000).contains(original.body.count))
            let wrong = path.replacing(".png", with: ".jpg")
            #expect(await fetch(server, wrong, method: "HEAD").status == 404)
        }
    }

    @Test func originalsThatAreBrokenForGood() async throws {
        let server = try OriginServer.start()
        defer { server.stop() }
        let ranked = try #require(universe.entries(Mode.all[0], universe.newest(at: noon), 77...77).first?.work)
        for work in [try work("brokenOriginal"), ranked] {
            let original = PageRendition.original.path(work, 0)
            for method in ["GET", "HEAD", "GET"] {
                #expect(await fetch(server, original, method: method).status == 500)
            }
            #expect(await fetch(server, PageRendition.regular.path(work, 0)).status == 200)
            let (told, other) = (work.format.rawValue, work.format == .png ? "jpg" : "png")
            let wrong = original.replacing(".\(told)", with: ".\(other)")
            #expect(await fetch(server, wrong, method: "HEAD").status == 404)
        }
        let original = PageRendition.original.path(try work("fullCaption"), 0)
        #expect(await fetch(server, original, method: "HEAD").status == 200)
    }

    @Test func portraits() async throws {
        let server = try OriginServer.start { $0.chunks = false }
        defer { server.stop() }
        let profile = try await body(server, "/ajax/user/\(Landmarks.author)?full=1")
        for (key, side) in [("image", 50), ("imageBig", 170)] {
            let path = try path(profile[key]?.string)
            #expect(path.wholeMatch(of: #/\/user-profile\/img(\/\d+){6}\/1007_[0-9a-f]{32}_\d+\.jpg/#) != nil)
            let portrait = await fetch(server, path)
            #expect(portrait.status == 200)
            #expect(size(ofJPEG: portrait.body) == PixelSize(width: side, height: side))
            #expect(await fetch(server, path, method: "HEAD")["Content-Length"] == "\(portrait.body.count)")
            let part = await fetch(server, path, headers: ["Range: bytes=100-199"])
            #expect(part.status == 206 && part.body.elementsEqual(portrait.body[100..<200]))
            #expect(await fetch(server, path, referer: false).status == 403)
            #expect(await fetch(server, path.replacing("1007", with: "1006")).status == 404)
        }
        let faceless = try await body(server, "/ajax/user/1003")
        #expect(faceless["imageBig"]?.string == "https://s.pximg.net/common/images/no_profile.png")
        #expect(await fetch(server, "/common/images/no_profile.png").status == 200)
    }

    @Test func recordsTellEverything() async throws {
        let server = try OriginServer.start()
        defer { server.stop() }
        let full = try await body(server, "/ajax/illust/\(Landmarks.id("fullCaption", .pixiv))")
        let caption = try #require(full["description"]?.string)
        for part in ["<br />", "<a href=\"/jump.php?", "&amp;", "&lt;", "https://www.pixiv.net/users/1001"] {
            #expect(caption.contains(part))
        }
        let tags = try #require(full["tags"]?["tags"]).children
        #expect(tags.contains { $0["romaji"]?.string == "umi" && $0["translation"]?["en"]?.string == "sea" })
        #expect(tags.contains { $0["translation"] == nil })
        let series = try await body(server, "/ajax/illust/\(Landmarks.id("inSeries", .pixiv))")
        #expect(series["seriesNavData"]?["order"]?.number == 2)
        #expect(series["seriesNavData"]?["prev"]?["order"]?.number == 1)
        #expect(series["seriesNavData"]?["next"]?["order"]?.number == 3)
        let made = try await body(server, "/ajax/illust/\(Landmarks.id("madeWithAI", .pixiv))")
        #expect(made["aiType"]?.number == 2)
        #expect(Set(universe.day("2024-05-01").map(\.work.aiType)) == [1, 2])
        #expect(universe.day("2024-05-01", 7, ranks: 1...50).allSatisfy { $0.work.aiType == 2 })
        #expect(universe.post(900_000_000, now: noon)?.aiType == 0, "older than the question")
    }
}

/// An entry of an archive, read from its end as readers do.
private struct StoredEntry {
    let name: String
    let bytes: [UInt8]

    static func all(in archive: [UInt8]) -> [StoredEntry] {
        func number(_ at: Int, _ width: Int) -> Int {
            (0..<width).reduce(0) { $0 | Int(archive[at + $1]) << (8 * $1) }
        }
        let end = archive.count - 22
        guard end >= 0, number(end, 4) == 0x0605_4b50 else { return [] }
        var at = number(end + 16, 4)
        return (0..<number(end + 10, 2)).map { _ in
            let local = number(at + 42, 4)
            let length = number(at + 28, 2)
            let name = String(decoding: archive[at + 46..<at + 46 + length], as: UTF8.self)
            let start = local + 30 + number(local + 26, 2)
            at += 46 + length
            return StoredEntry(name: name, bytes: Array(archive[start..<start + number(local + 22, 4)]))
        }
    }
}
