internal import CLinux
package import Foundation
import Glibc
import Synchronization
import System

/// A program in a process of its own, with the names of Foundation's `Process`.
///
/// Foundation's own counts the open descriptors with readdir(3) and copies 256 bytes of each name, which reads past the
/// buffer where more than 1,365 are open: with a thousand tests at once that ended the process.
package final class SpawnedProcess: @unchecked Sendable {
    // `@unchecked` because what is set is set before ``run()``, and what changes later is in `state`.
    package var executableURL: URL?
    package var arguments: [String] = []
    /// Nil: this process's.
    package var environment: [String: String]?
    /// Its streams, closed here once it has them; nil is this process's own.
    package var standardInput: FileHandle? = .nullDevice
    package var standardOutput: FileHandle?
    package var standardError: FileHandle?

    private let state = Mutex(State())

    private struct State {
        var pid: pid_t = 0
        var status: Int32?
    }

    /// A program that could not be started.
    package struct Failure: Error {
        package let code: Int32
    }

    package init() {}

    /// Starts it with no descriptor but the standard ones, and with no signal blocked or ignored.
    ///
    /// - Throws: ``Failure`` with the errno of posix_spawn(3).
    package func run() throws {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe _ = posix_spawn_file_actions_destroy(&actions) }
        let streams = [standardInput, standardOutput, standardError]
        for (target, handle) in zip(Int32(0)..., streams) {
            if let handle, handle === FileHandle.nullDevice {
                unsafe posix_spawn_file_actions_addopen(&actions, target, "/dev/null", O_RDWR, 0)
            } else if let handle {
                unsafe posix_spawn_file_actions_adddup2(&actions, handle.fileDescriptor, target)
            }
        }
        unsafe _ = rankfs_spawn_without_descriptors(&actions, 3)

        // Threads of a pool block every signal, and a child would inherit that: it could not be told to end.
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe _ = posix_spawnattr_destroy(&attributes) }
        ChildProcess.resetSignals(in: &attributes)

        let path = executableURL?.path ?? ""
        let variables = (environment ?? ProcessInfo.processInfo.environment).map { "\($0)=\($1)" }
        var pid: pid_t = 0
        let code = unsafe withWords([path] + arguments) { words in
            unsafe withWords(variables) { variables in
                unsafe posix_spawn(&pid, path, &actions, &attributes, words, variables)
            }
        }
        for handle in streams where handle !== FileHandle.nullDevice { try? handle?.close() }
        guard code == 0 else { throw Failure(code: code) }
        state.withLock { $0.pid = pid }
    }

    package var processIdentifier: Int32 { state.withLock { $0.pid } }

    package var isRunning: Bool {
        state.withLock { state in
            Self.look(&state, options: WNOHANG)
            return state.pid != 0 && state.status == nil
        }
    }

    /// Waits without holding the lock, so that another thread can end it.
    package func waitUntilExit() {
        let pid = processIdentifier
        guard pid != 0, state.withLock({ $0.status == nil }) else { return }
        var information = unsafe siginfo_t()
        while unsafe waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        state.withLock { Self.look(&$0, options: 0) }
    }

    /// What it ended with: its exit status, or the number of the signal that ended it.
    package var terminationStatus: Int32 {
        let status = state.withLock { $0.status ?? 0 }
        return status & 0x7F == 0 ? status >> 8 & 0xFF : status & 0x7F
    }

    /// Sends SIGTERM, to a process that has not ended.
    package func terminate() { signal(SIGTERM) }

    /// Sends a signal; the number of a process that has ended may be another's by now.
    package func signal(_ number: Int32) {
        state.withLock { state in
            Self.look(&state, options: WNOHANG)
            if state.pid != 0, state.status == nil { kill(state.pid, number) }
        }
    }

    private static func look(_ state: inout State, options: Int32) {
        guard state.pid != 0, state.status == nil else { return }
        var status: Int32 = 0
        if unsafe waitpid(state.pid, &status, options) == state.pid { state.status = status }
    }

    private func withWords(
        _ words: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Int32
    ) -> Int32 {
        var copies = unsafe words.map { unsafe strdup($0) } + [nil]
        defer { unsafe copies.forEach { unsafe free($0) } }
        return unsafe copies.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress else { return ENOMEM }
            return unsafe body(start)
        }
    }
}
