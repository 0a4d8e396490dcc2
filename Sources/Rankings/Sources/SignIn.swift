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
