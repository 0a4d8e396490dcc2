/// What `rankfs doctor` says of one thing: a sentence, with the remedy where there is need of one.
struct Finding: Hashable, Sendable {
    enum Verdict: String, Hashable, Sendable, Codable {
        case ok
        /// Worth knowing; nothing has to be done.
        case note
        /// Something does not work, or not as it should.
        case wrong
    }

    var verdict: Verdict
    /// What was looked at: `cache directory`.
    var subject: String
    var text: String
    /// What `--fix` may do about it; nil if that is not for a program to decide.
    var repair: Repair?

    static func ok(_ subject: String, _ text: String) -> Finding {
        Finding(verdict: .ok, subject: subject, text: text)
    }

    static func note(_ subject: String, _ text: String, repair: Repair? = nil) -> Finding {
        Finding(verdict: .note, subject: subject, text: text, repair: repair)
    }

    static func wrong(_ subject: String, _ text: String, repair: Repair? = nil) -> Finding {
        Finding(verdict: .wrong, subject: subject, text: text, repair: repair)
    }
}

/// What `rankfs doctor --fix` does: only what loses nothing and what a mount would do itself.
enum Repair: Hashable, Sendable {
    /// Set the marks that keep backups away from a cache directory.
    case mark(directory: String)
    /// Take these rights of everybody else's on a file away; the other rights stay.
    case protect(file: String, from: UInt32)
    /// Detach a mount whose process has died.
    case detach(mountPoint: String)
    /// Remove temporary files that a crash left.
    case remove(files: [String])

    /// Every right of the group and of others.
    static let all: UInt32 = 0o077
    /// The right to change a file, of the group and of others.
    static let writing: UInt32 = 0o022
}
