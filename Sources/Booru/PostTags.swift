/// What a tag tells of a post.
package enum TagKind: String, Hashable, Sendable, CaseIterable {
    case artist
    /// A group of artists.
    case circle
    case copyright
    case character
    /// Whatever shows in the picture, and tags of unknown types.
    case general
    /// About the file or the post.
    case meta
}

/// The tags of a post by kind, each kind in the service's order.
package struct PostTags: Hashable, Sendable {
    private var groups: [TagKind: [String]] = [:]
    private var seen: Set<String> = []

    package init() {}

    /// Adds the tags of a text with blanks between them.
    ///
    /// One that is there already stays what it is, one too long is no tag, those beyond `BooruLimits.tags` are left out.
    package mutating func add(_ text: String, as kind: (String) -> TagKind) {
        for tag in text.split(whereSeparator: \.isWhitespace) {
            guard seen.count < BooruLimits.tags else { return }
            let tag = String(tag)
            guard tag.utf8.count <= BooruLimits.tagBytes, seen.insert(tag).inserted else { continue }
            groups[kind(tag), default: []].append(tag)
        }
    }

    package subscript(kind: TagKind) -> [String] { groups[kind] ?? [] }

    /// All of them, by kind.
    package var all: [String] { TagKind.allCases.flatMap { self[$0] } }

    package func contains(_ tag: String) -> Bool { seen.contains(tag) }
}

// MARK: - Names

extension PostTags {
    /// Tags that say something of artists and are none.
    private static let pseudoArtists: Set<String> = ["banned_artist"]

    /// The artists as people read them, or the circle; empty for none.
    package var artists: String {
        let named = self[.artist].filter { !Self.pseudoArtists.contains($0) }
        return Self.joined(named.isEmpty ? self[.circle] : named)
    }

    /// What a post is called: its characters, copyright and artists; empty if none of them is told.
    ///
    /// Never what shows in the picture: general tags may be words that nobody wants in a directory.
    package var name: String {
        [Self.joined(self[.character]), Self.joined(self[.copyright]), artists].filter { !$0.isEmpty }
            .joined(separator: " - ")
    }

    /// The first tags with blanks for underscores, and how many more there are.
    private static func joined(_ tags: [String]) -> String {
        let shown = tags.lazy.map(readable).filter { !$0.isEmpty }
        let more = shown.count - BooruLimits.namedTags
        return shown.prefix(BooruLimits.namedTags).joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
    }

    /// A tag as people read it, without blanks at its ends.
    package static func readable(_ tag: String) -> String {
        tag.split(separator: "_").joined(separator: " ")
    }
}
