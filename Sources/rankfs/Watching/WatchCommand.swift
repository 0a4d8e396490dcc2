import Fuse
import Glibc
import Posix

/// `rankfs status --watch`: what a mount is doing, until Ctrl-C or until it is unmounted.
enum WatchCommand {
    /// A mount that says nothing for so many seconds is said to be silent.
    private static let longestSilence: Int64 = 2
    /// Milliseconds after which the clock is looked at when nothing happens.
    private static let tick = 250

    /// Watches a mount.
    ///
    /// - Parameters:
    ///   - mountPoint: Which one.
    ///   - others: How many more there are.
    ///   - json: Whether documents are wanted instead of a display.
    ///   - variables: The environment.
    /// - Throws: Why nothing can be told, or not any more; an unmount is no failure.
    static func run(
        _ mountPoint: String, others: Int, json: Bool, variables: [String: String]
    ) throws(ProgramError) {
        // Tells at once, with the usual patience, what cannot be watched at all.
        _ = try StatusCommand.read(mountPoint)
        var display: any WatchDisplay =
            if json {
                JSONWatchDisplay()
            } else if Terminal.size(variables) != nil {
                ScreenWatchDisplay(mountPoint: mountPoint, others: others, variables: variables)
            } else {
                PlainWatchDisplay(mountPoint: mountPoint)
            }
        let mailbox = WatchMailbox()
        let signals = arm(mailbox)
        WatchReader(mountPoint, every: display.interval, mailbox).start()
        let end = Result { () throws(ProgramError) in try watch(mountPoint, mailbox, &display) }
        display.leave()
        withExtendedLifetime(signals) {}
        if let sentence = try end.get() { Output.complain(sentence, as: "rankfs") }
    }

    private static func arm(_ mailbox: WatchMailbox) -> Signals {
        let stop: @Sendable () -> Void = { mailbox.put(.stop) }
        return Signals([
            SIGINT: stop, SIGTERM: stop, SIGHUP: stop, SIGWINCH: { mailbox.put(.resized) },
            SIGTSTP: { mailbox.put(.suspend) },
        ])
    }

    /// Shows what comes, until the end.
    ///
    /// - Returns: A sentence to end with, if there is something to say.
    private static func watch(
        _ mountPoint: String, _ mailbox: WatchMailbox, _ display: inout some WatchDisplay
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

    /// What is said when a mount tells nothing any more.
    ///
    /// - Throws: If that is a failure of the mount's.
    static func ending(_ failure: LocalFiles.Failure, of mountPoint: String) throws(ProgramError) -> String {
        switch failure.code {
        case ENOENT, ENOTDIR: return "\(LogText.escaped(mountPoint)) has been unmounted."
        default: throw StatusCommand.explanation(of: failure, at: mountPoint)
        }
    }
}
