import Dispatch
import Fuse
import Glibc
import System

/// `rankfs status --watch`: the activity of a mount, until Ctrl-C or until it is unmounted.
enum WatchCommand {
    /// Seconds without an answer after which a mount is shown as silent.
    private static let longestSilence: Int64 = 2
    /// Milliseconds between updates of the display when there is no event.
    private static let tick: Duration = .milliseconds(250)

    /// Watches a mount.
    ///
    /// - Parameters:
    ///   - mountPoint: The mount to watch.
    ///   - others: The number of other mounts.
    ///   - json: Whether documents are written instead of a display.
    ///   - variables: The environment.
    /// - Throws: The reason why the status is not, or no longer, available; an unmount is no failure.
    static func run(
        _ mountPoint: String, others: Int, json: Bool, variables: [String: String]
    ) throws(ProgramError) {
        // Fails at once, with the usual time limit, if the mount cannot be watched at all.
        _ = try MountedStatus.read(mountPoint)
        var display: any WatchDisplay =
            if json {
                JSONWatchDisplay()
            } else if Terminal.size(variables) != nil {
                ScreenWatchDisplay(mountPoint: mountPoint, others: others, variables: variables)
            } else {
                PlainWatchDisplay(mountPoint: mountPoint)
            }
        let mailbox = Mailbox<WatchEvent>()
        let signals = arm(mailbox)
        WatchReader(mountPoint, every: display.interval, mailbox).start()
        let end = Result { () throws(ProgramError) in try watch(mountPoint, mailbox, &display) }
        display.leave()
        withExtendedLifetime(signals) {}
        if let sentence = try end.get() { Output.complain(sentence, as: "rankfs") }
    }

    private static func arm(_ mailbox: Mailbox<WatchEvent>) -> Signals {
        let stop: @Sendable () -> Void = { mailbox.put(.stop) }
        return Signals([
            SIGINT: stop, SIGTERM: stop, SIGHUP: stop, SIGWINCH: { mailbox.put(.resized) },
            SIGTSTP: { mailbox.put(.suspend) },
        ])
    }

    /// Shows events until the end.
    ///
    /// - Returns: A closing sentence; nil if there is none.
    private static func watch(
        _ mountPoint: String, _ mailbox: Mailbox<WatchEvent>, _ display: inout some WatchDisplay
    ) throws(ProgramError) -> String? {
        var heard = MonotonicClock.seconds()
        while true {
            var isRead = true
            switch mailbox.take(within: tick) {
            case .told(let text):
                heard = MonotonicClock.seconds()
                isRead = try display.show(text)
            case .failed(let failure): return try ending(failure, of: mountPoint)
            case .stop: return nil
            case .suspend:
                display.leave()
                kill(getpid(), SIGSTOP)
                isRead = display.refresh(silence: nil)
            case .resized, nil:
                let silent = Int64(MonotonicClock.seconds() - heard)
                let isSilent = silent >= longestSilence + Int64(display.interval / 1000)
                isRead = display.refresh(silence: isSilent ? silent : nil)
            }
            if !isRead { return nil }
        }
    }

    /// The closing sentence when a mount's status can no longer be read.
    ///
    /// - Throws: The failure, if it is one of the mount.
    static func ending(_ failure: SystemError, of mountPoint: String) throws(ProgramError) -> String {
        switch failure.code {
        case ENOENT, ENOTDIR: return "\(LogText.escaped(mountPoint)) has been unmounted."
        default: throw MountedStatus.explanation(of: failure, at: mountPoint)
        }
    }
}

// MARK: - Watch event

/// An event for a watcher.
enum WatchEvent: Sendable {
    /// The present status of the mount, as JSON text.
    case told([UInt8])
    /// The status can no longer be read.
    case failed(SystemError)
    /// The terminal has another size.
    case resized
    /// Ctrl-Z.
    case suspend
    /// Ctrl-C, or the terminal has gone.
    case stop
}

/// Reads a mount's status at intervals.
///
/// ## Concurrency
///
/// Reads on a queue of its own, because a mount may hang; a reading begins only after the previous one has ended.
final class WatchReader: Sendable {
    private let path: String
    private let milliseconds: Int
    private let mailbox: Mailbox<WatchEvent>
    private let queue = DispatchQueue(label: "rankfs.watch")

    /// - Parameters:
    ///   - mountPoint: The mount to watch.
    ///   - milliseconds: The pause between two readings.
    ///   - mailbox: Receives the text of each reading.
    init(_ mountPoint: String, every milliseconds: Int, _ mailbox: Mailbox<WatchEvent>) {
        path = mountPoint + "/" + MountedStatus.documentPath
        self.milliseconds = milliseconds
        self.mailbox = mailbox
    }

    /// Failed readings in a row before a failure counts: while a mount ends, a reading may fail with any error.
    private static let mostFailures = 5
    /// Milliseconds between these readings.
    private static let failurePause = 250

    /// Starts the readings; the first is at once.
    func start() {
        queue.async { [self] in look(failures: 0) }
    }

    private func look(failures before: Int) {
        let failures: Int
        do throws(SystemError) {
            mailbox.put(.told(try FileBytes.read(path, upTo: MountedStatus.longest)))
            failures = 0
        } catch {
            failures = before + 1
            guard error.code != ENOENT, failures < Self.mostFailures else { return mailbox.put(.failed(error)) }
        }
        let pause = failures > 0 ? Self.failurePause : milliseconds
        queue.asyncAfter(deadline: .now() + .milliseconds(pause)) { [self] in look(failures: failures) }
    }
}
