import Catalog
import Fuse
import Glibc
import HTTP
import ImageCache
import RankFS
import Rankings
import Synchronization
import Thumbnails

/// Makes the status document of a running mount.
///
/// ## Concurrency
///
/// Any thread may call; one mutex guards the mount, which exists later than what it is made of, the other the rate of the lines.
final class StatusSource: Sendable {
    private let request: MountRequest
    private let mountPoint: String
    private let place: CachePlace
    private let parts: Parts
    private let thumbnails: ThumbnailSeeder?
    private let log: Log
    private let started = WallClock.now()
    /// Of the lines alone: whoever reads documents has a meter of his own.
    private let meter = Mutex(RateMeter())
    private let mounted = Mutex<(session: Session, fileSystem: RankFileSystem)?>(nil)

    init(
        _ request: MountRequest, mountPoint: String, place: CachePlace, parts: Parts, thumbnails: ThumbnailSeeder?,
        log: Log
    ) {
        self.request = request
        self.mountPoint = mountPoint
        self.place = place
        self.parts = parts
        self.thumbnails = thumbnails
        self.log = log
    }

    /// Told once the session is there.
    func attach(_ session: Session, serving fileSystem: RankFileSystem) {
        mounted.withLock { $0 = (session, fileSystem) }
    }

    /// The session, once there is one.
    var session: Session? {
        mounted.withLock { $0?.session }
    }

    /// What the mount is doing, in one line.
    func line() -> String {
        let document = document()
        let rate = meter.withLock { meter in
            meter.look(document.cache.receivedBytes, at: document.monotonic)
            return meter.perSecond
        }
        return StatusLine.text(document, rate: rate, clock: Terminal.clock)
    }

    /// The document of this moment for a reader of the mount.
    func document(toOwner: Bool) -> StatusDocument {
        toOwner ? document() : document().publicPart
    }

    /// The document of this moment.
    func document() -> StatusDocument {
        let transfers = parts.transport.transferCounts
        let gate = parts.gate.state
        let now = WallClock.now()
        let cache = parts.cache.status()
        let messages = log.counts
        let mounted = mounted.withLock { $0 }
        let figures = mounted?.fileSystem.figures
        return StatusDocument(
            version: Version.text, source: request.source.rawValue, mountPoint: mountPoint, pid: getpid(),
            started: started, time: now, monotonic: MonotonicClock.seconds(), uptime: max(0, now - started),
            catalog: StatusDocument.CatalogFigures(parts.catalog.status()),
            cache: StatusDocument.CacheFigures(cache, directory: place.directory),
            network: StatusDocument.NetworkFigures(
                activeTransfers: transfers.active, queuedTransfers: transfers.queued,
                tokens: (gate.tokens * 100).rounded() / 100, closedUntil: gate.closedUntil,
                imageHostClosedUntil: parts.imageHosts.closedUntil.values.max(), rate: parts.rate,
                requests: StatusDocument.Requests(parts.transport.requestCounts), offline: parts.isOffline,
                metered: parts.meter.isMetered,
                troubles: parts.health.troubles.map { .init(since: $0.since, message: $0.sentence) }),
            signIn: StatusDocument.SignInFigures(parts.source.signIn),
            thumbnails: (thumbnails?.figures).map { .init(files: $0.files, receivedBytes: $0.bytes) },
            waitingRequests: mounted?.session.waiting ?? 0,
            inodes: figures?.inodes ?? 0, handles: figures?.handles ?? 0,
            warnings: messages.warnings, errors: messages.errors,
            recent: log.recent.map {
                StatusDocument.Event(time: $0.time, level: $0.level.name, message: $0.message)
            })
    }
}

/// The program's version.
enum Version {
    static let text = "0.1.0"
}
