import Glibc
package import Rankings

/// What a check of the way to the service asks for.
extension PixivSource {
    /// Where the service is.
    package static let apiURL = "https://www.pixiv.net"
    /// Where its pictures are.
    package static let imageURL = "https://i.pximg.net"
    /// Path and query of the newest daily ranking, which everybody may see.
    package static let plainRanking = "/ranking.php?format=json&mode=daily&p=1"
    /// The header that both hosts expect.
    package static let referer = WebAPI.referer
}

/// What a file that may hold a session turns out to be.
package enum SessionExamination: Hashable, Sendable {
    case missing
    /// Others may read it, so that it is not used.
    case exposed
    /// Why it is not used: `is no cookie file; …`.
    case unusable(String)
    case usable(UserID)
}

extension SessionFile {
    /// Looks at a file as a mount would, without keeping its cookie.
    ///
    /// - Parameters:
    ///   - place: The file and its rules.
    ///   - host: The API's host.
    ///   - now: Unix seconds.
    /// - Returns: What it is.
    package static func examine(_ place: SessionPlace, host: String, now: Int64) -> SessionExamination {
        var status = stat()
        guard unsafe stat(place.path, &status) == 0 else { return .missing }
        if place.mustBePrivate, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 != 0 { return .exposed }
        do throws(SessionProblem) {
            return .usable(try read(place, host: host, now: now).user)
        } catch { return .unusable(error.reason) }
    }
}
