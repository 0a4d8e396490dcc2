import Fuse
import Glibc
import Posix
import Rankings

/// `rankfs status`: what is mounted and what it is doing.
enum StatusCommand {
    /// Longer than a mount's own deadline for any answer is pointless.
    private static let patience: Duration = .seconds(5)
    /// A status is a few kilobytes.
    static let longest = 4 << 20
    /// Below the mount point.
    static let documentPath = TreePath.entry(.helpers, "status.json").text

    /// Prints what each mount tells; one that tells nothing does not keep the others from it.
    ///
    /// - Throws: `.unavailable` if nothing is mounted or one of the mounts told nothing; the sentences are out then.
    static func run(mountPoint: String?, json: Bool) throws(ProgramError) {
        let mountPoints = try named(mountPoint)
        var isFirst = true
        var hasFailed = false
        for path in mountPoints {
            do throws(ProgramError) {
                let text = try text(of: path, json: json, now: WallClock.now(), read: read)
                Output.print((isFirst || json ? "" : "\n") + text, terminator: "")
                isFirst = false
            } catch {
                Output.complain(error.message, as: "rankfs")
                hasFailed = true
            }
        }
        if hasFailed { throw ProgramError(.unavailable, "") }
    }

    /// What is printed of one mount.
    static func text(
        of path: String, json: Bool, now: Int64, read: (String) throws(ProgramError) -> [UInt8]
    ) throws(ProgramError) -> String {
        let text = try read(path)
        if json { return String(decoding: text, as: UTF8.self) }
        return summary(of: try document(in: text, of: path), now: now) + "\n"
    }

    /// What a mount's text says.
    ///
    /// - Throws: `.unavailable` if that is another version's.
    static func document(in text: [UInt8], of path: String) throws(ProgramError) -> StatusDocument {
        guard let document = StatusDocument(json: text) else {
            throw ProgramError(
                .unavailable,
                "\(LogText.escaped(path)) is served by another version of rankfs; mount it again, or try --json.")
        }
        return document
    }

    /// Watches the named mount, or the first there is.
    static func watch(mountPoint: String?, json: Bool, variables: [String: String]) throws(ProgramError) {
        let mountPoints = try named(mountPoint)
        try WatchCommand.run(mountPoints[0], others: mountPoints.count - 1, json: json, variables: variables)
    }

    /// The named mount, or all there are, at least one.
    private static func named(_ mountPoint: String?) throws(ProgramError) -> [String] {
        if let mountPoint { [MountPoint.canonical(mountPoint) ?? mountPoint] } else { try mounted() }
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
        let result = Patience.run(within: patience) {
            Result { () throws(LocalFiles.Failure) in
                try LocalFiles.read("\(mountPoint)/\(documentPath)", limit: longest)
            }
        }
        switch result {
        case .success(let text): return text
        case .failure(let error): throw explanation(of: error, at: mountPoint)
        case nil:
            let shown = LogText.escaped(mountPoint)
            throw ProgramError(.unavailable, "\(shown) does not answer; `rankfs unmount \(shown)` or end its process.")
        }
    }

    /// Why a mount tells nothing.
    static func explanation(of failure: LocalFiles.Failure, at mountPoint: String) -> ProgramError {
        let shown = LogText.escaped(mountPoint)
        let reason =
            switch failure.code {
            case ENOTCONN: "the process behind \(shown) has died; `rankfs unmount \(shown)` clears the folder."
            case ENOENT: "\(shown) is not a mount of rankfs; `rankfs status` alone lists those there are."
            default: "\(shown) does not tell its status: \(failure.text)."
            }
        return ProgramError(.unavailable, reason)
    }

