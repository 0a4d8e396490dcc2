/// The name of a ranking, such as `daily` or `daily-manga`.
///
/// The names that exist, and the facts of each, are part of a source's description.
package struct RankingMode: RawRepresentable, Hashable, Sendable {
    /// The name as it appears in paths.
    package let rawValue: String

    /// Creates a mode from its name; nil for anything but lower-case letters, digits, `_` and `-`.
    package init?(rawValue: String) {
        guard (1...Self.longest).contains(rawValue.utf8.count), rawValue.utf8.allSatisfy(Self.isAllowed)
        else { return nil }
        self.rawValue = rawValue
    }

    /// The longest accepted name, in bytes; the longest known name has 16.
    private static let longest = 32

    private static func isAllowed(_ byte: UInt8) -> Bool {
        byte.isDigit || byte.isLetter && byte & 0x20 != 0 || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
    }
}

// MARK: - Sign in

/// Whether a source acts for a user of the service.
package enum SignIn: Hashable, Sendable {
    case signedOut
    case signedIn(UserID)
    /// The service no longer accepts the session; stored data is served, and everything that needs no account works on.
    case expired(UserID)

    /// The user of the session, valid or not.
    package var user: UserID? {
        switch self {
        case .signedOut: nil
        case .signedIn(let user), .expired(let user): user
        }
    }
}

/// The users for whom an answer of the service holds: a part of every name under which an answer or a picture is kept or shared.
///
/// The service returns more to signed-in users in every answer.
package enum AnswerAudience: Hashable, Sendable {
    case everybody
    /// The user of a session, valid or not.
    case user(UserID)
}

// MARK: - Request urgency

/// The urgency of a task's requests to the service; tasks that a task starts inherit it.
package enum RequestUrgency {
    /// Whether no user waits: a file manager counts or previews the entries it shows, or a program walks the tree.
    ///
    /// Such requests queue after all others and leave half of a burst to them (Semantics, "Folder manners").
    @TaskLocal package static var isBackground = false
    /// The beginning of a renewal, in which the user requests new answers from the service: no answer that another machine received is
    /// used then.
    @TaskLocal package static var renewal: ContinuousClock.Instant?
    /// The time that passed between a reader's call and the request, which has as much less for its turn.
    @TaskLocal package static var waited = Duration.zero
}
