import Fuse
import Glibc

/// `rankfs status`: what is mounted and what it is doing.
enum StatusCommand {
    /// Longer than a mount's own deadline for any answer is pointless.
    private static let patience: Duration = .seconds(5)
    /// A status is a few kilobytes.
    private static let longest = 4 << 20

    static func run(mountPoint: String?, json: Bool) throws(ProgramError) {
        let mountPoints = if let mountPoint { [MountPoint.canonical(mountPoint) ?? mountPoint] } else { try mounted() }
        for (index, path) in mountPoints.enumerated() {
            let text = try read(path)
            if json {
                Output.print(String(decoding: text, as: UTF8.self), terminator: "")
                continue
            }
            guard let document = StatusDocument(json: text) else {
                throw ProgramError(
                    .unavailable, "\(LogText.escaped(path)) is served by another version of rankfs; try --json.")
            }
            Output.print((index > 0 ? "\n" : "") + summary(of: document, now: WallClock.now()))
        }
    }

    private static func mounted() throws(ProgramError) -> [String] {
        let own = MountTable.current().ownMountPoints
        guard !own.isEmpty else {
            throw ProgramError(.unavailable, "nothing is mounted; `rankfs mount FOLDER` or `rankfs demo` does that.")
        }
        return own
    }

    /// What a mount says of itself; nil if it says nothing that this version understands.
    ///
    /// Blocks for some seconds if it does not answer.
    static func document(of mountPoint: String) -> StatusDocument? {
        (try? read(mountPoint)).flatMap(StatusDocument.init)
    }

    /// The text of a mount's status, or why it has none.
    static func read(_ mountPoint: String) throws(ProgramError) -> [UInt8] {
        let shown = LogText.escaped(mountPoint)
        let result = Patience.run(within: patience) {
            Result { () throws(Files.Failure) in try Files.read(mountPoint + "/.rankfs/status.json", limit: longest) }
        }
        switch result {
        case .success(let text): return text
        case .failure(let error) where error.code == ENOTCONN:
            throw ProgramError(
                .unavailable, "the process behind \(shown) has died; `rankfs unmount \(shown)` clears the folder.")
        case .failure(let error) where error.code == ENOENT:
            throw ProgramError(
                .unavailable, "\(shown) is not a mount of rankfs; `rankfs status` alone lists those there are.")
        case .failure(let error): throw ProgramError(.unavailable, "\(shown) does not tell its status: \(error.text).")
        case nil:
            throw ProgramError(.unavailable, "\(shown) does not answer; `rankfs unmount \(shown)` or end its process.")
        }
    }

    /// The document for people.
    static func summary(of document: StatusDocument, now: Int64) -> String {
        let cache = document.cache
        var lines = [
            "\(LogText.escaped(document.mountPoint)): \(document.source), rankfs \(document.version), "
                + "process \(document.processID), up \(duration(document.uptime))",
            "  stored     \(cache.storedPictures) pictures, \(ValueParsers.sizeText(cache.storedBytes)) "
                + "of \(ValueParsers.sizeText(cache.budget)), in \(LogText.escaped(cache.directory))",
            "  received   \(ValueParsers.sizeText(cache.receivedBytes)); \(cache.preloaded) preloaded, \(cache.evicted) evicted",
            "  listings   \(document.catalog.storedListings) stored, \(document.catalog.loadedListings) in memory "
                + "with \(document.catalog.loadedEntries) entries; \(document.catalog.knownSizes) sizes known",
            "  now        \(cache.openPictures) open, \(document.waitingRequests) requests waiting, "
                + "\(document.network.activeTransfers) transfers, \(document.network.queuedTransfers) queued",
        ]
        for download in cache.downloads {
            let total = download.total.map { " of \(ValueParsers.sizeText($0))" } ?? ""
            lines.append(
                "  \(download.isRead ? "reading" : "preload")    \(LogText.escaped(download.picture)): "
                    + ValueParsers.sizeText(download.received) + total)
        }
        if let thumbnails = document.thumbnails, thumbnails.files > 0 {
            lines.append(
                "  thumbnails \(thumbnails.files) files for file managers, from "
                    + "\(ValueParsers.sizeText(thumbnails.receivedBytes)) of previews")
        }
        if let user = document.signIn.user {
            let expired = document.signIn.state == "expired"
            lines.append(
                expired
                    ? "  account    the session of \(user) has expired: sign in again with `rankfs login`"
                    : "  account    signed in as \(user)")
        }
        if let end = document.network.closedUntil, end > now {
            lines.append("  waiting    the service asked to be left alone for another \(duration(end - now))")
        }
        for event in document.recent {
            lines.append("  \(event.level)    \(LogOutput.timestamp(event.time)) \(LogText.escaped(event.message))")
        }
        return lines.joined(separator: "\n")
    }

    /// `2 d 3 h`, `4 min 5 s`: the two largest units.
    static func duration(_ seconds: Int64) -> String {
        if seconds >= 86400 { return "\(seconds / 86400) d \(seconds % 86400 / 3600) h" }
        if seconds >= 3600 { return "\(seconds / 3600) h \(seconds % 3600 / 60) min" }
        if seconds >= 60 { return "\(seconds / 60) min \(seconds % 60) s" }
        return "\(seconds) s"
    }
}
