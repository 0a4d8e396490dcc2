import Rankings
import Synchronization

/// What boards' answers tell of a post, by the names that `shapes.json` has it by.
struct PostFacts {
    let universe: Universe
    let post: Post
    /// Whether it is told where the files are.
    var isVisible = true
    private let tags: [Tag]
    private let renditions: [BoardRendition]
    private let digest: String
    private let length: Int

    /// Nil without memory; the original's digest is remembered.
    init?(_ universe: Universe, _ post: Post) {
        guard let original = universe.original(post) else { return nil }
        self.universe = universe
        self.post = post
        (digest, length) = (original.digest, original.length)
        tags = universe.tags(of: post).map { universe.tags.all[$0] }
        renditions = universe.renditions(of: post)
        universe.learn(digest, post.id)
    }

    /// The value of a name; nil where there is none.
    func value(_ name: String) -> JSONText? {
        switch name {
        case "id": .integer(post.id)
        case "account": .integer(post.account)
        case "score": .int(post.score)
        case "upScore": .int(post.upScore)
        case "downScore": .int(post.downScore)
        case "favourites": .int(post.upScore + post.upScore / 5)
        case "source": .text(post.source.text)
        case "pixivID": .optional(post.source.work)
        case "md5": isVisible ? .text(digest) : nil
        case "bytes": .int(length)
        case "format": .text(post.format.rawValue)
        case "rating": .text(post.rating.rawValue)
        case "width": .int(post.pages[0].width)
        case "height": .int(post.pages[0].height)
        case "parent": .optional(post.parent)
        case "tags": .text(tags.map(\.name).joined(separator: " "))
        case "count": .int(tags.count)
        case "created": .text(Moment.rails(post.created))
        default:
            if let flag = Post.Flag(fact: name) {
                .flag(post.flags.contains(flag))
            } else if name.hasPrefix("count") {
                .int(tags(named: name.dropFirst(5)).count)
            } else if name.hasPrefix("tags") {
                .text(tags(named: name.dropFirst(4)).joined(separator: " "))
            } else {
                universe.service == .danbooru ? danbooru(name) : moebooru(name)
            }
        }
    }

    private func tags(named kind: Substring) -> [String] {
        tags.filter { $0.kind.word == kind.lowercased() }.map(\.name)
    }

    private func rendition(_ name: String) -> BoardRendition? { renditions.first { $0.name == name } }

    // MARK: - Danbooru

    private func danbooru(_ name: String) -> JSONText? {
        var chance = Chance(universe.seed, 0xa55e7, UInt64(bitPattern: post.id))
        let (key, hash) = (chance.next(), chance.digits())
        let isExpunged = post.flags.contains(.expunged)
        switch name {
        case "approver":
            return post.flags.contains(.pending) || post.slot.number % 9 > 0 ? .null : .integer(post.account / 7 + 1)
        case "hasSample": return .flag(rendition("sample") != nil)
        case "assetID": return .integer(post.id * 4 + 1)
        // Uploaded some seconds before it is posted.
        case "uploaded": return .text(Moment.rails(post.created - 9_410))
        case "processed": return .text(Moment.rails(post.created - 8_003))
        case "duration": return post.format.duration.map(JSONText.real) ?? .null
        case "assetStatus": return isExpunged ? "expunged" : "active"
        default: break
        }
        guard isVisible else { return nil }
        switch name {
        case "fileKey": return .text(String(key >> 16, radix: 36))
        case "pixelHash": return .text(hash)
        case "variants": return .list(isExpunged ? [] : renditions.map(variant))
        case "original": return rendition("original").map { .text(Danbooru.url($0, digest)) }
        case "preview": return rendition("180x180").map { .text(Danbooru.url($0, digest)) }
        case "large": return (rendition("sample") ?? rendition("original")).map { .text(Danbooru.url($0, digest)) }
        default: return nil
        }
    }

    private func variant(_ rendition: BoardRendition) -> JSONText {
        .object([
            ("type", .text(rendition.name)), ("url", .text(Danbooru.url(rendition, digest))),
            ("width", .int(rendition.pixels.width)), ("height", .int(rendition.pixels.height)),
            ("file_ext", .text(rendition.format.rawValue)),
        ])
    }

    // MARK: - Moebooru

    /// Whether records have the 36 keys of before.
    var isOld = false

