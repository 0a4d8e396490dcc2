extension WorkDetails {
    /// The record as a JSON document; what the service does not tell is left out.
    ///
    /// - Parameters:
    ///   - pages: The names of the pages' files, in page order.
    ///   - webPage: The page of the work on the service, for people.
    /// - Returns: The document, ending with a line break.
    package func json(pages: [String], webPage: String? = nil) -> String {
        let members: [(name: String, value: JSONText?)] = [
            ("id", .integer(work.id.rawValue)),
            ("title", .text(work.title)),
            ("caption", .text(caption)),
            (
                "author",
                // A service that knows artists by name alone has no numbers for them.
                .object([
                    ("id", work.author.rawValue > 0 ? .integer(work.author.rawValue) : nil),
                    ("name", .text(work.authorName)),
                ])
            ),
            ("tags", .list(tags.map(\.json))),
            ("type", .text(work.kind.word)),
            ("width", JSONText(positive: work.width)),
            ("height", JSONText(positive: work.height)),
            ("page_count", .integer(Int64(work.pageCount))),
            ("pages", .list(pages.map { .text($0) })),
            ("created", JSONText(moment: created)),
            ("uploaded", JSONText(moment: work.uploaded > 0 ? work.uploaded : nil)),
            ("views", JSONText(count: work.views)),
            ("likes", JSONText(count: work.ratings)),
            ("bookmarks", JSONText(count: bookmarks)),
            ("comments", JSONText(count: comments)),
            ("restriction", .text(restriction)),
            ("ai", work.isAI.map { .flag($0) }),
            ("series", JSONText(told: series)),
            ("origin", JSONText(told: work.origin)),
            ("url", JSONText(told: webPage)),
        ]
        return JSONText.object(members + more.map { ($0.name, JSONText($0.value)) }).document
    }
}

extension WorkDetails.Tag {
    fileprivate var json: JSONText {
        .object([
            ("name", .text(name)), ("translation", JSONText(told: translation)), ("romaji", JSONText(told: romaji)),
        ])
    }
}

extension WorkKind {
    /// What the service's other clients call it.
    fileprivate var word: String {
        switch self {
        case .illustration: "illust"
        case .manga: "manga"
        case .animation: "ugoira"
        }
    }
}

extension AuthorProfile {
    /// The profile as a JSON document; what the service does not tell is left out.
    ///
    /// - Parameter webPage: The page of the author on the service, for people; not the author's own, which is `web_page`.
    /// - Returns: The document, ending with a line break.
    package func json(webPage: String) -> String {
        JSONText.object([
            ("id", .integer(id.rawValue)),
            ("name", .text(name)),
            ("comment", .text(comment)),
            ("following", JSONText(count: following)),
            ("web_page", JSONText(told: self.webPage)),
            ("region", JSONText(told: region)),
            ("url", JSONText(told: webPage)),
        ]).document
    }
}

extension JSONText {
    fileprivate init?(told text: String?) {
        guard let text, !text.isEmpty else { return nil }
        self = .text(text)
    }

    fileprivate init?(count: Int?) {
        guard let count else { return nil }
        self = .integer(Int64(count))
    }

    /// Pixels, which are 0 where they are not told.
    fileprivate init?(positive number: Int) {
        guard number > 0 else { return nil }
        self = .integer(Int64(number))
    }

    fileprivate init?(moment seconds: Int64?) {
        guard let text = seconds.flatMap({ Timestamp.text($0) }) else { return nil }
        self = .text(text)
    }
}
