import Rankings

/// Recorded posts of a board: every search finds them, in the order of the files, each post once.
///
/// Their pictures are the universe's models; what a record tells of the original is changed to that of these bytes.
struct RecordedPosts: Sendable {
    private struct Recorded: Sendable {
        let node: JSON
        let post: Post
    }

    private let universe: Universe
    private var posts: [Recorded] = []

    private static let pageSize = 40
    private static let mostPosts = 1000
    /// Bytes of a rendition that a record is believed.
    private static let mostBytes: Int64 = 64 << 20
    /// All on one day: 2026-09-27.
    private static let uploaded: Int64 = 1_790_500_000_000

    /// Reads every `*.json` below a directory.
    ///
    /// Throws one sentence with cause and remedy.
    init(directory: String, _ universe: Universe) throws(OriginError) {
        self.universe = universe
        var known: Set<Int64> = []
        for (_, _, node) in try RecordedFiles.answers(below: directory) { learn(node, &known) }
    }

    /// The answer to a search, or to one for a number; nil for any other path.
    func answer(_ request: Request) -> Response? {
        let path = request.segments
        let isDanbooru = universe.service == .danbooru
        if isDanbooru, path.count == 2, path[0] == "posts", path[1].hasSuffix(".json") {
            let id = Int64(path[1].dropLast(".json".count))
            return posts.first { $0.post.id == id }.flatMap(record).map { .rails($0) }
        }
        let isPopular = path.first == "explore" || path.last?.hasPrefix("popular_") == true
        guard isPopular || path == [isDanbooru ? "posts.json" : "post.json"] else { return nil }
        let size = min(max(1, request.number("limit") ?? Self.pageSize), Self.mostPosts)
        let page = min(max(1, request.number("page") ?? 1), Self.mostPosts)
        let records = wanted(request).dropFirst((page - 1) * size).prefix(size).compactMap(record)
        guard request.value("api_version") == "2" else { return .rails(.list(records)) }
        return .rails(
            .object([
                ("posts", .list(records)), ("pools", .list([])), ("pool_posts", .list([])), ("tags", .object([])),
            ]))
    }

    /// A file of the post whose original has a digest, as long as the record says where it says so; nil without memory.
    func picture(_ digest: String, where isWanted: (BoardRendition) -> Bool) -> Picture? {
        guard let recorded = post(digest),
            let rendition = universe.renditions(of: recorded.post, isRecorded: true).first(where: isWanted),
            var picture = universe.picture(rendition, of: recorded.post)
        else { return nil }
        if let bytes = recorded.node["\(rendition.name)_file_size"].number, (1..<Self.mostBytes).contains(bytes) {
            picture.bytes = Int(bytes)
        }
        return picture
    }

    // MARK: -

    private mutating func learn(_ node: JSON, _ known: inout Set<Int64>) {
        guard let post = post(node) else {
            for child in node.children { learn(child, &known) }
            return
        }
        if known.insert(post.id).inserted { posts.append(Recorded(node: node, post: post)) }
    }

    /// The post of a record; nil for what is no post of this board, or has no file.
    private func post(_ node: JSON) -> Post? {
        let isDanbooru = universe.service == .danbooru
        guard let id = node["id"].number, node["md5"].string?.utf8.count == 32, let url = node["file_url"].string,
            let format = Format(rawValue: String(url.split(separator: "." as Character).last ?? "")),
            // One file may hold posts of both Moebooru sites, whose numbers are not each other's.
            isDanbooru || url.hasPrefix("https://files.yande.re") == (universe.service == .yandere),
            node[isDanbooru ? "tag_string" : "tags"].string != nil
        else { return nil }
        var chance = universe.chance(0xfee, id)
        let file = ModelFile(model: chance.pick(Model.numbers[format] ?? [0]), &chance)
        return Post(
            slot: Slot(day: 0, number: 0), id: id, created: Self.uploaded, format: format,
            pages: [Model.all[file.model].pixels], upScore: 0, account: 0, file: file)
    }

    /// The record with the digest and the length of the original that is served; nil without memory.
    private func record(_ recorded: Recorded) -> JSONText? {
        guard let (_, length, digest) = universe.original(recorded.post), let old = recorded.node["md5"].string else {
            return nil
        }
        func folders(_ digest: String) -> String { "/\(digest.prefix(2))/\(digest.dropFirst(2).prefix(2))/" }
        func changed(_ value: JSON) -> JSON {
            switch value {
            case .string(let text) where text.contains(old):
                .string(text.replacing(old, with: digest).replacing(folders(old), with: folders(digest)))
            case .array(let elements): .array(elements.map(changed))
            case .object(let members):
                .object(
                    members.map { member in
                        let isSize = member.name == "file_size"
                        return JSON.Member(
                            name: member.name, value: isSize ? .integer(Int64(length)) : changed(member.value))
                    })
            default: value
            }
        }
        return JSONText(changed(recorded.node))
    }

    private func post(_ digest: String) -> Recorded? {
        posts.first { universe.original($0.post)?.digest == digest }
    }

    /// All posts, but for searches by number or digest.
    private func wanted(_ request: Request) -> [Recorded] {
        for word in (request.form("tags") ?? "").split(separator: " " as Character) {
            let values = word.split(separator: ":" as Character, maxSplits: 1)
            if values.first == "id", let list = values.last {
                let ids = list.split(separator: "," as Character).compactMap { Int64($0) }
                return posts.filter { ids.contains($0.post.id) }
            }
            if values.first == "md5", let digest = values.last { return post(String(digest)).map { [$0] } ?? [] }
        }
        return posts
    }
}
