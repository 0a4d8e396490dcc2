import Foundation

/// A service that mounts are tested with: what tests have to know of it, and nothing of how it is asked.
enum Service: String, CaseIterable, Sendable, CustomStringConvertible {
    case pixiv, danbooru, yandere

    /// Each as it is reached for good, and pixiv without TLS too.
    static let reached: [(Wire, Service)] = [(.tls, .pixiv), (.plain, .pixiv), (.tls, .danbooru), (.tls, .yandere)]

    /// Those whose listings tell sizes and digests.
    static let boards: [Service] = [.danbooru, .yandere]

    var description: String { rawValue }

    /// The ranking of a day.
    var daily: String { self == .pixiv ? "daily" : "day" }

    /// A ranking that is long enough for a picture for each fault, by its name, its day, and the days that it ranks.
    var long: (mode: String, day: String, days: String) {
        self == .yandere ? ("week", "2024-04-29", "2024-04-29..2024-05-05") : (daily, Mount.day, Mount.day)
    }

    /// Options of the origin that speaks for it.
    var originOptions: [String] { ["--service", rawValue] }

    /// The first of the posts that the origin's help tells of, all of 2024-04-30.
    var landmarks: Int64 {
        switch self {
        case .pixiv: 0
        case .danbooru: 10_622_977
        case .yandere: 829_697
        }
    }
}

/// A post as a board's origin tells it to anybody, read without any code of the program under test.
struct OriginPost {
    let id: Int64
    let md5: String
    let size: Int64
    let fileExtension: String
    /// The path of the original; nil for a post without a file.
    let picture: String?
    let fields: [String: Any]

    init?(_ fields: [String: Any]) {
        guard let id = (fields["id"] as? NSNumber)?.int64Value else { return nil }
        self.id = id
        self.fields = fields
        md5 = fields["md5"] as? String ?? ""
        size = (fields["file_size"] as? NSNumber)?.int64Value ?? 0
        let url = (fields["file_url"] as? String).flatMap { URLComponents(string: $0) }
        picture = url?.percentEncodedPath
        fileExtension = fields["file_ext"] as? String ?? picture.map { URL(filePath: $0).pathExtension } ?? ""
    }
}

extension OriginProcess {
    /// The posts of a day for everybody, best first, asked with curl.
    func posts(_ day: String = Mount.day) throws -> [OriginPost] {
        var posts: [OriginPost] = []
        for page in 1...20 {
            let path =
                service == .danbooru
                ? "/posts.json?tags=date:\(day)+order:score+rating:g&limit=200&page=\(page)"
                : "/post.json?tags=date:\(day)+order:score+rating:s&limit=100&page=\(page)"
            let answer = try JSONSerialization.jsonObject(with: fetch(path)) as? [[String: Any]] ?? []
            if answer.isEmpty { break }
            posts += answer.compactMap(OriginPost.init)
        }
        return posts
    }

    /// The paths of a long day's pictures by rank; nil for what the service withholds, or is not fit for tests of downloads.
    func pictures() throws -> [String?] {
        guard service != .pixiv else { return try ranking().map { $0.isWithheld ? nil : $0.picture } }
        // What comes in pieces of 150 KB comes in as many as a download has tries.
        return try posts(service.long.days).filter { $0.fileExtension != "swf" }.map {
            $0.size < 1_000_000 ? $0.picture : nil
        }
    }
}
