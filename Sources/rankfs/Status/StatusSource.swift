import Fuse
import RankFS
import Synchronization

/// The source of a running mount's status.
///
/// ## Concurrency
///
/// Any thread may call. One mutex guards the session and the file system, which are made later than this object; the other
/// guards the rate of the status lines.
final class StatusSource: Sendable {
    private let mount: ServedMount
    /// The rate for the status lines alone: each reader of documents has its own meter.
    private let meter = Mutex(RateMeter())
    private let mounted = Mutex<(session: Session, fileSystem: RankFileSystem)?>(nil)

    init(_ mount: ServedMount) {
        self.mount = mount
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
            meter.look(document)
            return meter.perSecond
        }
        return document.line(rate: rate, clock: Terminal.clock)
    }

    /// The present document for a reader of the mount: whole for the owner, otherwise the public part.
    func document(toOwner: Bool = true) -> StatusDocument {
        let served = served
        let document = StatusDocument(of: StatusMoment(mount, served?.session, served?.fileSystem))
        return toOwner ? document : document.publicPart
    }
}
