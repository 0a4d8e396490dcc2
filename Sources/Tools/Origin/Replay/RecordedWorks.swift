import Rankings

/// Recorded answers of pixiv's, found again by what they say themselves, and the works that they name, put together from whatever each
/// answer tells of them.
struct RecordedWorks: Sendable {
    private let universe: Universe
    /// By a path with what tells it from others.
    private var answers: [String: [UInt8]] = [:]
    private var briefs: [Int64: JSONText] = [:]
    private var works: [Int64: Post] = [:]
    private var titled: Set<Int64> = []

    /// Reads every `*.json` below a directory.
    ///
    /// Throws one sentence with cause and remedy.
    init(directory: String, _ universe: Universe) throws(OriginError) {
        self.universe = universe
        let recorded = try RecordedFiles.answers(below: directory)
        for (path, bytes, node) in recorded {
            if let key = Self.key(of: node, file: path) { answers[key] = bytes }
            learn(node)
        }
        // The answers of `/pages` tell the sizes of all pages.
        for (_, _, node) in recorded { learnPages(node["body"].elements) }
    }

    /// The recorded answer, or what the service says where it has nothing; nil for a path that is not the API's.
    func answer(_ request: Request) -> Response? {
        let path = request.segments
        if path == ["ranking.php"] { return ranking(request) }
        guard path.first == "ajax" else { return nil }
        guard path.count >= 3, Int64(path[2]) != nil else { return .failure("不正なリクエストです。", status: 400) }
        if path[1] == "user", path.dropFirst(3) == ["profile", "illusts"] { return briefRecords(request) }
        var keys = [path.joined(separator: "/")]
        if path.count == 3 { keys.insert(keys[0] + "?full", at: request.value("full") == "1" ? 0 : 1) }
        return keys.lazy.compactMap { answers[$0] }.first.map(Self.verbatim) ?? .failure("", status: 404)
    }

    /// The picture at a path, if a recording names its work.
    func picture(at path: String) -> Picture? {
        universe.picture(at: path) { works[$0.work] }
    }

    // MARK: - Answers

    private static func verbatim(_ bytes: [UInt8]) -> Response {
        var answer = Response.json(.null)
        answer.body = .bytes(bytes)
        return answer
    }

    private func ranking(_ request: Request) -> Response {
        func value(_ name: String) -> String? { request.value(name).flatMap { $0.isEmpty ? nil : $0 } }
        let ranking = "ranking \(value("mode") ?? "daily") \(value("content") ?? "all") "
        // Without a date the newest one is meant.
        let newest = answers.keys.filter { $0.hasPrefix(ranking) }.max() ?? ""
        let date = value("date") ?? newest.dropFirst(ranking.count).prefix(8).description
        return answers["\(ranking)\(date) \(value("p") ?? "1")"].map(Self.verbatim) ?? Pixiv.Call.outOfRange
    }

    /// Nobody recorded this answer: its envelope is made here, its records are recorded ones.
    private func briefRecords(_ request: Request) -> Response {
        let known: Members = request.query.filter { $0.name == "ids[]" }.compactMap { name, text in
            Int64(text).flatMap { briefs[$0] }.map { (text, $0) }
        }
        return .envelope(Shapes.fill("works", ["works": .mapping(known), "furniture": .object([])]))
    }

    /// Which path has a recorded answer.
    private static func key(of node: JSON, file: String) -> String? {
        if !node["contents"].isNull, let mode = node["mode"].string, let date = node["date"].string {
            return "ranking \(mode) \(node["content"].string ?? "all") \(date) \(node["page"].number ?? 1)"
        }
        let body = node["body"]
        if let id = body["illustId"].number { return "ajax/illust/\(id)" }
        if let id = body["userId"].number, !body["imageBig"].isNull {
            return "ajax/user/\(id)" + (body["partial"].number == 1 ? "?full" : "")
        }
        if !body["illusts"].isNull, !body["pickup"].isNull {
            return owner(of: body, file: file).map { "ajax/user/\($0)/profile/all" }
        }
        return path(body.elements.first?["urls"]["regular"]).map { "ajax/illust/\($0.work)/pages" }
    }

    /// A list of works does not say whose it is, except in what it advertises: else its file's name must.
    private static func owner(of body: JSON, file: String) -> Int64? {
        for pickup in body["pickup"].children {
            guard let url = pickup["contentUrl"].string, let mark = url.firstRange(of: "creator/") else { continue }
            if let id = Int64(url[mark.upperBound...].prefix(while: \.isNumber)) { return id }
        }
        return Int64((file.split(separator: "/" as Character).last ?? "").split { !$0.isNumber }.last ?? "")
    }

    // MARK: - Works

    /// The parts of an address on any host.
    private static func path(_ url: JSON?) -> PagePath? {
        let prefix = "https://i.pximg.net"
        guard let text = url?.string, text.hasPrefix(prefix) else { return nil }
        return PagePath(text.dropFirst(prefix.count))
    }

    private static func size(_ node: JSON) -> PixelSize? {
        guard let width = node["width"].number, let height = node["height"].number else { return nil }
        return PixelSize(width: max(1, Int(width)), height: max(1, Int(height)))
    }

    /// A work of an address; what no recording told of it is decided here.
    private func work(_ path: PagePath, _ pages: [PixelSize]) -> Post {
        var chance = universe.chance(0xf1, path.work)
        // A place that was never ranked.
        let slot = Slot(day: 0, number: 0, author: 0)
        var work = Post(
            slot: slot, id: path.work, created: path.seconds * 1000, format: chance.oneIn(3) ? .png : .jpg,
            pages: pages, upScore: 0, account: 0)
        work.hash = path.hash
        if path.page == nil { work.flags.insert(.unmarked) }
        return work
    }

    /// Takes in everything below a node: short records, and objects that have an address of a picture, a title and a size.
    private mutating func learn(_ node: JSON) {
        let keys = ["title", "illustType", "url", "userId", "pageCount", "isMasked"]
        if let id = node["id"].number, keys.allSatisfy({ key in node.members.contains { $0.name == key } }) {
            briefs[id] = JSONText(node)
        }
        let urls = node["urls"]
        if let path = Self.path(node["url"]) ?? Self.path(urls["regular"]), let size = Self.size(node),
            let title = node["title"].string ?? node["illustTitle"].string
        {
            // Rankings are right about what differs.
            let isRanked = !node["rank"].isNull
            if isRanked || !titled.contains(path.work) {
                // The service allows 200 pages.
                let count = min(max(1, node["illust_page_count"].number ?? node["pageCount"].number ?? 1), 1000)
                let format = works[path.work]?.format
                var work = work(path, Array(repeating: size, count: Int(count)))
                let kind = node["illust_type"].number ?? node["illustType"].number ?? 0
                work.kind = WorkKind(rawValue: Int(truncatingIfNeeded: kind)) ?? .illustration
                work.format = format ?? work.format
                works[path.work] = work
                if !title.isEmpty { titled.insert(path.work) }
            }
            if let original = Self.path(urls["original"]) { works[path.work]?.format = original.format }
        }
        for child in node.children { learn(child) }
    }

    /// The answer of `/pages`: one element a page, with its size.
    private mutating func learnPages(_ elements: [JSON]) {
        guard let path = Self.path(elements.first?["urls"]["original"]) else { return }
        let sizes = elements.compactMap(Self.size)
        guard sizes.count == elements.count else { return }
        var work = works[path.work] ?? work(path, sizes)
        if sizes.count >= work.pages.count { work.pages = sizes }
        work.format = path.format
        works[path.work] = work
    }
}
