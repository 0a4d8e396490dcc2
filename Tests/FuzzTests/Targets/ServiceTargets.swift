import Rankings

@testable import Pixiv

/// Answers of the service.
extension FuzzTarget {
    static let service: [FuzzTarget] = [
        FuzzTarget(name: "ranking", longest: 16_384, seeds: payloads(["web-ranking", "web-ranking-error"])) { bytes in
            guard let root = try? JSONReader.read(bytes) else { return }
            for (name, page) in [("daily", 1), ("daily", 2), ("daily_ai", 1), ("weekly-manga", 1)] {
                guard let mode = RankingMode(rawValue: name),
                    let answer = try? ListAnswers.ranking(of: root, mode: mode, day: nil, page: page)
                else { continue }
                let told = root["contents"].elements.count
                try hold(answer.entries.count + answer.unreadable <= told, "a page has more entries than were told")
                let ranks = answer.entries.compactMap(\.rank)
                try hold(ranks.count == answer.entries.count, "an entry of a ranking has no rank")
                try hold(zip(ranks, ranks.dropFirst()).allSatisfy { $0 < $1 }, "ranks are not in order")
                try hold(ranks.allSatisfy { (1...99_999).contains($0) }, "a rank is out of bounds")
                for entry in answer.entries { try holdWork(entry.work) }
            }
        },
        FuzzTarget(
            name: "record", longest: 16_384,
            seeds: payloads(["ajax-illust", "ajax-illust-pages", "ajax-ugoira-meta", "ajax-error"])
        ) { bytes in
            guard let root = try? JSONReader.read(bytes), let body = try? Envelope.body(of: root) else { return }
            let id = WorkID(rawValue: body["id"].number ?? body["illustId"].number ?? recordedWork)
            if let details = try? WorkAnswers.details(body, of: id) {
                try holdWork(details.work)
                try hold(details.tags.count <= 64, "more tags than are kept")
                let document = details.json(pages: ["p0.jpg"], webPage: "https://www.pixiv.net/artworks/1")
                guard let read = try? JSONReader.read(Array(document.utf8)) else {
                    throw BrokenProperty(description: "info.json is no JSON")
                }
                try hold(read["title"].text == details.work.title, "info.json tells another title")
            }
            for work in [id, WorkID(rawValue: recordedWork)] {
                if let pages = try? AuthorAnswers.originals(body, of: work) {
                    try hold(pages.count == body.elements.count, "pages were lost or invented")
                    try hold(pages.allSatisfy { $0?.work ?? work == work }, "a page is another work's")
                    for (page, path) in pages.enumerated() {
                        if let path { try holdPath(path, page: page) }
                    }
                }
                if let animation = try? WorkAnswers.animation(body, of: work) {
                    try hold(animation.frames.count <= body["frames"].elements.count, "frames were invented")
                    try hold(animation.frames.count <= 2000, "more frames than any animation has")
                    try hold(
                        animation.frames.allSatisfy { (0...600_000).contains($0.delay) }, "a delay is out of bounds")
                    try hold(ArchivePath(reference: animation.archive)?.work == work, "the archive is another work's")
                }
            }
        },
        FuzzTarget(
            name: "lists", longest: 16_384,
            seeds: payloads([
                "ajax-user", "ajax-user-bookmarks", "ajax-user-following", "ajax-user-illusts-tag",
                "ajax-user-profile-all", "ajax-user-works-latest", "ajax-search-artworks", "ajax-follow-latest",
                "ajax-series", "ajax-illust-recommend-init", "ajax-collection",
            ])
        ) { bytes in
            guard let root = try? JSONReader.read(bytes), let body = try? Envelope.body(of: root) else { return }
            try holdAuthors(body)
            for list in [ListingPage(list: body), ListingPage(search: body), try? AuthorAnswers.works(body)] {
                guard let list else { continue }
                try hold(Set(list.works.map(\.id)).count == list.works.count, "a work is listed twice")
                for work in list.works { try holdWork(work) }
            }
            for page in 1...3 {
                for answer in [
                    try? ListAnswers.search(body, page: page), try? ListAnswers.works(body, page: page),
                    try? ListAnswers.series(body, page: page), try? ListAnswers.feed(body, page: page),
                    try? ListAnswers.related(body), try? ListAnswers.collection(body),
                ] {
                    guard let answer else { continue }
                    try hold((answer.total ?? 0) >= 0 && (answer.lastPage ?? 0) >= 0, "a count is negative")
                }
                if let authors = try? ListAnswers.following(body, page: page).authors {
                    try hold(authors.count <= body["users"].elements.count, "authors were invented")
                    try hold(Set(authors.map(\.id)).count == authors.count, "an author is listed twice")
                }
            }
        },
    ]

    /// The work of most recorded answers that do not tell their own.
    private static let recordedWork: Int64 = 97_973_029

    private static func payloads(_ kinds: [String]) -> [String] { kinds.map { "PixivTests/Payloads/\($0)" } }

    private static func holdAuthors(_ body: JSON) throws {
        if let works = try? AuthorAnswers.allWorks(body) {
            try hold(works.allSatisfy { $0.rawValue > 0 }, "a work's number is not positive")
            try hold(
                zip(works, works.dropFirst()).allSatisfy { $0.rawValue > $1.rawValue }, "works are not newest first")
        }
        guard let id = body["userId"].number, let profile = try? AuthorAnswers.profile(body, of: UserID(rawValue: id))
        else { return }
        try hold((profile.following ?? 0) >= 0, "a count is negative")
        if let avatar = profile.avatar {
            try hold(AvatarPath(reference: avatar) != nil, "an avatar cannot be asked for")
        }
        try hold(
            (try? JSONReader.read(Array(profile.json(webPage: "https://www.pixiv.net/users/1").utf8))) != nil,
            "profile.json is no JSON")
    }

    /// What every work promises to those who keep and show it.
    private static func holdWork(_ work: Work) throws {
        try hold(work.id.rawValue > 0 && work.author.rawValue >= 0, "a number is not positive")
        try hold(work.title.utf8.count <= 4096 && work.authorName.utf8.count <= 4096, "a text is too long")
        try hold(work.tags.count <= 64, "more tags than are kept")
        try hold((0...1_000_000).contains(work.width), "a width is out of bounds")
        try hold((0...1_000_000).contains(work.height), "a height is out of bounds")
        try hold((1...1000).contains(work.pageCount), "a count of pages is out of bounds")
        try hold((work.views ?? 0) >= 0 && (work.ratings ?? 0) >= 0, "a count is negative")
        try hold((work.withheld == nil) != work.picture.isEmpty, "withheld and shown at once, or neither")
        if !work.picture.isEmpty {
            guard let path = PicturePath(reference: work.picture), path.work == work.id else {
                throw BrokenProperty(description: "the picture is another work's")
            }
            try holdPath(path, page: 0)
        }
        try holdName(FileName.work(work.id, title: work.title, fileExtension: "jpg"))
        try holdName(FileName.author(work.author, name: work.authorName))
    }

    /// A path on the image host is one of its own, whatever the answer said.
    static func holdPath(_ path: PicturePath, page: Int) throws {
        let paths = [path.regularPath(page: page), path.smallPath(page: page), path.originalPath(page: page)]
        for path in paths.compactMap(\.self) {
            try hold(path.hasPrefix("/img-") || path.hasPrefix("/c/480x960/img-"), "\(path) is elsewhere")
            try hold(
                path.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"%?#\\".utf8.contains($0) },
                "\(path) is no plain path")
            try hold(!path.contains("..") && !path.contains("//"), "\(path) leads elsewhere")
        }
    }
}
