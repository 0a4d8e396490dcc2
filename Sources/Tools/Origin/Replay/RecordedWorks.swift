import Rankings

/// Recorded answers of pixiv, found by their contents; the pictures that they name are drawn for any path.
struct RecordedWorks: Sendable {
    private let universe: Universe
    /// The answers by path, with a suffix where several share a path.
    private var answers: [String: [UInt8]] = [:]
    private var briefs: [Int64: JSON] = [:]

    /// Reads every `*.json` below a directory.
    ///
    /// Throws one sentence with cause and remedy.
    init(directory: String, _ universe: Universe) throws(Failure) {
        self.universe = universe
        for (path, bytes, node) in try RecordedFiles.answers(below: directory) {
            if let key = Self.key(of: node, file: path) { answers[key] = bytes }
            learn(node)
        }
    }

    /// The recorded answer, or the service's answer to an unknown request; nil for a path that is not the API's.
    func answer(_ request: Request) -> Response? {
        let path = request.segments
        if path == ["ranking.php"] { return ranking(request) }
        guard path.first == "ajax" else { return nil }
        if path.count == 5, path[1] == "user", path.suffix(2) == ["profile", "illusts"] {
            return briefRecords(request)
        }
        var keys = [path.joined(separator: "/")]
        if path.count == 3 { keys.insert(keys[0] + "?full", at: request.value("full") == "1" ? 0 : 1) }
        return keys.lazy.compactMap { answers[$0] }.first.map(Self.verbatim) ?? .failure("", status: 404)
    }

    /// The picture at a path of a work; facts that the path does not contain are drawn at random.
    func picture(at path: String) -> Picture? {
        universe.picture(at: path) { path in
            guard (path.page ?? 0) < 1000 else { return nil }
            var chance = universe.chance(0xf1, path.work)
            let pages = Array(repeating: Universe.pixels(path.format, &chance), count: (path.page ?? 0) + 1)
            // A slot that was never ranked.
            var work = Post(
                slot: Slot(day: 0, number: 0, author: 0), id: path.work, created: path.seconds * 1000,
                kind: path.isAnimation ? .animation : .illustration, format: path.format, pages: pages, upScore: 0,
                account: 0)
            work.hash = path.hash
            if path.page == nil { work.flags.insert(.unmarked) }
            return work
        }
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
        // Without a date, the newest ranking is returned.
        let newest = answers.keys.filter { $0.hasPrefix(ranking) }.max() ?? ""
        let date = value("date") ?? newest.dropFirst(ranking.count).prefix(8).description
        return answers["\(ranking)\(date) \(value("p") ?? "1")"].map(Self.verbatim) ?? Response.outOfRange
    }

    /// A generated envelope around recorded records, since this answer was not recorded.
    private func briefRecords(_ request: Request) -> Response {
        let known: Members = request.query.filter { $0.name == "ids[]" }.compactMap { name, text in
            Int64(text).flatMap { briefs[$0] }.map { (text, $0) }
        }
        return .envelope(Shapes.fill("works", ["works": .mapping(known), "furniture": .members([])]))
    }

    /// Adds every short record below a node.
    private mutating func learn(_ node: JSON) {
        let keys = ["title", "illustType", "url", "userId", "pageCount", "isMasked"]
        if let id = node["id"].number, keys.allSatisfy({ key in node.members.contains { $0.name == key } }) {
            briefs[id] = node
        }
        for child in node.children { learn(child) }
    }

    /// The path for which a node is the recorded answer.
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
            // A list of works does not name its user, except in its advertisement: otherwise the file's name must.
            let urls = body["pickup"].children.compactMap { $0["contentUrl"].string }
            let advertised = urls.lazy.compactMap { url in url.firstRange(of: "creator/").map { url[$0.upperBound...] }
            }
            let name = (file.split(separator: "/" as Character).last ?? "").split { !$0.isNumber }.last
            return (advertised.first?.prefix(while: \.isNumber) ?? name).map { "ajax/user/\($0)/profile/all" }
        }
        let page = body.elements.first?["urls"]["regular"].string?.dropFirst("https://i.pximg.net".count)
        return page.flatMap { PagePath($0) }.map { "ajax/illust/\($0.work)/pages" }
    }
}
