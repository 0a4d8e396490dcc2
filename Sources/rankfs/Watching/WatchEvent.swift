import Dispatch
import Glibc
import Posix
import Synchronization

/// What happens to a watcher.
enum WatchEvent: Sendable {
    /// What the mount says of itself now.
    case told([UInt8])
    /// It says nothing any more.
    case failed(LocalFiles.Failure)
    /// The terminal has another size.
    case resized
    /// Ctrl-Z.
    case suspend
    /// Ctrl-C, or the terminal has gone.
    case stop
}

/// Events for the one thread that draws.
///
/// ## Concurrency
///
/// Any thread puts, one takes; the mutex guards the list, the semaphore counts what is in it.
final class WatchMailbox: Sendable {
    private let events = Mutex<[WatchEvent]>([])
    private let ready = DispatchSemaphore(value: 0)

    func put(_ event: WatchEvent) {
        events.withLock { $0.append(event) }
        ready.signal()
    }

    /// The next event; nil if none came in time.
    ///
    /// Blocks the calling thread; not for tasks.
    func take(within milliseconds: Int) -> WatchEvent? {
        guard ready.wait(timeout: .now() + .milliseconds(milliseconds)) == .success else { return nil }
        return events.withLock { $0.removeFirst() }
    }
}

/// Reads what a mount says, again and again.
///
/// ## Concurrency
///
/// Reads on a queue of its own, because a mount may hang; the next reading begins after the last one ended.
final class WatchReader: Sendable {
    private let path: String
    private let milliseconds: Int
    private let mailbox: WatchMailbox
    private let queue = DispatchQueue(label: "rankfs.watch")

    /// - Parameters:
    ///   - mountPoint: What to watch.
    ///   - milliseconds: Between two readings.
    ///   - mailbox: Told what was read.
    init(_ mountPoint: String, every milliseconds: Int, _ mailbox: WatchMailbox) {
        path = mountPoint + "/" + StatusCommand.documentPath
        self.milliseconds = milliseconds
        self.mailbox = mailbox
    }

    /// Looks after a failure until it is believed: whoever reads while a mount ends is told anything.
    private static let mostFailures = 5
    /// Milliseconds between these looks.
    private static let failurePause = 250

    /// Begins; the first reading is at once.
    func start() {
        queue.async { [self] in look(failures: 0) }
    }

    private func look(failures before: Int) {
        let failures: Int
        do throws(LocalFiles.Failure) {
            mailbox.put(.told(try LocalFiles.read(path, limit: StatusCommand.longest)))
            failures = 0
        } catch {
            failures = before + 1
            guard error.code != ENOENT, failures < Self.mostFailures else { return mailbox.put(.failed(error)) }
        }
        let pause = failures > 0 ? Self.failurePause : milliseconds
        queue.asyncAfter(deadline: .now() + .milliseconds(pause)) { [self] in look(failures: failures) }
    }
}
