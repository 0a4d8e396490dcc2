import CLinux
import Fuse
import Glibc
import System
import ImageCache
import Rankings

/// A finding of `rankfs doctor` on one subject: a sentence, with the remedy where one is needed.
struct Finding: Hashable, Sendable {
    enum Verdict: String, Hashable, Sendable {
        case ok
        /// Worth knowing; no action is needed.
        case note
        /// Something does not work, or not as it should.
        case wrong
    }

    var verdict: Verdict
    /// The subject of the check: `cache directory`.
    var subject: String
    var text: String
    /// The repair that `--fix` may make; nil if a program cannot decide on it.
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

/// A repair of `rankfs doctor --fix`: it loses nothing, and a mount would make it itself.
enum Repair: Hashable, Sendable {
    /// Set the marks that keep backups away from a cache directory.
    case mark(directory: String)
    /// Remove these rights of the group and of other users on a file; the other rights stay.
    case protect(file: String, from: UInt32)
    /// Detach a mount whose process has died.
    case detach(mountPoint: String)
    /// Remove temporary files that a crash left.
    case remove(files: [String])

    /// Every right of the group and of other users.
    static let all: UInt32 = 0o077
    /// The right of the group and of other users to change a file.
    static let writing: UInt32 = 0o022

    // MARK: - Repair

    /// Makes the repair and returns a sentence about it; nil if it failed.
    func perform() -> String? {
        switch self {
        case .mark(let directory):
            guard let missing = try? ImageCache.mark(directory: directory) else { return nil }
            return missing.isEmpty ? "every mark was set." : "what the file system can hold was set."
        case .protect(let file, let rights):
            // Not through a link: its maker may have meant another file.
            guard let status = fileStatus(link: file), status.st_mode.isFile, status.st_uid == geteuid(),
                unsafe chmod(file, status.st_mode & 0o777 & ~rights) == 0
            else { return nil }
            let shown = LogText.escaped(file)
            return rights == Repair.all
                ? "\(shown) is now readable and writable by its owner alone."
                : "\(shown) can now be changed by its owner alone."
        case .detach(let mountPoint):
            guard (try? MountTable.detach(mountPoint)) != nil else { return nil }
            return "the dead mount on \(LogText.escaped(mountPoint)) was cleared."
        case .remove(let files):
            guard files.allSatisfy({ unsafe unlink($0) == 0 || errno == ENOENT }) else { return nil }
            return "removed \(files.map { LogText.escaped($0) }.joined(separator: ", "))."
        }
    }
}

// MARK: - Doctor context

/// The configuration and the mounts that the checks of `rankfs doctor` are about.
struct DoctorContext {
    let source: SourceName
    let home: Home
    let settings: Settings
    let place: CachePlace
    /// The variables that name no option, one sentence each.
    let warnings: [String]
    /// The reason why the configuration file cannot be used, one sentence per line.
    let mistake: String?
    /// Whether the options name `allow_other` or `allow_root`.
    let wantsOthers: Bool
    /// The findings on what mounts, and whether root does: with `setuid=` it is not the user who serves.
    var mounter: (fuse: [Finding], isRoot: Bool) = ([], false)
    /// The mounts of rankfs on this machine.
    var mounts: [Mount] = []

    /// Whether the source is inside the program; such a source has neither hosts nor sessions.
    var isEmbedded: Bool { source.isEmbedded(settings) }
    /// The address of the API: scheme and host, without a trailing slash.
    var apiURL: String { settings.apiURL?.text ?? source.description.access.apiURL }
    /// The address of the image host, likewise.
    var imageURL: String { settings.imageURL?.text ?? source.description.access.imageURL }
}

// MARK: - Texts

extension Finding {
    /// A verdict, its subject and the text about it, as reports print them.
    typealias Row = (word: String, subject: String, text: String)

    private static let colours: [String: TerminalColour] = [
        "ok": .green, "kept": .green, "note": .yellow, "unknown": .yellow, "wrong": .red, "changed": .red,
    ]

    /// Lines of a table: a word, coloured if wanted, a subject and a text, in columns.
    static func rows(_ rows: [Row], wordWidth: Int, isColoured: Bool) -> [String] {
        let width = rows.map(\.subject.count).max() ?? 0
        return rows.map { word, subject, text in
            let shown = isColoured ? colours[word]?.paint(word) ?? word : word
            return shown + String(repeating: " ", count: wordWidth - word.count) + subject
                + String(repeating: " ", count: width - subject.count + 2) + text
        }
    }

    /// The rows as a list of objects, with the subject under a given name.
    static func json(_ subject: String, _ rows: [Row]) -> JSON {
        .array(
            rows.map { row in
                .members([(subject, .string(row.subject)), ("text", .string(row.text)), ("verdict", .string(row.word))])
            })
    }
}
