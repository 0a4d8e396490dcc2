import Rankings
import Sourcing

/// What the pages of a day say of a board.
struct DayJudgement {
    let engine: any BooruEngine
    /// The rating that was asked for.
    let step: RatingScale.Step
    let hosts: PictureHosts
    /// The day that was asked for, in Unix seconds.
    let moments: Range<Int64>

    /// The longest original that is asked for whole, in bytes: of a page of a hundred some are shorter.
    static let longest: Int64 = 8 << 20

    /// The entries of an answer; nil for one that has no list.
    private func entries(in answer: Result<JSON, SourceError>) -> [PostEntry]? {
        guard case .success(let json) = answer else { return nil }
        return try? engine.entries(in: json, hosts: hosts)
    }

    /// The posts of an answer, as far as they are understood; nil for one that has no list.
    func posts(in answer: Result<JSON, SourceError>) -> [BooruPost]? {
        entries(in: answer)?.compactMap(\.post)
    }

    /// The post with the shortest original among those that everybody sees, those with a sample first.
    func example(in answer: Result<JSON, SourceError>) -> BooruPost? {
        let fitting = (posts(in: answer) ?? []).filter { post in
            guard let files = post.files, post.withheld == nil, post.rating.map({ $0 <= step.rating }) == true,
                let size = files.original.size
            else { return false }
            return size <= Self.longest
        }
        let sampled = fitting.filter { $0.files?.sample != nil }
        return (sampled.isEmpty ? fitting : sampled).min {
            ($0.files?.original.size ?? 0) < ($1.files?.original.size ?? 0)
        }
    }

    // MARK: - The first page

    func assumptions(of answer: Result<JSON, SourceError>) -> [Assumption] {
        let name = "list of a day"
        let json: JSON
        switch answer {
        case .failure(let error): return [.failed(name, error)]
        case .success(let found): json = found
        }
        guard let entries = entries(in: answer) else {
            return [Assumption(name, .changed, "the answer has no list of posts")]
        }
        let posts = entries.compactMap(\.post)
        let isList = !posts.isEmpty && entries.count <= engine.postsPerPage
        let first = Assumption(
            name, holds: isList, "\(entries.count) entries, \(engine.postsPerPage) at most were asked for")
        guard !posts.isEmpty else { return [first] }
        let fields = engine.fields(of: json).map { kind in
            kind.objects.isEmpty
                ? Assumption(kind.name, .unknown, "there is none") : kind.list.compare(kind.name, with: kind.objects)
        }
        return [first] + fields + [
            understood(entries), told(posts), addresses(posts), rating(posts), day(posts), order(posts),
        ]
    }

    private func understood(_ entries: [PostEntry]) -> Assumption {
        let strange = entries.count { $0 == .unreadable }
        return Assumption(
            "posts that are understood", holds: strange == 0, "\(entries.count - strange) of \(entries.count)")
    }

    private func told(_ posts: [BooruPost]) -> Assumption {
        let told = posts.count { $0.files != nil }
        let all = told + posts.count { $0.withheld == Withholding.unproven }
        return Assumption(
            "size and MD5 of originals", holds: told == all && told > 0, "told of \(told) of \(all)")
    }

    private func addresses(_ posts: [BooruPost]) -> Assumption {
        let strange = posts.count { $0.withheld == Withholding.elsewhere }
        let hidden = posts.count { $0.withheld != nil && $0.withheld != Withholding.unproven } - strange
        return Assumption(
            "hosts of originals", holds: strange == 0,
            "\(posts.count - strange - hidden) on known ones, \(strange) elsewhere, \(hidden) without an address")
    }

    private func rating(_ posts: [BooruPost]) -> Assumption {
        let unknown = posts.count { $0.rating == nil }
        let milder = posts.count { post in post.rating.map { $0 <= step.rating } == true }
        return Assumption(
            "rating of what was asked for", holds: milder == posts.count,
            "\(milder) of \(posts.count) are \(step.word) as asked for"
                + (unknown > 0 ? ", \(unknown) have an unknown letter" : ""))
    }

    private func day(_ posts: [BooruPost]) -> Assumption {
        let inside = posts.count { post in post.created.map { moments.contains($0) } == true }
        return Assumption(
            "day of the posts", holds: inside == posts.count,
            "\(inside) of \(posts.count) were made on the day asked for")
    }

    private func order(_ posts: [BooruPost]) -> Assumption {
        let scores = posts.compactMap(\.score)
        let isFalling = zip(scores, scores.dropFirst()).allSatisfy { $0 >= $1 }
        return Assumption(
            "order by score", holds: isFalling && scores.count == posts.count,
            scores.count < posts.count
                ? "\(posts.count - scores.count) posts tell no score"
                : isFalling ? "the best are first" : "worse posts come before better ones")
    }

    // MARK: - Further pages

    /// What the second page says: a full page has posts behind it that were not on it, one that is far from full has none.
    func further(after first: Result<JSON, SourceError>, _ second: Result<JSON, SourceError>) -> Assumption {
        let name = "second page"
        let before = entries(in: first) ?? []
        let posts: [BooruPost]
        switch second {
        case .failure(.pastTheEnd): posts = []
        case .failure(let error): return .failed(name, error)
        case .success:
            guard let found = self.posts(in: second) else {
                return Assumption(name, .changed, "the answer has no list of posts")
            }
            posts = found
        }
        let known = Set(before.compactMap { $0.post?.id })
        let repeated = posts.count { known.contains($0.id) }
        guard repeated == 0 else {
            return Assumption(name, .changed, "\(repeated) of its \(posts.count) posts were on the first")
        }
        let mayGoOn = before.count * 2 >= engine.postsPerPage
        return Assumption(
            name, holds: mayGoOn || posts.isEmpty,
            posts.isEmpty
                ? "it is empty, after \(before.count) entries"
                : "\(posts.count) further posts, after \(before.count) entries")
    }

    /// What a page says that is far behind the last.
    func end(_ answer: Result<JSON, SourceError>) -> Assumption {
        let name = "page behind the last"
        switch answer {
        case .failure(.pastTheEnd): return Assumption(name, .kept, "it is refused as one")
        case .failure(let error): return .failed(name, error)
        case .success:
            guard let entries = entries(in: answer) else {
                return Assumption(name, .changed, "the answer has no list of posts")
            }
            return Assumption(
                name, holds: entries.isEmpty, entries.isEmpty ? "it is empty" : "it has \(entries.count) entries")
        }
    }
}

/// What a post's record says, held against what the list told.
struct PostRecordJudgement {
    let engine: any BooruEngine
    let hosts: PictureHosts
    let post: BooruPost

    func assumptions(of answer: Result<JSON, SourceError>) -> [Assumption] {
        let name = "record of a post"
        let json: JSON
        switch answer {
        case .failure(let error): return [.failed(name, error)]
        case .success(let found): json = found
        }
        guard let record = try? engine.record(in: json, hosts: hosts).entry.post, record.id == post.id else {
            return [Assumption(name, .changed, "it is not understood, or that of another post")]
        }
        let isSame = record.files == post.files
        return [
            Assumption(name, .kept, "it is understood"),
            Assumption(
                "files in the record", holds: isSame, isSame ? "those of the list" : "others than those of the list"),
        ]
    }
}
