/// The full record of a work, as its page on the service shows it.
package struct WorkDetails: Hashable, Sendable {
    /// A tag with its translations from the service.
    package struct Tag: Hashable, Sendable {
        package var name: String
        /// English, where the service has a translation.
        package var translation: String?
        package var romaji: String?

        package init(name: String, translation: String? = nil, romaji: String? = nil) {
            self.name = name
            self.translation = translation
            self.romaji = romaji
        }
    }

    /// The part of the record that listings contain too.
    package var work: Work
    /// The author's words as plain text with line breaks; empty for none.
    package var caption = ""
    package var tags: [Tag] = []
    /// First upload in Unix seconds.
    package var created: Int64?
    package var bookmarks: Int?
    package var comments: Int?
    /// The age restriction in the service's own word: `all`, `r18`.
    package var restriction = "all"
    /// The name of the series that contains the work.
    package var series: String?
    /// Further fields of the service, under names of their own, in the order of display.
    package var more: [JSON.Member] = []

    package init(work: Work) {
        self.work = work
    }
}

/// The frames of an animation.
package struct AnimationRecord: Hashable, Sendable {
    /// A JPEG in the archive and how long it is shown, in milliseconds.
    package struct Frame: Hashable, Sendable {
        package var file: String
        package var delay: Int

        package init(file: String, delay: Int) {
            self.file = file
            self.delay = delay
        }
    }

    /// The source's reference to the zip archive of the frames, for `location` with the rendition `archive`.
    package var archive: String
    package var frames: [Frame]

    package init(archive: String, frames: [Frame]) {
        self.archive = archive
        self.frames = frames
    }
}

/// The profile of an author, as the service reports it.
package struct AuthorProfile: Hashable, Sendable {
    package var id: UserID
    package var name: String
    /// The source's reference to the author's picture, for `avatar`; nil if there is none.
    package var avatar: String?
    /// The author's words as plain text.
    package var comment: String
    package var following: Int?
    package var webPage: String?
    package var region: String?

    package init(
        id: UserID, name: String, avatar: String? = nil, comment: String = "", following: Int? = nil,
        webPage: String? = nil, region: String? = nil
    ) {
        self.id = id
        self.name = name
        self.avatar = avatar
        self.comment = comment
        self.following = following
        self.webPage = webPage
        self.region = region
    }
}

/// An author with a name.
package struct NamedAuthor: Hashable, Sendable {
    package var id: UserID
    package var name: String

    package init(id: UserID, name: String) {
        self.id = id
        self.name = name
    }
}

extension Work {
    /// An author in the place of a work: with number and name, without an upload.
    package init(_ author: NamedAuthor) {
        self.init(
            id: WorkID(rawValue: author.id.rawValue), title: author.name, author: author.id, authorName: author.name,
            tags: [], kind: .illustration, width: 0, height: 0, pageCount: 1, uploaded: 0, views: nil, ratings: nil,
            picture: author.name, withheld: nil)
    }
}

// MARK: - JSON

extension WorkDetails {
    /// The record as a JSON document; fields that the service does not report are left out.
    ///
    /// - Parameters:
    ///   - pages: The names of the pages' files, in page order.
    ///   - webPage: The page of the work on the service, for people.
    /// - Returns: The document, ending with a line break.
    package func json(pages: [String], webPage: String? = nil) -> String {
        let members: [(name: String, value: JSON?)] = [
            ("id", .integer(work.id.rawValue)),
            ("title", .string(work.title)),
            ("caption", .string(caption)),
            (
                "author",
                // A service that knows artists by name alone has no numbers for them.
                .members([
                    ("id", work.author.rawValue > 0 ? .integer(work.author.rawValue) : nil),
                    ("name", .string(work.authorName)),
                ])
            ),
            ("tags", .array(tags.map(\.json))),
            ("type", .string(work.kind.word)),
            ("width", JSON(positive: work.width)),
            ("height", JSON(positive: work.height)),
            ("page_count", .integer(Int64(work.pageCount))),
            ("pages", .array(pages.map { .string($0) })),
            ("created", JSON(moment: created)),
            ("uploaded", JSON(moment: work.uploaded > 0 ? work.uploaded : nil)),
            ("views", work.views?.coded),
            ("likes", work.ratings?.coded),
            ("bookmarks", bookmarks?.coded),
            ("comments", comments?.coded),
            ("restriction", .string(restriction)),
            ("ai", work.isAI.map { .bool($0) }),
            ("series", JSON(told: series)),
            ("series_id", work.series.map { .integer($0) }),
            ("origin", JSON(told: work.origin)),
            ("url", JSON(told: webPage)),
        ]
        return JSON.members(members + more.map { ($0.name, $0.value) }).document
    }
}

extension WorkDetails.Tag {
    fileprivate var json: JSON {
        .members([
            ("name", .string(name)), ("translation", JSON(told: translation)), ("romaji", JSON(told: romaji)),
        ])
    }
}

extension WorkKind {
    /// The word of the service's other clients for this kind.
    fileprivate var word: String {
        switch self {
        case .illustration: "illust"
        case .manga: "manga"
        case .animation: "ugoira"
        }
    }
}

extension AuthorProfile {
    /// The profile as a JSON document; fields that the service does not report are left out.
    ///
    /// - Parameter webPage: The page of the author on the service, for people; not the author's own, which is `web_page`.
    /// - Returns: The document, ending with a line break.
    package func json(webPage: String) -> String {
        JSON.members([
            ("id", .integer(id.rawValue)),
            ("name", .string(name)),
            ("comment", .string(comment)),
            ("following", following?.coded),
            ("web_page", JSON(told: self.webPage)),
            ("region", JSON(told: region)),
            ("url", JSON(told: webPage)),
        ]).document
    }
}

extension JSON {
    fileprivate init?(told text: String?) {
        guard let text, !text.isEmpty else { return nil }
        self = .string(text)
    }

    /// A number of pixels; nil for 0, which stands for an unknown number.
    fileprivate init?(positive number: Int) {
        guard number > 0 else { return nil }
        self = .integer(Int64(number))
    }

    fileprivate init?(moment seconds: Int64?) {
        guard let text = seconds.flatMap({ Timestamp.text($0) }) else { return nil }
        self = .string(text)
    }
}