    private func moebooru(_ name: String) -> JSONText? {
        switch name {
        case "seconds": return .integer(post.seconds)
        case "updated": return .integer(post.seconds + 7)
        case "creator": return .integer(post.account + 40_000)
        case "uploader": return .text(Uploaders.name(of: post.account))
        case "change": return .integer(post.id * 5 + 3)
        case "isShown": return .flag(!post.flags.contains(.expunged))
        case "status": return .text(status)
        case "flag": return status == "active" ? nil : Shapes.fill("moebooruFlag", value)
        case "boxWidth": return .int(post.pages[0].fitted(into: 150).width)
        case "boxHeight": return .int(post.pages[0].fitted(into: 150).height)
        case "original": return url("image")
        case "preview":
            let host = universe.service == .yandere ? "https://assets.yande.re" : host
            guard !post.flags.contains(.deleted) else { return .text(host + Moebooru.deletedPreview) }
            return .text("\(host)/data/preview/\(digest.prefix(2))/\(digest.dropFirst(2).prefix(2))/\(digest).jpg")
        default: break
        }
        // What is not made is told by 0 bytes, the original's address and its size.
        for kind in ["preview", "sample", "jpeg"] where name.hasPrefix(kind) {
            let made = rendition(kind)
            switch name.dropFirst(kind.count) {
            case "Width": return .int(made?.pixels.width ?? post.pages[0].width)
            case "Height": return .int(made?.pixels.height ?? post.pages[0].height)
            case "Bytes": return .int(made.map { universe.bytes($0, of: post) } ?? 0)
            default: return url(made == nil ? "image" : kind)
            }
        }
        return nil
    }

    private var status: String {
        [Post.Flag.deleted, .flagged, .pending].first(where: post.flags.contains)?.rawValue ?? "active"
    }

    private var host: String {
        universe.service == .yandere
            ? "https://files.yande.re" : isOld ? "https://konachan.com" : "https://konachan.net"
    }

    /// The address of a file, with the decoration that each site puts behind the digest.
    private func url(_ folder: String) -> JSONText? {
        guard !post.flags.contains(.deleted), let rendition = rendition(folder) else { return nil }
        let isKonachan = universe.service == .konachan
        let kind = folder == "sample" ? "sample " : ""
        // Signs of tags that a name has room for: paths are no longer than servers take.
        let words = tags.map(\.name).joined(separator: " ").prefix(200)
        let name =
            isKonachan && isOld && folder == "sample"
            ? "Konachan.com - \(post.id) sample"
            : "\(isKonachan ? "Konachan.com -" : "yande.re") \(post.id) \(kind)\(words)"
        return .text("\(host)/\(folder)/\(digest)/\(Self.encoded(name)).\(rendition.format.rawValue)")
    }

    /// Percent-encoded, but for letters, digits and `-_.`; a slash would end the name and is left out.
    private static func encoded(_ text: String) -> String {
        text.utf8.map { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2d, 0x5f, 0x2e: String(UnicodeScalar(byte))
            case 0x2f: "_"
            default: "%" + byte.padded(2, radix: 16).uppercased()
            }
        }.joined()
    }
}

/// A Moebooru site, yande.re or konachan: its API and its image hosts.
///
/// ## Concurrency
/// Called from the threads of all connections; what changes is an atomic.
final class Moebooru: ServedAPI {
    private let universe: Universe
    private let recorded: RecordedPosts?
    private let isOld: Bool
    /// Counts answers whose equal entries come in no order.
    private let shuffles = Atomic<UInt64>(0)

    private static let pageSize = 40
    private static let mostPosts = 1000
    private static let mostTags = 6
    /// Posts of a popular listing, which has one page.
    private static let mostPopular = 40
    /// The placeholder that stands for previews of deleted posts.
    static let deletedPreview = "/deleted-preview.png"

    init(_ universe: Universe, _ recorded: RecordedPosts?, isOld: Bool) {
        self.universe = universe
        self.recorded = recorded
        self.isOld = isOld
    }

    var placeholder: Picture? {
        let begin = universe.service.firstDay.beginsInUTC
        return universe.fixture(Self.deletedPreview, 150, .png, bytes: 40_000, begin)
    }

    func answer(_ request: Request, _ host: PictureHost) -> Response {
        if request.path == Self.deletedPreview { return host.answer(request, placeholder) }
        if let answer = picture(request, host) { return answer }
        if let recorded { return recorded.answer(request) ?? .html("404 Not Found", status: 404) }
        let path = request.segments
        switch path {
        case ["post.json"]: return posts(request, host.now)
        case ["post", "popular_recent.json"]: return recent(request, host.now)
        case ["tag", "summary.json"]: return summary
        default: break
        }
        for scale in ["day", "week", "month"] where path == ["post", "popular_by_\(scale).json"] {
            return popular(scale, request, host.now)
        }
        return .html("404 Not Found", status: 404)
    }

