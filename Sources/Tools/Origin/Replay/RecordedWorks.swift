import Rankings

/// The works that recorded answers name, put together from whatever each answer tells of them.
struct RecordedWorks: Sendable {
    /// By number, once `finish` was called.
    private(set) var found: [WorkID: WorkRecord] = [:]
    private var pageSizes: [WorkID: [PixelSize]] = [:]
    private var formats: [WorkID: ServedFormat] = [:]

    /// Takes in everything below a node.
    mutating func learn(_ node: JSON) {
        learnWork(node)
        if case .array(let elements) = node { learnPages(elements) }
        for child in node.children { learn(child) }
    }

    /// Decides what no recording told.
    mutating func finish(seed: UInt64) {
        for id in found.keys {
            if let sizes = pageSizes[id], let count = found[id]?.pages.count, sizes.count >= count {
                found[id]?.pages = sizes
            }
            var chance = Chance(seed, 0xf1, UInt64(bitPattern: id.rawValue))
            found[id]?.format = formats[id] ?? (chance.oneIn(3) ? .png : .jpg)
        }
    }

    /// The path of a picture's address on any host.
    static func path(of url: String) -> ServedPath? {
        let prefix = "https://i.pximg.net"
        return url.hasPrefix(prefix) ? ServedPath(url.dropFirst(prefix.count)) : nil
    }

    // MARK: -

    /// An object that has an address of a picture, a title and a size.
    private mutating func learnWork(_ node: JSON) {
        let urls: JSON? = node["urls"]
        guard let url = node["url"]?.string ?? urls?["regular"]?.string, let path = Self.path(of: url),
            let title = (node["title"] ?? node["illustTitle"])?.string,
            let width = node["width"]?.number, let height = node["height"]?.number
        else { return }
        if let original = urls?["original"]?.string, case .original(let format)? = Self.path(of: original)?.kind {
            formats[path.work] = format
        }
        let rank = node["rank"]?.number
        if let known = found[path.work], !known.title.isEmpty, rank == nil { return }
        let count = max(1, (node["illust_page_count"] ?? node["pageCount"])?.number ?? 1)
        let page = PixelSize(width: max(1, Int(width)), height: max(1, Int(height)))
        found[path.work] = WorkRecord(
            id: path.work, title: title, author: UserID(rawValue: (node["user_id"] ?? node["userId"])?.number ?? 0),
            authorName: (node["user_name"] ?? node["userName"])?.string ?? "", tags: [],
            kind: WorkKind(rawValue: Int((node["illust_type"] ?? node["illustType"])?.number ?? 0)) ?? .illustration,
            pages: Array(repeating: page, count: Int(min(count, Self.maximumPages))), uploaded: path.time,
            displayed: path.time, hash: path.hash, hasPageMark: path.page != nil, format: .jpg, views: 0, ratings: 0,
            isOriginal: false, isMasked: false, series: nil, debut: rank.map { Int($0) })
    }

    /// The service allows 200 pages.
    private static let maximumPages: Int64 = 1000

    /// The answer of `/pages`: one element a page, with its size.
    private mutating func learnPages(_ elements: [JSON]) {
        var sizes: [PixelSize] = []
        var work: WorkID?
        for element in elements {
            guard let url = element["urls"]?["original"]?.string, let path = Self.path(of: url),
                let width = element["width"]?.number, let height = element["height"]?.number,
                work == nil || work == path.work
            else { return }
            work = path.work
            sizes.append(PixelSize(width: max(1, Int(width)), height: max(1, Int(height))))
            if case .original(let format) = path.kind { formats[path.work] = format }
            guard found[path.work] == nil else { continue }
            found[path.work] = WorkRecord(
                id: path.work, title: "", author: UserID(rawValue: 0), authorName: "", tags: [], kind: .illustration,
                pages: [sizes[0]], uploaded: path.time, displayed: path.time, hash: path.hash,
                hasPageMark: path.page != nil, format: .jpg, views: 0, ratings: 0, isOriginal: false, isMasked: false,
                series: nil)
        }
        if let work, sizes.count > (pageSizes[work]?.count ?? 0) { pageSizes[work] = sizes }
    }
}
