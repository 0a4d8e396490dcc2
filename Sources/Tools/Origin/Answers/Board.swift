import Rankings

/// A board: the API and the image hosts of Danbooru, by default as safebooru.donmai.us has them, or of a Moebooru site.
///
/// Recorded posts answer every search, in the order of the files; their records are changed to describe the served original.
///
/// ## Concurrency
/// Called from the threads of all connections.
struct Board: ServedAPI {
    private let universe: Universe
    private let showsAll: Bool
    private let isDanbooru: Bool
    /// The path of lists, posts on a page and the most of them, tags that anonymous users may combine, and the shape of a record.
    private let engine: (list: String, page: Int, most: Int, tags: Int, shape: String)

    private static let mostPages = 1000
    /// The placeholder for previews of deleted posts.
    private static let deletedPreview = "/deleted-preview.png"

    /// Creates a board that shows posts of every rating, or of rating g alone as safebooru does.
    init(_ universe: Universe, showsAll: Bool) {
        self.universe = universe
        isDanbooru = universe.service == .danbooru
        self.showsAll = showsAll || !isDanbooru
        engine = isDanbooru ? ("posts.json", 20, 200, 2, "danbooruPost") : ("post.json", 40, 1000, 6, "moebooruPost")
    }

    var placeholder: Picture? {
        let begin = universe.service.firstDay.beginsInUTC
        return isDanbooru ? nil : universe.fixture(Self.deletedPreview, 150, .png, bytes: 40_000, begin)
    }

    func answer(_ request: Request, _ host: PictureHost) -> Response {
        // Named programs are admitted; browsers and requests without a User-Agent get a browser check (reference, 3.3).
        let agent = request["user-agent"] ?? ""
        if isDanbooru, agent.isEmpty || agent.hasPrefix("Mozilla/") || agent.hasPrefix("Opera/") {
            let marks = [("cf-mitigated", "challenge"), ("Server", "cloudflare")]
            return .html("Just a moment...", status: 403).with(marks)
        }
        let path = request.segments
        if path == [engine.list] { return list(request, host.now) }
        if isDanbooru, path.count == 2, path[0] == "posts", path[1].hasSuffix(".json") {
            let post = Int64(path[1].dropLast(".json".count)).flatMap { universe.post($0, now: host.now) }
            let isShort = request.value("only") == "media_metadata"
            return post.flatMap { isShort ? metadata($0) : record($0) }.map { .rails($0) } ?? error("RecordNotFound")
        }
        if let pools = pools(request, host.now) { return pools }
        let picture = request.path == Self.deletedPreview ? placeholder : picture(request, now: host.now)
        return host.answer(request, picture)
    }

    // MARK: - Posts

    private func list(_ request: Request, _ now: Int64) -> Response {
        let search = BoardSearch(request.form("tags") ?? "", universe)
        if search.counted > engine.tags { return error("TagLimitError") }
        if search.isSlow { return error("QueryCanceled") }
        let size = min(max(1, request.number("limit") ?? engine.page), engine.most)
        let page = max(1, request.number("page") ?? 1)
        if isDanbooru, page > Self.mostPages { return error("PaginationError") }
        let found = search.posts(now: now).filter { showsAll || $0.rating == .general || $0.recorded != nil }
        let posts = found.dropFirst((min(page, 1 << 20) - 1) * size).prefix(size)
        universe.prepareModels(of: posts)
        let records = JSON.array(posts.compactMap(record))
        guard request.value("api_version") == "2" else { return .rails(records) }
        let books = request.value("include_pools") == "1" ? Set(posts.flatMap { universe.books(of: $0) }).sorted() : []
        let pools = books.compactMap { universe.record(ofBook: $0, now: now) }
        var members: Members = [("posts", records), ("pools", .array(pools)), ("pool_posts", .array([]))]
        if request.value("include_tags") == "1" {
            let tags = Set(posts.flatMap { universe.tags(of: $0) }).map { universe.tags.all[$0] }
            // Moebooru's sites configure the types beyond the first four.
            let types = tags.sorted { $0.name < $1.name }.map {
                ($0.name, $0.kind == .meta ? "faults" : $0.kind.rawValue)
            }
            members.append(("tags", .members(types.map { ($0.0, .string($0.1)) })))
        }
        return .rails(.members(members))
    }

