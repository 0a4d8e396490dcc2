internal import CFuse3
import Glibc
import Synchronization

/// libfuse's log, which is one for the whole process.
///
/// While a session is being mounted its lines are kept, because they say why it failed; at other times they go to a
/// receiver, by default standard error.
///
/// ## Concurrency
///
/// Any thread.
package enum FuseLog {
    private struct State {
        var isInstalled = false
        var kept: [String]?
        var receiver: @Sendable (String) -> Void = { line in
            let bytes = Array("fuse: \(line)\n".utf8)
            _ = unsafe bytes.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
        }
    }

    /// Lines kept at most; mounting writes two or three.
    private static let mostKept = 32

    private static let state = Mutex(State())

    /// Sends lines to `receiver` from now on; it is called on any thread and must not wait.
    package static func send(to receiver: @escaping @Sendable (String) -> Void) {
        state.withLock { $0.receiver = receiver }
    }

    /// Runs `body` and keeps what libfuse says meanwhile.
    static func keepingLines<Result>(during body: () -> Result) -> (result: Result, lines: [String]) {
        install()
        state.withLock { $0.kept = [] }
        let result = body()
        let lines = state.withLock { state in
            defer { state.kept = nil }
            return state.kept ?? []
        }
        return (result, lines)
    }

    /// Takes the log over from libfuse, once.
    private static func install() {
        let isFirst = state.withLock { state in
            defer { state.isInstalled = true }
            return !state.isInstalled
        }
        guard isFirst else { return }
        unsafe rankfs_fuse_log_to { _, line in
            guard let line = unsafe line else { return }
            unsafe FuseLog.take(String(cString: line))
        }
    }

    private static func take(_ line: String) {
        var text = Substring(line)
        while text.last?.isNewline == true { text.removeLast() }
        if text.hasPrefix("fuse: ") { text.removeFirst("fuse: ".count) }
        guard !text.isEmpty else { return }
        let receiver = state.withLock { state in
            guard let count = state.kept?.count else { return Optional(state.receiver) }
            if count < mostKept { state.kept?.append(String(text)) }
            return nil
        }
        receiver?(String(text))
    }
}
