/// The name of a ranking, such as `daily` or `daily-manga`.
///
/// Which names there are, and what is true of each, a source's description tells.
package struct RankingMode: RawRepresentable, Hashable, Sendable {
    /// The name as it stands in paths.
    package let rawValue: String

    /// Nil for what is no name of a ranking by its form: anything but lower-case letters, digits, `_` and `-`.
    package init?(rawValue: String) {
        guard (1...Self.longest).contains(rawValue.utf8.count), rawValue.utf8.allSatisfy(Self.isAllowed) else {
            return nil
        }
        self.rawValue = rawValue
    }

    /// Bytes; those known have 16.
    private static let longest = 32

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"),
            UInt8(ascii: "-"):
            true
        default: false
        }
    }
}

// MARK: - Sign in

/// Whether a source acts for a user of the service.
package enum SignIn: Hashable, Sendable {
    case signedOut
    case signedIn(UserID)
    /// The service no longer takes the session: what is stored is served, and everything that needs no account works on.
    case expired(UserID)

    /// Whose session it is, valid or not.
    package var user: UserID? {
        switch self {
        case .signedOut: nil
        case .signedIn(let user), .expired(let user): user
        }
    }
}

// MARK: - Request sharing

/// Whether an answer that another machine was given will do.
package enum RequestSharing {
    /// Set while a person asks the service anew: then none will.
    @TaskLocal package static var isRefused = false
}

// MARK: - Request urgency

/// How urgent what a task asks of the service is.
package enum RequestUrgency {
    /// Whether no person waits: a file manager counts or previews what it shows, a program walks over the tree.
    ///
    /// Such requests wait behind all others and leave half of a burst to them (Semantics, "Folder manners"). Tasks that a task
    /// starts inherit it.
    @TaskLocal package static var isBackground = false
}
