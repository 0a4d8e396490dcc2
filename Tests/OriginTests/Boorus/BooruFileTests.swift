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
}
