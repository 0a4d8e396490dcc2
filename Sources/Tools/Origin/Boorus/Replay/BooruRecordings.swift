import Dispatch
import Rankings
import Synchronization

/// Recorded posts of a booru, which answer every search.
///
/// ## Concurrency
/// May be used from any thread; digests are found under a lock, once.
final class BooruRecordings: Sendable {
    private let site: ServedSite
    /// In the order of the files, each post once.
    private let posts: [RecordedPost]
    private let digests = Mutex<[OriginDigest: RecordedPost]>([:])

    /// Reads every `*.json` below the directory that the configuration names; nil if it names none.
    ///
    /// Throws one sentence with cause and remedy.
    init?(_ configuration: OriginServer.Configuration, _ site: ServedSite) throws(OriginError) {
        guard let directory = configuration.replay else { return nil }
        guard let files = ReplayFiles.below(directory, suffix: ".json") else {
            throw OriginError(message: "\(directory) is no directory of recorded answers: give --replay one that is.")
        }
        self.site = site
        var known: Set<Int64> = []
        var posts: [RecordedPost] = []
        for file in files {
            guard let bytes = ReplayFiles.bytes(file), let node = JSON(bytes) else { continue }
            for post in Self.posts(node, site: site, seed: configuration.seed)
            where known.insert(post.id).inserted {
                posts.append(post)
            }
        }
        self.posts = posts
    }

    /// The answer to a search, or to one for a number; nil for any other path.
    func answer(_ request: Request) -> Response? {
        let path = request.segments
        if site.isDanbooru, path.count == 2, path[0] == "posts", path[1].hasSuffix(".json") {
            let id = Int64(path[1].dropLast(".json".count))
            guard let record = posts.first(where: { $0.id == id })?.record else { return nil }
            return .rails(record)
        }
        let isPopular = path.first == "explore" || path.last?.hasPrefix("popular_") == true
        guard isPopular || path == [site.isDanbooru ? "posts.json" : "post.json"] else { return nil }
        let found = wanted(request)
        let size = min(max(1, request.value("limit").flatMap { Int($0) } ?? Self.pageSize), Self.mostPosts)
        let page = min(max(1, request.value("page").flatMap { Int($0) } ?? 1), Self.mostPosts)
        let records = found.dropFirst((page - 1) * size).prefix(size).compactMap(\.record)
        guard request.value("api_version") == "2" else { return .rails(.list(records)) }
        return .rails(
            .object([
                ("posts", .list(records)), ("pools", .list([])), ("pool_posts", .list([])), ("tags", .object([])),
            ]))
    }

    /// The picture of a post whose original has a digest.
    func picture(_ rendition: ServedRendition, _ digest: OriginDigest) -> Picture? {
        byDigest()[digest]?.picture(rendition)
    }

    // MARK: -

    private static let pageSize = 40
    private static let mostPosts = 1000

    private static func posts(_ node: JSON, site: ServedSite, seed: UInt64) -> [RecordedPost] {
        if let post = RecordedPost(node, site: site, seed: seed) { return [post] }
        return node.children.flatMap { posts($0, site: site, seed: seed) }
    }

    /// All posts, but for searches by number or digest.
    private func wanted(_ request: Request) -> [RecordedPost] {
        for word in (request.form("tags") ?? "").split(separator: " " as Character) {
            if word.hasPrefix("id:") {
                let ids = word.dropFirst("id:".count).split(separator: "," as Character).compactMap { Int64($0) }
                return posts.filter { ids.contains($0.id) }
            }
            if word.hasPrefix("md5:") {
                return OriginDigest(hex: word.dropFirst("md5:".count)).flatMap { byDigest()[$0] }.map { [$0] } ?? []
            }
        }
        return posts
    }

    private func byDigest() -> [OriginDigest: RecordedPost] {
        digests.withLock { digests in
            if digests.isEmpty {
                DispatchQueue.concurrentPerform(iterations: posts.count) { _ = posts[$0].digest }
                for post in posts {
                    if let digest = post.digest { digests[digest] = post }
                }
            }
            return digests
        }
    }
}
