import Rankings
import Testing

@testable import Origin

/// What listings tell of files is true of the bytes served.
@Suite(.timeLimit(.minutes(2))) struct BooruFileTests {
    private static let beginnings: [String: [UInt8]] = [
        "jpg": [0xff, 0xd8, 0xff], "png": [0x89, 0x50, 0x4e, 0x47], "gif": Array("GIF89a".utf8),
        "webp": Array("RIFF".utf8), "webm": [0x1a, 0x45, 0xdf, 0xa3], "zip": [0x50, 0x4b, 3, 4],
        "mp4": [0, 0, 0], "avif": [0, 0, 0],
    ]

    /// The first posts of each kind on a day.
    private func records(_ site: Service) throws -> [JSON] {
        let target = (site == .danbooru) ? "/posts.json?limit=200&tags=" : "/post.json?limit=1000&tags="
        let day = try Booru.of(site).json("\(target)date:2024-04-30+order:score").children
        var seen: [String: Int] = [:]
        return day.filter { record in
            guard record["md5"] != nil, record["file_url"] != nil, let kind = record["file_ext"]?.string else {
                return false
            }
            seen[kind, default: 0] += 1
            return (seen[kind] ?? 0) <= 3
        }
    }

    @Test(arguments: [Service.danbooru, .yandere, .konachan]) func originals(
        site: Service
    ) throws {
        let records = try records(site)
        #expect(Set(records.compactMap { $0["file_ext"]?.string }).count >= 6)
        var digests: Set<String> = []
        for record in records {
            let kind = try #require(record["file_ext"]?.string)
            let answer = Booru.of(site).get(try record.path("file_url"))
            #expect(answer.status == 200)
            let bytes = answer.bytes
            #expect(Int64(bytes.count) == record["file_size"]?.number, "\(kind)")
            #expect(digest(of: bytes) == record["md5"]?.string, "\(kind)")
            #expect(bytes.starts(with: try #require(Self.beginnings[kind])), "\(kind)")
            #expect(bytes.starts(with: try #require(Format(rawValue: kind)).opening), "\(kind), without drawing it")
            #expect(answer["Content-Type"] == Format(rawValue: kind)?.mediaType)
            digests.insert(digest(of: bytes))
        }
        #expect(digests.count == records.count, "each has a file of its own")
    }

    @Test func lengthsWithinFilesAreRight() throws {
        func bytes(_ mark: String) throws -> [UInt8] {
            let record = try Booru.danbooru.json("/posts/\(Landmarks.id(mark, .danbooru)).json")
            return Booru.danbooru.get(try record.path("file_url")).bytes
        }
        func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reversed().reduce(0) { $0 << 8 | Int($1) } }
        let webp = try bytes("webp")
        #expect(number(webp[4..<8]) == webp.count - 8 && webp.count % 2 == 0)
        let zip = try bytes("zip")
        let end = try #require(zip.lastRange(of: [0x50, 0x4b, 5, 6]))
        #expect(number(zip[end + 20..<end + 22]) == zip.count - end - 22, "the comment reaches to the end")
        #expect(number(zip[end + 10..<end + 12]) == Model.frames)
        let boxes = try bytes("mp4")
        var at = 0
        while at + 8 <= boxes.count { at += max(8, boxes[at..<at + 4].reduce(0) { $0 << 8 | Int($1) }) }
        #expect(at == boxes.count, "boxes follow each other to the end")
    }

    @Test func danbooruRenditions() throws {
        let mark = Landmarks.id("plain", .danbooru)
        let record = try Booru.danbooru.json("/posts/\(mark).json")
        for variant in try #require(record["media_asset"]?["variants"]).children {
            let answer = Booru.danbooru.get(try variant.path("url"))
            #expect(answer.status == 200)
            guard case .picture(let picture, _) = answer.body else { throw ShapeError() }
            #expect(Int64(picture.pixels.width) == variant["width"]?.number)
            #expect(Int64(picture.pixels.height) == variant["height"]?.number)
            #expect(answer.bytes.count == picture.bytes)
            #expect(answer["Cache-Control"] == "public, max-age=31536000")
        }
        let path = try record.path("file_url")
        #expect(Booru.danbooru.get(path.replacing(".jpg", with: ".png")).status == 404)
        #expect(Booru.danbooru.get(path.replacing("/original/", with: "/full/")).status == 404)
        let film = try Booru.danbooru.json("/posts/\(Landmarks.id("zip", .danbooru)).json")
        #expect(Booru.danbooru.get(try film.path("large_file_url"))["Content-Type"] == "video/webm")
        let avif = try Booru.danbooru.json("/posts/\(Landmarks.id("avif", .danbooru)).json")
        #expect(Booru.danbooru.get(try avif.path("file_url"))["Content-Type"] == "application/octet-stream")
    }

    private struct ShapeError: Error {}

    @Test func moebooruRenditions() throws {
        var samples: [Bool: Int] = [:]
        let records = try Booru.yandere.json("/post.json?tags=date:2024-04-30+order:score&limit=1000").children
        for record in records where record["file_url"] != nil && ["jpg", "png"].contains(record["file_ext"]?.string) {
            let isPNG = record["file_ext"]?.string == "png"
            #expect((record["jpeg_file_size"]?.number ?? 0 > 0) == isPNG)
            for kind in ["sample", "jpeg"] {
                let size = try #require(record["\(kind)_file_size"]?.number)
                samples[size > 0, default: 0] += 1
                guard size > 0 else {
                    #expect(record["\(kind)_url"]?.string == record["file_url"]?.string)
                    #expect(record["\(kind)_width"]?.number == record["width"]?.number)
                    continue
                }
                let answer = Booru.yandere.get(try record.path("\(kind)_url"))
                guard case .picture(let picture, _) = answer.body else { throw ShapeError() }
                #expect(Int64(picture.bytes) == size)
                #expect(Int64(picture.pixels.width) == record["\(kind)_width"]?.number)
                if (samples[true] ?? 0) < 5 { #expect(Int64(answer.bytes.count) == size) }
            }
        }
        #expect(samples[true] ?? 0 > 10 && samples[false] ?? 0 > 10)
        let png = try #require(records.first { $0["file_ext"]?.string == "png" })
        let digest = try #require(png["md5"]?.string)
        #expect(Booru.yandere.get("/image/\(digest)/anything%20else.png").status == 200)
        #expect(Booru.yandere.get("/image/\(digest).png").status == 200)
        #expect(Booru.yandere.get("/image/\(digest)/x.jpg").status == 404)
        #expect(Booru.yandere.get("/data/preview/00/00/\(digest).jpg").status == 404)
    }
}

extension [UInt8] {
    /// Where a row of bytes begins for the last time.
    fileprivate func lastRange(of bytes: [UInt8]) -> Int? {
        (0...count - bytes.count).last { self[$0..<$0 + bytes.count].elementsEqual(bytes) }
    }
}
