import Rankings

extension StatusDocument {
    /// Whose session the mount has; never the session itself.
    struct SignInFigures: Codable, Hashable, Sendable {
        /// `signed_out`, `signed_in` or `expired`.
        var state: String
        /// The user's number.
        var user: Int64?
    }
}

extension StatusDocument.SignInFigures {
    init(_ signIn: SignIn) {
        user = signIn.user?.rawValue
        state =
            switch signIn {
            case .signedOut: "signed_out"
            case .signedIn: "signed_in"
            case .expired: "expired"
            }
    }

    /// Without whose it is.
    var publicPart: Self { Self(state: state) }

    var metrics: [MetricFamily] {
        [
            .gauge(
                "rankfs_signed_in", "1 if the mount has a session that works.", [.init(state == "signed_in" ? 1 : 0)])
        ]
    }

    /// What `rankfs status` shows.
    var summary: [String] {
        guard let user else { return [] }
        return [
            state == "expired"
                ? "  account    the session of \(user) has expired: sign in again with `rankfs login`"
                : "  account    signed in as \(user)"
        ]
    }
}
