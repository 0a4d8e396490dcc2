import Catalog
import Fuse
import Glibc
import ImageCache
import RankFS
import Rankings
import Synchronization
import Thumbnails

/// The sources of a running mount's status.
///
/// ## Concurrency
///
/// Any thread may call. One mutex guards the session and the file system, which are made later than this object; the other
/// guards the rate of the status lines.
final class StatusSource: Sendable {
    let request: MountRequest
    let mountPoint: String
    let place: CachePlace
    let parts: Parts
    let thumbnails: ThumbnailSeeder?
    let log: Log
    let started = WallClock.now()
    /// The rate for the status lines alone: each reader of documents has its own meter.
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

    /// Sets the session and the file system once they exist.
    func attach(_ session: Session, serving fileSystem: RankFileSystem) {
        mounted.withLock { $0 = (session, fileSystem) }
    }

    /// The session and the file system; nil before the mount is made.
    var served: (session: Session, fileSystem: RankFileSystem)? {
        mounted.withLock { $0 }
    }

    /// The mount's activity in one line.
    func line() -> String {
        let document = document()
        let rate = meter.withLock { meter in
            meter.look(document.cache.receivedBytes, at: document.monotonic)
            return meter.perSecond
        }
        return StatusLine.text(document, rate: rate, clock: Terminal.clock)
    }

    /// The present document for a reader of the mount: whole for the owner, otherwise the public part.
    func document(toOwner: Bool) -> StatusDocument {
        toOwner ? document() : document().publicPart
    }

    /// The present document.
    func document() -> StatusDocument {
        StatusDocument(of: self)
    }
}

extension StatusDocument {
    /// Makes the document of this moment.
    init(of mount: StatusSource) {
        let now = WallClock.now()
        let messages = mount.log.counts
        let served = mount.served
        let figures = served?.fileSystem.figures
        self.init(
            version: Version.text, source: mount.request.source.rawValue, mountPoint: mount.mountPoint, pid: getpid(),
            started: mount.started, time: now, monotonic: MonotonicClock.seconds(), uptime: max(0, now - mount.started),
            catalog: CatalogFigures(mount.parts.catalog.status()),
            cache: CacheFigures(mount.parts.cache.status(), directory: mount.place.directory),
            network: NetworkFigures(mount.parts), signIn: SignInFigures(mount.parts.source.signIn),
            thumbnails: (mount.thumbnails?.figures).map(ThumbnailFigures.init),
            tier: mount.parts.tier.map(TierFigures.init),
            waitingRequests: served?.session.waiting ?? 0, inodes: figures?.inodes ?? 0,
            handles: figures?.handles ?? 0, warnings: messages.warnings, errors: messages.errors,
            recent: mount.log.recent.map { Event(time: $0.time, level: $0.level.name, message: $0.message) })
    }
}
