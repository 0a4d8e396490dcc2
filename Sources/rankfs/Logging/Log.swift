import Dispatch
import Synchronization

/// The program's log: one line per event, the newest warnings and errors kept for the status.
///
/// ## Concurrency
///
/// Any thread may call; lines are written on a serial queue of the log's own, so that no caller waits for a slow terminal.
/// The mutex guards the level and the recent errors, and nothing else happens under it.
final class Log: Sendable {
    /// A warning or an error that status displays show.
    struct Recent: Hashable, Sendable {
        /// Unix seconds.
        var time: Int64
        var level: LogLevel
        var message: String
    }

    private struct State {
        var level: LogLevel
        var levelBeforeDebug: LogLevel?
        var recent: [Recent] = []
        var counts = (warnings: 0, errors: 0)
        var waiting = 0
        var dropped = 0
    }

    /// The number of warnings and errors kept for status displays: a screenful.
    static let recentBound = 20
    /// The number of lines that may wait to be written; further lines are counted and dropped, because memory is bounded.
    private static let waitingBound = 1000

    private let state: Mutex<State>
    private let queue = DispatchQueue(label: "rankfs.log")
    private let output: LogOutput
    private let now: @Sendable () -> Int64

    /// - Parameters:
    ///   - level: The least important level that is written.
    ///   - output: The destination of the lines.
    ///   - now: The wall clock, in Unix seconds.
    init(level: LogLevel, output: LogOutput, now: @escaping @Sendable () -> Int64) {
        state = Mutex(State(level: level))
        self.output = output
        self.now = now
    }

    func warning(_ message: @autoclosure () -> String) { write(.warning, message) }
    func info(_ message: @autoclosure () -> String) { write(.info, message) }
    func debug(_ message: @autoclosure () -> String) { write(.debug, message) }

    private func write(_ level: LogLevel, _ message: () -> String) {
        guard state.withLock({ level <= $0.level }) else { return }
        let text = LogText.escaped(message(), limit: LogText.longestLine)
        let time = now()
        let dropped: Int? = state.withLock { state in
            if level <= .warning {
                if level == .error { state.counts.errors += 1 } else { state.counts.warnings += 1 }
                if state.recent.count == Self.recentBound { state.recent.removeFirst() }
                state.recent.append(Recent(time: time, level: level, message: text))
            }
            guard state.waiting < Self.waitingBound else {
                state.dropped += 1
                return nil
            }
            state.waiting += 1
            defer { state.dropped = 0 }
            return state.dropped
        }
        guard let dropped else { return }
        queue.async { [self] in
            if dropped > 0 {
                output.write(.warning, "\(dropped) lines were not written because the log was too slow", at: time)
            }
            output.write(level, text, at: time)
            state.withLock { $0.waiting -= 1 }
        }
    }

    /// Switches debug lines on, or back off.
    func toggleDebug() {
        let level = state.withLock { state in
            if let before = state.levelBeforeDebug {
                state.level = before
                state.levelBeforeDebug = nil
            } else {
                state.levelBeforeDebug = state.level
                state.level = .debug
            }
            return state.level
        }
        info("log level is now \(level.name)")
    }

    /// The newest warnings and errors, oldest first.
    var recent: [Recent] { state.withLock { $0.recent } }

    /// Warnings and errors since the start.
    var counts: (warnings: Int, errors: Int) { state.withLock { $0.counts } }

    /// Sends all further lines to a file instead of the terminal.
    func move(to file: LogFile) {
        queue.sync { output.move(to: file) }
    }

    /// Waits until every line submitted so far is written.
    func flush() {
        queue.sync {}
    }
}
