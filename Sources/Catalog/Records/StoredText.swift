import Rankings

/// What a stored text is about.
enum TextKey: Hashable, Sendable {
    /// The full record of a work, as JSON.
    case details(WorkID)
    /// The frames of an animation.
    case animation(WorkID)
    /// A profile, as JSON.
    case profile(UserID)
    /// The reference to an author's picture.
    case avatar(UserID)

    var text: String {
        switch self {
        case .details(let work): "details/\(work.rawValue)"
        case .animation(let work): "animation/\(work.rawValue)"
        case .profile(let author): "profile/\(author.rawValue)"
        case .avatar(let author): "avatar/\(author.rawValue)"
        }
    }
}

/// A text with the times it was asked for and last changed, in Unix seconds.
package struct StoredText: Hashable, Sendable {
    package var text: String
    package var fetched: Int64
    package var changed: Int64

    init(_ text: String, now: Int64) {
        self.init(text: text, fetched: now, changed: now)
    }

    init(text: String, fetched: Int64, changed: Int64) {
        self.text = text
        self.fetched = fetched
        self.changed = changed
    }
}
