import CLinux
import Glibc
import Rankings
import Sourcing

/// Looks at what belongs to the user: configuration, session, thumbnails.
enum UserProbe {
    static func configuration(
        path: String?, mistake: String?, warnings: [String], settings: Settings
    ) -> Finding.ConfigurationLook {
        var status = stat()
        let isThere = path.map { unsafe stat($0, &status) == 0 } ?? false
        return Finding.ConfigurationLook(
            path: path, mode: isThere ? status.st_mode & 0o777 : nil, mistake: mistake, warnings: warnings,
            hasPassword: settings.proxy?.hasUserInfo ?? false)
    }

    /// The files that may hold a session, each looked at as a mount does.
    ///
    /// - Parameters:
    ///   - settings: They may name a file.
    ///   - source: Whose session.
    ///   - home: Where the others are.
    ///   - hasExpired: Whether a mount says so of the session.
    /// - Returns: One finding a file, or that there is none; nothing for a source without accounts.
    static func session(_ settings: Settings, source: SourceName, home: Home, hasExpired: Bool) -> [Finding] {
        guard let accounts = source.plugIn.accounts else { return [] }
        let files = SessionFiles(settings, source: source, home: home)
        var looks: [(path: String, look: Finding.SessionLook)] = []
        var missing: String?
        for place in files.places {
            switch accounts.examine(place, host: files.host, now: WallClock.now()) {
            case .missing: if place.path == settings.cookies { missing = place.path }
            case .usable(let user): looks.append((place.path, .usable(user: user.rawValue)))
            case .exposed: looks.append((place.path, .exposed))
            case .unusable(let reason): looks.append((place.path, .unusable(reason)))
            }
        }
        return Finding.session(looks, missing: missing, hasExpired: hasExpired)
    }

    static func thumbnails(_ settings: Settings, home: Home) -> Finding {
        .thumbnails(home.thumbnailDirectory ?? "", thumbnailLook(settings, home: home))
    }

    /// What is to be said of the user's store of thumbnails.
    static func thumbnailLook(_ settings: Settings, home: Home) -> Finding.ThumbnailLook {
        guard settings.makesThumbnails, let path = home.thumbnailDirectory else { return .off }
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return .missing }
        guard status.st_uid == geteuid() else { return .foreign }
        return unsafe access(path, W_OK | X_OK) == 0 ? .usable : .unwritable
    }
}
