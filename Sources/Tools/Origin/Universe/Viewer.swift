import Rankings

/// Who asks.
enum Viewer: Hashable, Sendable {
    case anonymous
    /// Somebody with a session that does not count, or no longer.
    case rejected
    case signedIn(UserID)

    /// Whether what is for signed-in users may be shown.
    var isSignedIn: Bool {
        user != nil
    }

    /// The user signed in.
    var user: UserID? {
        if case .signedIn(let user) = self { user } else { nil }
    }
}
