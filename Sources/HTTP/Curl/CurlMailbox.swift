import CCurl
import Synchronization

/// What other threads ask of the loop.
enum CurlCommand: Sendable {
    case start(Int, HTTPRequest, any ResponseSink)
    case setPriority(Int, TransferPriority)
    case cancel(Int)
    /// A name that a transfer needs has been looked up, in vain if there is trouble.
    case resolved(Int, String, NameTrouble?)
    /// Tell that the loop goes round.
    case echo(@Sendable () -> Void)
    case shutdown
}

/// The one way to the loop's thread: a list of commands, and libcurl's wake-up.
///
/// ## Concurrency
///
/// Any thread posts; only the loop takes. The mutex also guards the life of the multi handle against `curl_multi_wakeup`,
/// the one libcurl function that other threads may call (curl_multi_wakeup(3)): it is called under the lock, which is
/// safe because it only writes to a non-blocking socket.
final class CurlMailbox: Sendable {
    private struct State {
        var commands: [CurlCommand] = []
        /// The multi handle's address, as a number because pointers are not sendable; nil once the loop has ended.
        var multi: UInt?
        var nextID = 0
        var counts: (active: Int, queued: Int) = (0, 0)
    }

    private let state: Mutex<State>

    init(wakes pool: CurlPool) {
        // The pointer stays valid until `wakes` or `close`, which the loop calls before it frees the pool.
        state = Mutex(State(multi: unsafe UInt(bitPattern: pool.multi)))
    }

    /// Names the pool that the loop waits for from now on; for the loop only.
    func wakes(_ pool: CurlPool) {
        let multi = unsafe UInt(bitPattern: pool.multi)
        state.withLock { state in
            state.multi = multi
            // Who posted since the last look woke the old one.
            if !state.commands.isEmpty { _ = unsafe curl_multi_wakeup(UnsafeMutableRawPointer(bitPattern: multi)) }
        }
    }

    /// What the loop last told about itself.
    var counts: (active: Int, queued: Int) { state.withLock { $0.counts } }

    /// A number for a new transfer, greater than all before.
    func makeID() -> Int {
        state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
    }

    /// Hands a command to the loop; false if the loop has ended.
    func post(_ command: CurlCommand) -> Bool {
        state.withLock { state in
            guard let multi = state.multi else { return false }
            state.commands.append(command)
            if state.commands.count == 1 { _ = unsafe curl_multi_wakeup(UnsafeMutableRawPointer(bitPattern: multi)) }
            return true
        }
    }

    /// All commands since the last time; for the loop only.
    func take() -> [CurlCommand] {
        state.withLock { state in
            defer { state.commands = [] }
            return state.commands
        }
    }

    /// Tells the numbers for status displays; for the loop only.
    func publish(active: Int, queued: Int) {
        state.withLock { $0.counts = (active, queued) }
    }

    /// Refuses further commands and returns the last ones; for the loop only.
    func close() -> [CurlCommand] {
        state.withLock { state in
            state.multi = nil
            state.counts = (0, 0)
            defer { state.commands = [] }
            return state.commands
        }
    }
}