    /// The answer to a request for pools; nil for any other.
    private func pools(_ request: Request, _ now: Int64) -> Response? {
        let path = request.segments
        func list(_ numbers: [Int64]) -> Response {
            .rails(.array(numbers.compactMap { universe.record(ofBook: $0, now: now) }))
        }
        guard isDanbooru else {
            guard path == ["pool.json"] else { return nil }
            let words = (request.form("query") ?? "").split(separator: " " as Character).filter { !$0.contains(":") }
            return list(universe.books(named: words.joined(separator: " "), now: now))
        }
        if path == ["pools.json"] {
            if let post = request.value("search[post_ids_include_any]").flatMap({ Int64($0) }) {
                return list(universe.post(post, now: now).map { universe.books(of: $0) } ?? [])
            }
            return list(universe.books(named: request.value("search[name_contains]") ?? "", now: now))
        }
        guard path.count == 2, ["pools", "favorite_groups"].contains(path[0]), path[1].hasSuffix(".json") else {
            return nil
        }
        let number = Int64(path[1].dropLast(".json".count))
        // One group in seven is its owner's alone. The others have the posts of the pool with their number.
        if path[0] == "favorite_groups", let number, number % 7 == 0 { return error("PrivilegeError") }
        return number.flatMap { universe.record(ofBook: $0, now: now) }.map { .rails($0) } ?? error("RecordNotFound")
    }

    /// An error of Danbooru's (recorded: a page beyond 1000), or Moebooru's only one.
    private func error(_ name: String) -> Response {
        guard isDanbooru else {
            return .rails(
                .members([("success", false), ("reason", "You can only search up to 6 tags at once")]), status: 500)
        }
        let (status, kind, message) =
            switch name {
            case "PaginationError": (410, "PaginationExtension", "You cannot go beyond page 1000.")
            case "TagLimitError": (422, "PostQuery", "You cannot search for more than 2 tags at a time.")
            case "PrivilegeError": (403, "User", "Access denied")
            case "QueryCanceled": (500, "ActiveRecord", "The database timed out running your query.")
            default: (404, "ActiveRecord", "That record was not found.")
            }
        let values: [String: JSON] = ["error": .string("\(kind)::\(name)"), "message": .string(message)]
        return .rails(Shapes.fill("danbooruError", values), status: status)
    }

    /// The record of a post; nil if memory is short.
    private func record(_ post: Post) -> JSON? {
        guard let (_, length, digest) = universe.original(post) else { return nil }
        universe.learn(digest, post.id)
        if let recorded = post.recorded { return Post.changed(recorded, digest, length) }
        let facts = facts(post, digest, length)
        return Shapes.fill(engine.shape) { name in
            facts[name] ?? Post.Flag(fact: name).map { .bool(post.flags.contains($0)) }
        }
    }

    /// The answer to `only=media_metadata`: the delays and the format of an animation's frames.
    private func metadata(_ post: Post) -> JSON {
        let frames: Members = [
            ("Ugoira:FrameDelays", .array(universe.delays(of: post).map { .int($0) })),
            ("Ugoira:FrameMimeType", "image/jpeg"),
        ]
        return .members([("media_metadata", .members([("metadata", .members(post.format == .zip ? frames : []))]))])
    }

    /// The facts about a post, by their names in `shapes.json`.
    private func facts(_ post: Post, _ digest: String, _ length: Int) -> [String: JSON] {
        let tags = universe.tags(of: post).map { universe.tags.all[$0] }
        func names(_ kind: Tag.Kind?) -> [String] { tags.filter { kind == nil || $0.kind == kind }.map(\.name) }
        let box = post.pages[0].fitted(into: 150)
        var facts: [String: JSON] = [
            "id": .integer(post.id), "account": .integer(post.account), "source": .string(post.source.text),
            "score": .int(post.upScore + post.downScore), "upScore": .int(post.upScore),
            "downScore": .int(post.downScore), "favourites": .int(post.upScore * 6 / 5),
            "rating": .string(post.rating.rawValue),
            "pixivID": post.source.work.map { .integer($0) } ?? .null,
            "parent": post.parent.map { .integer($0) } ?? .null,
            "bytes": .int(length), "format": .string(post.format.rawValue),
            "tags": .string(names(nil).joined(separator: " ")),
            "width": .int(post.pages[0].width), "height": .int(post.pages[0].height), "count": .int(tags.count),
            "created": .string(Moment.rails(post.created)), "boxWidth": .int(box.width), "boxHeight": .int(box.height),
        ]
        for kind in Tag.Kind.allCases {
            facts["\(kind.rawValue)Tags"] = .string(names(kind).joined(separator: " "))
            facts["\(kind.rawValue)Count"] = .int(names(kind).count)
        }
        let isHidden =
            isDanbooru
            && (!post.flags.isDisjoint(with: [.banned, .restricted]) || !showsAll && post.rating != .general)
        let made = universe.renditions(of: post)
        if !isHidden {
            facts["md5"] = .string(digest)
            for rendition in made {
                facts["\(rendition.name)URL"] = .string(url(rendition, digest, post, names(nil)))
                facts["\(rendition.name)Width"] = .int(rendition.pixels.width)
                facts["\(rendition.name)Height"] = .int(rendition.pixels.height)
                facts["\(rendition.name)Bytes"] = .int(universe.bytes(rendition, of: post))
            }
        }
        if isDanbooru { addDanbooru(&facts, post, isHidden ? nil : made) } else { addMoebooru(&facts, post) }
        return facts
    }

