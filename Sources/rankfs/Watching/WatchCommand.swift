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
        read(mountPoint, every: .milliseconds(display.interval), into: mailbox)
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

    /// Failed readings in a row before a failure counts: while a mount ends, a reading may fail with any error.
    private static let mostFailures = 5
    /// The pause between these readings.
    private static let failurePause = DispatchTimeInterval.milliseconds(250)

    /// Reads the status of a mount at intervals, the first time at once.
    ///
    /// Reads on a queue of its own, because a mount may hang; a reading begins only after the previous one has ended.
    private static func read(
        _ mountPoint: String, every pause: DispatchTimeInterval, into mailbox: Mailbox<WatchEvent>,
        on queue: DispatchQueue = DispatchQueue(label: "rankfs.watch"), after wait: DispatchTimeInterval = .seconds(0),
        failures before: Int = 0
    ) {
        queue.asyncAfter(deadline: .now() + wait) {
            var failures = 0
            do throws(SystemError) {
                let path = "\(mountPoint)/\(MountedStatus.documentPath)"
                mailbox.put(.told(try Files.read(path, upTo: MountedStatus.longest)))
            } catch {
                failures = before + 1
                guard error.code != ENOENT, failures < mostFailures else { return mailbox.put(.failed(error)) }
            }
            read(
                mountPoint, every: pause, into: mailbox, on: queue, after: failures > 0 ? failurePause : pause,
                failures: failures)
        }
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
