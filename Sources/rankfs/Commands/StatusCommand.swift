import Dispatch
import Fuse
import Glibc
import HTTP
import System

extension Command {
    /// `rankfs status`: lists the mounts and their activity.
    static let status = Command(
        name: "status", words: "[MOUNTPOINT] [--watch] [--json]", brief: "[MOUNTPOINT] [--watch]",
        summary: "what is mounted and what it is doing",
        details: """
            Prints what each mount (or the named one) is doing: your own first, then those of others that you may read. --json
            prints MOUNTPOINT/.rankfs/status.json as it is, those of several mounts each in one line.

            --watch shows one mount, the first unless one is named, until Ctrl-C: blue bars are pictures that somebody reads,
            green ones are preloads. Where the cursor cannot be moved it prints a line now and then. With --json it prints the
            document once a second, each in one line.

            Exit status 69 if nothing is mounted, a mount does not answer or is another version's, or its process dies while
            it is watched; 0 after Ctrl-C and when the watched mount is unmounted.
            """,
        run: { arguments throws(ProgramError) in
            let json = arguments.flags.contains("--json")
            let mountPoints = try mountPoints(arguments.positions.first)
            if arguments.flags.contains("--watch") {
                try watch(
                    mountPoints[0], others: mountPoints.count - 1, json: json,
                    variables: Home.environment())
            } else {
                try printStatus(of: mountPoints, json: json)
            }
        })

    /// Prints the status of each mount; a mount without a status does not prevent the others.
    ///
    /// - Throws: `.unavailable` if nothing is mounted or a mount reported no status; the messages are printed by then.
    private static func printStatus(of mountPoints: [String], json: Bool) throws(ProgramError) {
        var isFirst = true
        var hasFailed = false
        for path in mountPoints {
            do throws(ProgramError) {
                if json, mountPoints.count > 1 {
                    Output.write(WatchDisplay.compact(try StatusDocument.read(path)) + [10])
                    continue
                }
                let text = try text(of: path, json: json, now: TimeSource.wallClock(), read: StatusDocument.read)
                Output.print((isFirst ? "" : "\n") + text, terminator: "")
                isFirst = false
            } catch {
                Output.complain(error.message, as: "rankfs")
                hasFailed = true
            }
        }
        if hasFailed { throw .unavailable("") }
    }

    /// The text that is printed for one mount.
    static func text(
        of path: String, json: Bool, now: Int64, read: (String) throws(ProgramError) -> [UInt8]
    ) throws(ProgramError) -> String {
        let text = try read(path)
        if json { return String(decoding: text, as: UTF8.self) }
        return try StatusDocument.parse(text, of: path).summary(at: now) + "\n"
    }

    /// The named mount, or all mounts, at least one.
    private static func mountPoints(_ named: String?) throws(ProgramError) -> [String] {
        if let mountPoint = named { return [MountPoint.canonical(mountPoint) ?? mountPoint] }
        let own = MountTable.current().mountPoints(of: geteuid(), withOthers: true)
        guard !own.isEmpty else {
            throw .unavailable("nothing is mounted; `rankfs mount FOLDER` or `rankfs demo` does that.")
        }
        return own
    }

    // MARK: - Watch

    /// Seconds without an answer after which a mount is shown as silent.
    private static let longestSilence: Int64 = 2
    /// Milliseconds between updates of the display when there is no event.
    private static let tick: Duration = .milliseconds(250)

    /// `rankfs status --watch`: the activity of a mount, until Ctrl-C or until it is unmounted.
    ///
    /// - Parameters:
    ///   - mountPoint: The mount to watch.
    ///   - others: The number of other mounts.
    ///   - json: Whether documents are written instead of a display.
    ///   - variables: The environment.
    /// - Throws: The reason why the status is not, or no longer, available; an unmount is no failure.
    static func watch(
        _ mountPoint: String, others: Int, json: Bool, variables: [String: String]
    ) throws(ProgramError) {
        // Fails at once, with the usual time limit, if the mount cannot be watched at all.
        _ = try StatusDocument.read(mountPoint)
        var display = WatchDisplay(mountPoint: mountPoint, others: others, json: json, variables: variables)
        let mailbox = Mailbox<WatchEvent>()
        let stop: @Sendable () -> Void = { mailbox.put(.stop) }
        let signals = Signals([
            SIGINT: stop, SIGTERM: stop, SIGHUP: stop, SIGWINCH: { mailbox.put(.resized) },
            SIGTSTP: { mailbox.put(.suspend) },
        ])
        follow(mountPoint, every: display.interval, into: mailbox)
        let end = Result { () throws(ProgramError) in try show(mountPoint, mailbox, &display) }
        display.leave()
        withExtendedLifetime(signals) {}
        if let sentence = try end.get() { Output.complain(sentence, as: "rankfs") }
    }

    /// Failed readings in a row before a failure counts: while a mount ends, a reading may fail with any error.
    private static let mostFailures = 5
    /// The pause between these readings, in milliseconds.
    private static let failurePause = 250

    /// Reads the status of a mount at intervals, the first time at once.
    ///
    /// Reads on a thread of its own, because a mount may hang.
    private static func follow(_ mountPoint: String, every pause: Int, into mailbox: Mailbox<WatchEvent>) {
        DispatchQueue(label: "rankfs.watch").async {
            var failures = 0
            while true {
                do throws(SystemError) {
                    let path = "\(mountPoint)/\(StatusDocument.path)"
                    mailbox.put(.told(try Files.read(path, upTo: StatusDocument.longest)))
                    failures = 0
                } catch {
                    failures += 1
                    guard error.code != ENOENT, failures < mostFailures else { return mailbox.put(.failed(error)) }
                }
                usleep(UInt32(failures > 0 ? failurePause : pause) * 1000)
            }
        }
    }

    /// Shows events until the end.
    ///
    /// - Returns: A closing sentence; nil if there is none.
    private static func show(
        _ mountPoint: String, _ mailbox: Mailbox<WatchEvent>, _ display: inout WatchDisplay
    ) throws(ProgramError) -> String? {
        var heard = TimeSource.system.now()
        while true {
            var isRead = true
            switch mailbox.take(within: tick) {
            case .told(let text):
                heard = TimeSource.system.now()
                isRead = try display.show(text)
            case .failed(let failure): return try ending(failure, of: mountPoint)
            case .stop: return nil
            case .suspend:
                display.leave()
                kill(getpid(), SIGSTOP)
                isRead = display.refresh(silence: nil)
            case .resized, nil:
                let silent = (TimeSource.system.now() - heard).components.seconds
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
        default: throw StatusDocument.explanation(of: failure, at: mountPoint)
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