    private func addDanbooru(_ facts: inout [String: JSON], _ post: Post, _ made: [BoardRendition]?) {
        let isExpunged = post.flags.contains(.expunged)
        var chance = universe.chance(0xa55e7, post.id)
        let (key, hash) = (chance.next() >> 16, chance.digits())
        let hasApprover = !post.flags.contains(.pending) && post.id % 9 == 0
        facts["approver"] = hasApprover ? .integer(post.account / 7 + 1) : .null
        facts["hasSample"] = .bool(universe.hasSample(post))
        facts["assetID"] = .integer(post.id * 4 + 1)
        // The upload precedes the post by some seconds.
        facts["uploaded"] = .string(Moment.rails(post.created - 9_410))
        facts["processed"] = .string(Moment.rails(post.created - 8_003))
        facts["duration"] = post.format.duration.map { .real($0) } ?? .null
        facts["assetStatus"] = isExpunged ? "expunged" : "active"
        guard let made else { return }
        facts["large"] = facts["sampleURL"] ?? facts["originalURL"]
        facts["fileKey"] = .string(String(key, radix: 36))
        facts["pixelHash"] = .string(hash)
        let variants = made.map { variant in
            Shapes.fill("danbooruVariant") { name in
                name == "type" ? .string(variant.name) : facts[variant.name + name] ?? .string(variant.format.rawValue)
            }
        }
        facts["variants"] = .array(isExpunged ? [] : variants)
    }

    private func addMoebooru(_ facts: inout [String: JSON], _ post: Post) {
        let status = [Post.Flag.deleted, .flagged, .pending].first(where: post.flags.contains)?.rawValue ?? "active"
        facts["seconds"] = .integer(post.seconds)
        facts["updated"] = .integer(post.seconds + 7)
        facts["creator"] = .integer(post.account + 40_000)
        facts["uploader"] = .string("uploader_\(post.account % 64)")
        facts["change"] = .integer(post.id * 5 + 3)
        facts["isShown"] = .bool(!post.flags.contains(.expunged))
        facts["status"] = .string(status)
        if status != "active" { facts["flag"] = Shapes.fill("moebooruFlag", facts) }
        // A missing rendition has 0 bytes, the original's address and its size.
        for kind in ["sample", "jpeg"] where facts["\(kind)URL"] == nil {
            facts["\(kind)Bytes"] = 0
            for part in ["URL", "Width", "Height"] { facts[kind + part] = facts["image" + part] }
        }
        guard post.flags.contains(.deleted) else { return }
        for kind in ["sample", "jpeg", "image"] { facts["\(kind)URL"] = nil }
        facts["previewURL"] = .string("https://\(host("preview"))\(Self.deletedPreview)")
    }

    // MARK: - Files

    /// The picture of a path; the text after the digest in Moebooru's paths is decoration for readers (reference, 4.3).
    private func picture(_ request: Request, now: Int64) -> Picture? {
        guard let digest = request.segments.lazy.compactMap({ Universe.digest(in: $0) }).first,
            let post = universe.post(digest: digest, now: now)
        else { return nil }
        let named = universe.renditions(of: post).first { rendition in
            request.path.hasPrefix(stem(rendition, digest)) && request.path.hasSuffix(".\(rendition.format.rawValue)")
        }
        return named.flatMap { universe.picture($0, of: post) }
    }

    /// The beginning of a file's path, up to its digest.
    private func stem(_ rendition: BoardRendition, _ digest: String) -> String {
        let folders = "\(digest.prefix(2))/\(digest.dropFirst(2).prefix(2))"
        guard isDanbooru else {
            return rendition.name == "preview" ? "/data/preview/\(folders)/\(digest)" : "/\(rendition.name)/\(digest)"
        }
        return "/\(rendition.name)/\(folders)/\(rendition.name == "sample" ? "sample-" : "")\(digest)"
    }

    private func host(_ name: String) -> String {
        switch universe.service {
        case .konachan: "konachan.net"
        case .yandere: name == "preview" ? "assets.yande.re" : "files.yande.re"
        default: "cdn.donmai.us"
        }
    }

    /// The address of a file, with the decoration that each Moebooru site adds after the digest.
    private func url(_ rendition: BoardRendition, _ digest: String, _ post: Post, _ tags: [String]) -> String {
        let site = universe.service == .konachan ? "Konachan.com -" : "yande.re"
        let kind = rendition.name == "sample" ? "sample " : ""
        // The tags are cut to 200 characters, so that servers accept the path.
        let words = "\(site) \(post.id) \(kind)\(tags.joined(separator: " ").prefix(200))"
        let decoration = isDanbooru || rendition.name == "preview" ? "" : "/" + Self.encoded(words)
        return "https://\(host(rendition.name))\(stem(rendition, digest))\(decoration).\(rendition.format.rawValue)"
    }

    /// Percent-encodes all but letters, digits and `-_.`; a slash would end the name and becomes `_`.
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
