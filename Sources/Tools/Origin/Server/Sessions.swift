import Rankings
import Synchronization

/// Decides whose session a cookie is.
///
/// ## Concurrency
/// Called from any thread; the one thing that changes is an atomic.
final class Sessions: Sendable {
    private let isExpired = Atomic(false)

    /// Makes all sessions invalid, or valid again.
    func setExpired(_ expired: Bool) {
        isExpired.store(expired, ordering: .sequentiallyConsistent)
    }

    /// Who sent a value of PHPSESSID: `<user>_<secret>`, with a user who exists and a secret of letters and digits.
    func viewer(_ session: String?, _ universe: Universe) -> Viewer {
        guard let session else { return .anonymous }
        let parts = session.split(separator: "_" as Character, maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let number = Int64(parts[0]), parts[0].utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            parts[1].utf8.count >= Self.shortestSecret,
            parts[1].unicodeScalars.allSatisfy({ $0.isASCII && $0.properties.isAlphabetic || "0"..."9" ~= $0 }),
            universe.authors.slots(of: UserID(rawValue: number)) != nil,
            !isExpired.load(ordering: .sequentiallyConsistent)
        else { return .rejected }
        return .signedIn(UserID(rawValue: number))
    }

    /// The value of PHPSESSID in a Cookie header (RFC 6265, section 4.2.1); nil if it has none.
    static func session(inCookie header: String?) -> String? {
        for pair in (header ?? "").split(separator: ";" as Character) {
            let pair = pair.drop { $0 == " " }
            if pair.hasPrefix(name) { return String(pair.dropFirst(name.count)) }
        }
        return nil
    }

    /// Whether an account is set to English, as one in ten is: without `lang` the service refuses it what it asks for.
    static func isEnglish(_ user: UserID) -> Bool { user.rawValue % 10 == 1 }

    private static let name = "PHPSESSID="
    /// Far shorter than the service's own, which have 32.
    private static let shortestSecret = 8
}
