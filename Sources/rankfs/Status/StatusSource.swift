import Catalog
import Fuse
import Glibc
import ImageCache
import RankFS
import Rankings
import Synchronization
import Thumbnails

/// What the status of a running mount is made of.
///
/// ## Concurrency
///
/// Any thread may call; one mutex guards the mount, which exists later than what it is made of, the other the rate of the lines.
final class StatusSource: Sendable {
    let request: MountRequest
    let mountPoint: String
    let place: CachePlace
    let parts: Parts
    let thumbnails: ThumbnailSeeder?
    let log: Log
    let started = WallClock.now()
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

    /// What serves the mount, once there is one.
    var served: (session: Session, fileSystem: RankFileSystem)? {
        mounted.withLock { $0 }
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
        StatusDocument(of: self)
    }
}

extension StatusDocument {
    /// The document of this moment.
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
