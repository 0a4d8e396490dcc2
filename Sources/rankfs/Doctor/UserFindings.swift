import CLinux
import Glibc
import Rankings
import Sourcing

/// The findings on the user's configuration, session and thumbnails.
extension Finding {
    /// The state of the configuration.
    struct ConfigurationLook: Hashable, Sendable {
        /// Nil if there is no home directory.
        var path: String?
        /// The permissions; nil if the file does not exist.
        var mode: UInt32?
        /// The reason why it cannot be used, one sentence per line.
        var mistake: String?
        /// The variables that name no option, one sentence each.
        var warnings: [String] = []
        /// Whether it names a proxy with a password.
        var hasPassword = false
    }

    static func configuration(_ look: ConfigurationLook) -> [Finding] {
        let subject = "configuration"
        let shown = LogText.escaped(look.path ?? "rankfs.conf")
        var findings = (look.mistake ?? "").split(separator: "\n").map { Finding.wrong(subject, String($0)) }
        if let mode = look.mode, mode & 0o022 != 0 {
            findings.append(
                .wrong(
                    subject, "others may change \(shown): `chmod go-w` it.",
                    repair: look.path.map { .protect(file: $0, from: Repair.writing) }))
        }
        if let mode = look.mode, mode & 0o044 != 0, look.hasPassword {
            findings.append(
                .wrong(
                    subject, "others may read the proxy's password in \(shown): `chmod go=` it.",
                    repair: look.path.map { .protect(file: $0, from: Repair.all) }))
        }
        findings += look.warnings.map { .note(subject, $0) }
        guard findings.isEmpty else { return findings }
        return [.ok(subject, look.mode == nil ? "there is no \(shown); defaults count." : "\(shown) is in order.")]
    }

    /// The state of a file that may hold a session.
    enum SessionLook: Hashable, Sendable {
        /// A session of the user with this ID.
        case usable(user: Int64)
        /// Other users may read the file.
        case exposed
        /// Not used, with the reason: `is no cookie file; …`.
        case unusable(String)
    }

    /// The findings on the session.
    ///
    /// - Parameters:
    ///   - files: The existing files, in order of precedence.
    ///   - missing: The file that the option `cookies` names, if it does not exist.
    ///   - hasExpired: Whether a mount reports that the service refuses the session.
    /// - Returns: One finding per file, or one that there is no session.
    static func session(_ files: [(path: String, look: SessionLook)], missing: String?, hasExpired: Bool) -> [Finding] {
        let subject = "session"
        var findings: [Finding] = []
        if let missing {
            findings.append(
                .wrong(subject, "\(LogText.escaped(missing)) does not exist: change the option cookies, or export it."))
        }
        for (path, look) in files {
            let shown = LogText.escaped(path)
            switch look {
            case .usable(let user) where hasExpired:
                findings.append(
                    .wrong(subject, "the session of user \(user) in \(shown) has expired: sign in with `rankfs login`.")
                )
            case .usable(let user): findings.append(.ok(subject, "user \(user) is signed in by \(shown)."))
            case .exposed:
                findings.append(
                    .wrong(
                        subject, "\(shown) is not used, for others may read it: `chmod 600` it.",
                        repair: .protect(file: path, from: Repair.all)))
            case .unusable(let reason):
                findings.append(
                    .wrong(subject, "\(shown) is not used, it \(LogText.escaped(reason)): sign in with `rankfs login`.")
                )
            }
        }
        return findings.isEmpty ? [.ok(subject, "nobody is signed in; the plain rankings need no session.")] : findings
    }

    /// The state of the user's store of thumbnails.
    enum ThumbnailLook: Hashable, Sendable {
        /// Switched off, or without a home directory.
        case off
        /// Not created yet.
        case missing
        case foreign
        case unwritable
        case usable
    }

    static func thumbnails(_ path: String, _ look: ThumbnailLook) -> Finding {
        let subject = "thumbnails"
        let shown = LogText.escaped(path)
        return switch look {
        case .off: .ok(subject, "they are off: file managers read the pictures themselves.")
        case .missing: .ok(subject, "\(shown) does not exist yet; it is made with the first thumbnail.")
        case .foreign:
            .wrong(subject, "\(shown) belongs to another user, so that none are written: `chown -R` it to this one.")
        case .unwritable: .wrong(subject, "\(shown) cannot be written: `chmod u+rwx` it.")
        case .usable: .ok(subject, "file managers find them in \(shown).")
        }
    }
}

// MARK: - User probe

/// Examines the user's configuration, session and thumbnails.
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

    /// The findings on the files that may hold a session, each checked as a mount does.
    ///
    /// - Parameters:
    ///   - settings: The settings, which may name a file.
    ///   - source: The source that the session is for.
    ///   - home: The home directory, in which the other files are.
    ///   - hasExpired: Whether a mount reports that the service refuses the session.
    /// - Returns: One finding per file, or one that there is none; empty for a source without accounts.
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

    /// The state of the user's store of thumbnails.
    static func thumbnailLook(_ settings: Settings, home: Home) -> Finding.ThumbnailLook {
        guard settings.makesThumbnails, let path = home.thumbnailDirectory else { return .off }
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return .missing }
        guard status.st_uid == geteuid() else { return .foreign }
        return unsafe access(path, W_OK | X_OK) == 0 ? .usable : .unwritable
    }
}