    /// The document for people.
    static func summary(of document: StatusDocument, now: Int64) -> String {
        let cache = document.cache
        var lines = [
            "\(LogText.escaped(document.mountPoint)): \(document.source), rankfs \(document.version), "
                + "process \(document.pid), up \(duration(document.uptime))",
            "  stored     \(Counted.text(cache.storedPictures, "picture")), \(ValueParsers.sizeText(cache.storedBytes)) "
                + "of \(ValueParsers.sizeText(cache.budget))"
                + (cache.directory.isEmpty ? "" : ", in \(LogText.escaped(cache.directory))"),
            "  received   \(ValueParsers.sizeText(cache.receivedBytes)); \(cache.preloaded) preloaded, \(cache.evicted) evicted",
            "  listings   \(document.catalog.storedListings) stored, \(document.catalog.loadedListings) in memory "
                + "with \(document.catalog.loadedEntries) \(document.catalog.loadedEntries == 1 ? "entry" : "entries"); "
                + "\(Counted.text(document.catalog.knownSizes, "size")) known",
            "  now        \(cache.openPictures) open, \(Counted.text(document.waitingRequests, "request")) waiting, "
                + "\(Counted.text(document.network.activeTransfers, "transfer")), \(document.network.queuedTransfers) queued",
        ]
        if let requests = requests(document.network.requests) { lines.append("  requests   \(requests)") }
        for download in cache.downloads {
            let total = download.total.map { " of \(ValueParsers.sizeText($0))" } ?? ""
            lines.append(
                "  \(download.isRead ? "reading" : "preload")    \(LogText.escaped(download.path ?? download.picture, limit: LogText.longestLine)): "
                    + ValueParsers.sizeText(download.received) + total)
        }
        if cache.queuedPreloads > 0 { lines.append("  queued     \(Counted.text(cache.queuedPreloads, "preload"))") }
        if !cache.isStoring { lines.append("  storing    not for now: the disk is full or fails; make room there") }
        if let thumbnails = document.thumbnails, thumbnails.files > 0 {
            lines.append(
                "  thumbnails \(Counted.text(thumbnails.files, "file")) for file managers, from "
                    + "\(ValueParsers.sizeText(thumbnails.receivedBytes)) of previews")
        }
        if let user = document.signIn.user {
            let expired = document.signIn.state == "expired"
            lines.append(
                expired
                    ? "  account    the session of \(user) has expired: sign in again with `rankfs login`"
                    : "  account    signed in as \(user)")
        }
        if document.network.metered {
            lines.append("  metered    nothing is downloaded ahead, for the network is metered")
        }
        for trouble in document.network.troubles {
            lines.append("  network    \(LogText.escaped(trouble.message, limit: LogText.longestLine))")
        }
        if document.network.offline { lines.append("  offline    no request leaves; only what is stored is there") }
        for (host, end) in [
            ("service", document.network.closedUntil), ("image host", document.network.imageHostClosedUntil),
        ] {
            guard let end, end > now else { continue }
            lines.append("  waiting    the \(host) asked to be left alone for another \(duration(end - now))")
        }
        for event in document.recent {
            lines.append(
                "  \(event.level)    \(LogOutput.timestamp(event.time)) \(LogText.escaped(event.message, limit: LogText.longestLine))"
            )
        }
        return lines.joined(separator: "\n")
    }

    /// `12 to the service, 500 for sizes, 30 for pictures, 3 failed`; nil if there were none.
    static func requests(_ requests: StatusDocument.Requests) -> String? {
        let all = requests.all.map(\.counts)
        guard all.contains(where: { $0.sent > 0 }) else { return nil }
        var parts = [
            "\(requests.api.sent) to the service", "\(requests.size.sent) for sizes",
            "\(requests.picture.sent) for pictures",
        ]
        if requests.preview.sent > 0 { parts.append("\(requests.preview.sent) for previews") }
        let failed = all.reduce(0) { $0 + $1.failed }
        if failed > 0 { parts.append("\(failed) failed") }
        return parts.joined(separator: ", ")
    }

    /// `2 d 3 h`, `4 min 5 s`: the two largest units.
    static func duration(_ seconds: Int64) -> String {
        if seconds >= 86400 { return "\(seconds / 86400) d \(seconds % 86400 / 3600) h" }
        if seconds >= 3600 { return "\(seconds / 3600) h \(seconds % 3600 / 60) min" }
        if seconds >= 60 { return "\(seconds / 60) min \(seconds % 60) s" }
        return "\(seconds) s"
    }
}
