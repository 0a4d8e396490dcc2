import Glibc
import Synchronization

/// The sockets of one loop, for when it does not come back from libcurl.
///
/// libcurl 7.88 reads for as long as something can be read: a server that sends control frames of HTTP/2 without end (SETTINGS,
/// PING, empty DATA) keeps curl_multi_perform(3) from returning, and no deadline helps. While transfers are under way a task looks
/// every now and then whether the loop goes round; if not, it shuts its sockets down, so that nothing can be read from them and
/// the transfers fail.
///
/// ## Concurrency
///
/// The loop's thread tells, a task looks; one mutex guards all. Descriptors are closed under it, so that the number of one that
/// was closed, and now is somebody else's, is never shut down.
final class LoopGuard: Sendable {
    private struct State {
        var sockets: Set<Int32> = []
        /// When the loop went to work; nil while it sleeps.
        var turnBegan: ContinuousClock.Instant?
        var isBusy = false
        var isWatched = false
    }

    /// A turn takes milliseconds; a slow disk below a sink makes it longer.
    static let longestTurn = Duration.seconds(5)
    /// Time between two looks.
    private static let pause = Duration.seconds(1)

    private let state = Mutex(State())

    /// The loop goes to work.
    func beginTurn(isBusy: Bool) {
        let now = ContinuousClock.now
        let starts = state.withLock { state in
            state.turnBegan = now
            state.isBusy = isBusy
            defer { state.isWatched = state.isWatched || isBusy }
            return isBusy && !state.isWatched
        }
        guard starts else { return }
        Task.detached { [self] in
            repeat { try? await Task.sleep(for: Self.pause) } while look(.now)
        }
    }

    /// The loop goes to sleep.
    func endTurn(isBusy: Bool) {
        state.withLock { state in
            state.turnBegan = nil
            state.isBusy = isBusy
        }
    }

    /// Looks whether the loop goes round; false if there is nothing to look at any more.
    func look(_ now: ContinuousClock.Instant) -> Bool {
        state.withLock { state in
            if let began = state.turnBegan {
                if now - began > Self.longestTurn { for socket in state.sockets { shutdown(socket, Int32(SHUT_RDWR)) } }
            } else if !state.isBusy {
                state.isWatched = false
            }
            return state.isWatched
        }
    }

    /// A socket was opened for the loop.
    func opened(_ socket: Int32) {
        state.withLock { _ = $0.sockets.insert(socket) }
    }

    /// Closes one of the loop's sockets.
    func close(_ socket: Int32) -> Int32 {
        state.withLock { state in
            state.sockets.remove(socket)
            return Glibc.close(socket)
        }
    }
}
