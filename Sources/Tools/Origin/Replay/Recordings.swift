import Rankings

/// Recorded answers, found again by what they say themselves, and the works that they name.
struct Recordings: Sendable {
    private struct Page: Hashable {
        let mode: String
        let content: String
        let date: String
        let page: Int64
    }

    private var rankings: [Page: [UInt8]] = [:]
    private var profiles: [Int64: [UInt8]] = [:]
    private var fullProfiles: [Int64: [UInt8]] = [:]
    private var workLists: [Int64: [UInt8]] = [:]
    private var details: [Int64: [UInt8]] = [:]
    private var pages: [Int64: [UInt8]] = [:]
    private var briefs: [Int64: JSONText] = [:]
    private var works = RecordedWorks()
    private let seed: UInt64

    /// Reads every `*.json` below a directory.
    ///
    /// Throws one sentence with cause and remedy.
    init(directory: String, seed: UInt64) throws(OriginError) {
        self.seed = seed
        guard let files = ReplayFiles.below(directory, suffix: ".json") else {
            throw OriginError(message: "\(directory) is no directory of recorded answers: give --replay one that is.")
        }
        for file in files {
            guard let bytes = ReplayFiles.bytes(file), let node = JSON(bytes) else { continue }
            learn(bytes, node, file: file)
            works.learn(node)
            collectBriefs(node)
        }
        works.finish(seed: seed)
    }

    /// The recorded answer, or what the service says where it has nothing; nil for a path that is not the API's.
    func answer(_ request: Request) -> Response? {
        let path = request.path.split(separator: "/" as Character).map { String($0) }
        if path == ["ranking.php"] { return ranking(request) }
        guard path.first == "ajax" else { return nil }
        guard path.count >= 3, let id = Int64(path[2]) else { return .failure("不正なリクエストです。", status: 400) }
        let isFull = request.value("full") == "1"
        let found: [UInt8]? =
            switch [path[1]] + path.dropFirst(3) {
            case ["user"]: isFull ? fullProfiles[id] ?? profiles[id] : profiles[id] ?? fullProfiles[id]
            case ["user", "profile", "all"]: workLists[id]
            case ["user", "profile", "illusts"]: briefRecords(request)
            case ["illust"]: details[id]
            case ["illust", "pages"]: pages[id]
            default: nil
            }
        return found.map(Self.verbatim) ?? .failure("", status: 404)
    }

    /// The picture at a path, if a recording names its work.
    func picture(at path: String) -> Picture? {
        guard let parsed = ServedPath(path), let record = works.found[parsed.work] else { return nil }
        return Picture(record, at: path, parsed: parsed, seed: seed)
    }

    // MARK: -

    private static func verbatim(_ bytes: [UInt8]) -> Response {
        var answer = Response.json(.null)
        answer.body = .bytes(bytes)
        return answer
    }

    private func ranking(_ request: Request) -> Response {
        let mode = request.value("mode") ?? "daily"
        let content = request.value("content").flatMap { $0.isEmpty ? nil : $0 } ?? "all"
        var date = request.value("date").flatMap { $0.isEmpty ? nil : $0 }
        if date == nil {
            date = rankings.keys.filter { $0.mode == mode && $0.content == content }.map(\.date).max()
        }
        let page = request.value("p").map { Int64($0) ?? 0 } ?? 1
        let key = Page(mode: mode, content: content, date: date ?? "", page: page)
        return rankings[key].map(Self.verbatim) ?? RankingRoute.outOfRange
    }

    /// Nobody recorded this answer: its envelope is made here, its records are recorded ones.
    private func briefRecords(_ request: Request) -> [UInt8]? {
        let known = request.values("ids[]").compactMap { text -> (name: String, value: JSONText?)? in
            Int64(text).flatMap { briefs[$0] }.map { (text, $0) }
        }
        let body = JSONText.object([
            ("works", .mapping(known)), ("zoneConfig", .object([])), ("extraData", .object([])),
        ])
        return JSONText.object([("error", false), ("message", ""), ("body", body)]).bytes()
    }

    private mutating func learn(_ bytes: [UInt8], _ node: JSON, file: String) {
        if node["contents"] != nil, let mode = node["mode"]?.string, let date = node["date"]?.string {
            let content = node["content"]?.string ?? "all"
            rankings[Page(mode: mode, content: content, date: date, page: node["page"]?.number ?? 1)] = bytes
            return
        }
        guard let body = node["body"] else { return }
        if let id = body["illustId"]?.number {
            details[id] = bytes
        } else if let id = body["userId"]?.number, body["imageBig"] != nil {
            if body["partial"]?.number == 1 { fullProfiles[id] = bytes } else { profiles[id] = bytes }
        } else if body["illusts"] != nil, body["pickup"] != nil, let id = Self.owner(of: body, file: file) {
            workLists[id] = bytes
        } else if case .array(let elements) = body,
            let url = elements.first?["urls"]?["regular"]?.string, let path = RecordedWorks.path(of: url)
        {
            pages[path.work.rawValue] = bytes
        }
    }

    /// A list of works does not say whose it is, except in what it advertises: else its file's name must.
    private static func owner(of body: JSON, file: String) -> Int64? {
        for pickup in body["pickup"]?.children ?? [] {
            guard let url = pickup["contentUrl"]?.string, let mark = url.range(ofText: "creator/") else { continue }
            if let id = Int64(url[mark...].prefix { $0.isNumber }) { return id }
        }
        let name = file.split(separator: "/" as Character).last ?? ""
        return Int64(name.split { !$0.isNumber }.last ?? "")
    }

    private mutating func collectBriefs(_ node: JSON) {
        let keys = ["title", "illustType", "url", "userId", "pageCount", "isMasked"]
        if let id = node["id"]?.number, keys.allSatisfy({ node[$0] != nil }) {
            briefs[id] = JSONText(node)
        }
        for child in node.children { collectBriefs(child) }
    }
}

extension String {
    /// The index after the first occurrence of a text.
    fileprivate func range(ofText text: String) -> Index? {
        var rest = self[...]
        while !rest.isEmpty {
            if rest.hasPrefix(text) { return rest.index(rest.startIndex, offsetBy: text.count) }
            rest = rest.dropFirst()
        }
        return nil
    }
}