    /// A file of a post; what stands behind the digest in its path is for people (reference, 4.3); nil for another path.
    private func picture(_ request: Request, _ host: PictureHost) -> Response? {
        let parts = request.segments
        guard let name = parts.last, let dot = name.lastIndex(of: ".") else { return nil }
        var folder = parts[0]
        var digest = Universe.digest(in: parts.count == 3 ? parts[1] : name)
        if folder == "data", let hex = digest {
            folder = "preview"
            digest =
                parts == ["data", "preview", String(hex.prefix(2)), String(hex.dropFirst(2).prefix(2)), name]
                ? hex : nil
        } else if !(2...3).contains(parts.count) || !["image", "sample", "jpeg"].contains(folder) {
            return nil
        }
        guard let digest else { return host.answer(request, nil) }
        let ending = name[name.index(after: dot)...]
        if let recorded { return host.answer(request, recorded.picture(digest) { $0.name == folder }) }
        let post = universe.post(digest: digest, now: host.now).flatMap { $0.flags.contains(.deleted) ? nil : $0 }
        let found = post.flatMap { post in
            universe.renditions(of: post).first { $0.name == folder && $0.format.rawValue == ending }
                .flatMap { universe.picture($0, of: post) }
        }
        return host.answer(request, found)
    }

    private func posts(_ request: Request, _ now: Int64) -> Response {
        let search = BoardSearch(request.form("tags") ?? "", universe)
        guard search.counted <= Self.mostTags else {
            let reason = "You can only search up to \(Self.mostTags) tags at once"
            return .rails(.object([("success", false), ("reason", .text(reason))]), status: 500)
        }
        let size = min(max(1, search.limit ?? request.number("limit") ?? Self.pageSize), Self.mostPosts)
        let start = (max(1, request.number("page") ?? 1) - 1).multipliedReportingOverflow(by: size)
        let found = universe.posts(search.query, now: now)
        return list(request, start.overflow ? [] : found.dropFirst(start.partialValue).prefix(size))
    }

    /// A bare list, or with `api_version=2` an object that can hold the types of all tags.
    private func list(_ request: Request, _ posts: ArraySlice<Post>) -> Response {
        universe.models.prepare(Set(posts.compactMap(\.file?.model)))
        let recent = Set(isOld ? Shapes.names("moebooruSince2023") : [])
        let records = posts.compactMap { post -> JSONText? in
            guard var facts = PostFacts(universe, post) else { return nil }
            facts.isOld = isOld
            guard case .object(let members) = Shapes.fill("moebooruPost", facts.value) else { return nil }
            return .object(members.filter { !recent.contains($0.name) })
        }
        let list = JSONText.list(records)
        guard request.value("api_version") == "2" else { return .rails(list) }
        var members: Members = [("posts", list), ("pools", .list([])), ("pool_posts", .list([]))]
        if request.value("include_tags") == "1" {
            let tags = Set(posts.flatMap { universe.tags(of: $0) }).map { universe.tags.all[$0] }
            let types = tags.sorted { $0.name < $1.name }.map { ($0.name, $0.kind == .meta ? "faults" : $0.kind.word) }
            members.append(("tags", .object(types.map { ($0.0, .text($0.1)) })))
        }
        return .rails(.object(members))
    }

    private func popular(_ scale: String, _ request: Request, _ now: Int64) -> Response {
        let (year, month, day) = universe.newest(at: now).civil
        let isDated = request.value("year") != nil
        func number(_ name: String, _ missing: Int) -> Int { request.value(name).map { Int($0) ?? 0 } ?? missing }
        guard
            let date = Day(
                year: number("year", year), month: number("month", isDated ? 1 : month),
                day: scale == "month" ? 1 : number("day", isDated ? 1 : day))
        else { return Response(status: 400, headers: [], body: .bytes([])) }
        var query = Query()
        query.showsDeleted = false
        query.narrow(to: scale, of: date)
        return best(request, universe.posts(query, now: now))
    }

    /// The last day, week, month or year, to this moment; any other word means a day.
    private func recent(_ request: Request, _ now: Int64) -> Response {
        let days = ["1w": 7, "1m": 30, "1y": 365][request.value("period") ?? ""] ?? 1
        let today = universe.newest(at: now)
        var query = Query()
        query.showsDeleted = false
        query.days = today.advanced(by: -days)...today
        let since = now - Int64(days) * 86_400
        return best(request, universe.posts(query, now: now).filter { $0.created >= since * 1000 })
    }

    /// The best, equal ones in an order that is another with each answer.
    private func best(_ request: Request, _ posts: [Post]) -> Response {
        let shuffle = shuffles.add(1, ordering: .relaxed).newValue << 32
        let sorted = posts.sorted { left, right in
            guard left.score == right.score else { return left.score > right.score }
            return Chance.mix(UInt64(left.id) ^ shuffle) > Chance.mix(UInt64(right.id) ^ shuffle)
        }
        return list(request, sorted.prefix(Self.mostPopular))
    }

    /// All tags in one string: blocks of type, name and aliases, each ended by a back-quote; sites configure which types there are
    /// besides the first four (reference, 4.1).
    private var summary: Response {
        let blocks = universe.tags.all.map { "\($0.kind == .meta ? 6 : $0.kind.rawValue)`\($0.name)` " }
        return .rails(.object([("version", 1), ("data", .text(blocks.joined()))]))
    }
}
