@testable import Boards
import Foundation
@testable import HTTP
import Rankings
import Sourcing
import TestSupport

typealias FakeBoard = ScriptedService

extension ScriptedService {
    convenience init(status: Int = 200, headers: [(name: String, value: String)] = [], _ bodies: String...) {
        self.init(bodies.map { (status, $0) }, headers: headers)
    }

    convenience init(_ answers: [(status: Int, body: String)], headers: [(name: String, value: String)] = []) {
        self.init(
            answers.map {
                .success(HTTPResponse(head: HTTPAnswer(status: $0.status, headers: headers), body: Array($0.body.utf8)))
            })
    }

    /// The places in line of the requests, oldest first, and for how long they may wait there.
    var turns: [TransferPriority] { requests.map(\.priority) }
    var patiences: [Duration] { requests.map(\.patience) }

    /// A source that asks this board, on 2024-05-15 at noon in UTC if no other moment is told.
    func source(
        _ engine: any BooruEngine = DanbooruEngine(), rating: String? = nil, apiURL: String? = nil,
        imageURL: String? = nil, now: Int64 = 1_715_774_400
    ) -> BooruSource {
        var means = means(apiURL: apiURL, now: now)
        means.imageURL = imageURL
        means.choices = rating.map { ["rating": $0] } ?? [:]
        return BooruSource(engine, means)
    }

    /// Means of a source that asks this board, at the same moment.
    func means(apiURL: String? = nil, now: Int64 = 1_715_774_400) -> SourceMeans {
        SourceMeans(
            send: { request throws(Failure) in try self.answered(request) }, apiURL: apiURL, imageURL: nil,
            wallClock: { now })
    }
}

extension BooruSource {
    /// Where the picture of a work is.
    func location(of work: Work, _ rendition: Rendition, page: Int = 0) -> PictureLocation? {
        location(of: work.id, picture: work.picture, page: page, rendition: rendition)
    }
}

let deadline = ContinuousClock.now.advanced(by: .seconds(600))
let yandere = MoebooruEngine(.yandere)
let konachan = MoebooruEngine(.konachan)

func engine(isDanbooru: Bool) -> any BooruEngine { isDanbooru ? DanbooruEngine() : yandere }

extension RankingMode {
    static let day = named("day")
    static let week = named("week")
    static let month = named("month")

    private static func named(_ name: String) -> RankingMode {
        guard let mode = RankingMode(rawValue: name) else { fatalError(name) }
        return mode
    }
}

func day(_ text: String) -> Day {
    guard let day = Day(text) else { fatalError(text) }
    return day
}

/// The hosts of an engine's pictures.
func hosts(_ engine: any BooruEngine, replacement: String? = nil) -> PictureHosts {
    let access = engine.description.access
    return PictureHosts(
        hosts: access.hosts, home: access.apiURL.replacingOccurrences(of: "https://", with: ""),
        replacement: replacement)
}

/// A post of Danbooru's with the fields that matter; further ones replace them.
func danbooruPost(_ id: Int = 5, _ fields: [String: Any] = [:]) -> [String: Any] {
    let md5 = String(format: "%032x", id)
    var post: [String: Any] = [
        "id": id, "created_at": "2024-05-01T10:00:00.000-04:00", "rating": "g", "score": 3, "fav_count": 4,
        "image_width": 900, "image_height": 600, "file_ext": "jpg", "file_size": 1000, "md5": md5,
        "tag_string_artist": "somebody", "tag_string_character": "", "tag_string_copyright": "original",
        "tag_string_general": "hat", "tag_string_meta": "", "has_large": true,
        "file_url": "https://cdn.donmai.us/original/ab/cd/\(md5).jpg",
        "large_file_url": "https://cdn.donmai.us/sample/ab/cd/sample-\(md5).jpg",
        "preview_file_url": "https://cdn.donmai.us/180x180/ab/cd/\(md5).jpg",
    ]
    for (name, value) in fields { post[name] = value }
    return post.filter { !($0.value is Missing) }
}

/// A post of the other engine's.
func moebooruPost(_ id: Int = 5, _ fields: [String: Any] = [:]) -> [String: Any] {
    let md5 = String(format: "%032x", id)
    var post: [String: Any] = [
        "id": id, "created_at": 1_714_557_600, "rating": "s", "score": 3, "width": 3000, "height": 2000,
        "file_ext": "png", "file_size": 2000, "md5": md5, "tags": "hat somebody", "status": "active",
        "file_url": "https://files.yande.re/image/\(md5)/yande.re%20\(id)%20hat%20somebody.png",
        "sample_url": "https://files.yande.re/sample/\(md5)/yande.re%20\(id)%20sample%20hat%20somebody.jpg",
        "sample_file_size": 500, "sample_width": 1500, "sample_height": 1000,
        "preview_url": "https://assets.yande.re/data/preview/ab/cd/\(md5).jpg",
    ]
    for (name, value) in fields { post[name] = value }
    return post.filter { !($0.value is Missing) }
}

/// Stands for a field that is not there.
struct Missing {}

func text(_ object: Any) throws -> String {
    String(decoding: try JSONSerialization.data(withJSONObject: object, options: [.sortedKeys]), as: UTF8.self)
}

func json(_ object: Any) throws -> JSON {
    try JSONReader.read(Array(try text(object).utf8))
}

/// The post of an entry that Foundation writes.
func danbooru(_ fields: [String: Any] = [:]) throws -> PostEntry {
    DanbooruEngine.entry(try json(danbooruPost(5, fields)), hosts: hosts(DanbooruEngine()))
}

func moebooru(_ fields: [String: Any] = [:], tagKinds: [String: TagKind] = [:]) throws -> PostEntry {
    MoebooruPost(tagKinds: tagKinds, hosts: hosts(yandere)).entry(try json(moebooruPost(5, fields)))
}
