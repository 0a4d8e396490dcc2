import CLinux
import Dispatch
import Glibc
import HTTP

/// Whether a mount answers, asked by the ways that readers take.
enum Liveness {
    /// Asks everything that can get stuck, but never the network or the database.
    ///
    /// Blocks for as long as something does; not for tasks.
    ///
    /// - Parameters:
    ///   - mountPoint: Asked through the kernel, as everybody asks: the session's threads must be there to answer.
    ///   - status: Takes the locks of the catalog, the cache, the gate and the file system.
    ///   - parts: Whose network thread must go round.
    /// - Returns: False if the mount answers with an error.
    static func check(_ mountPoint: String, status: StatusSource, parts: Parts) -> Bool {
        _ = status.document()
        // A task that runs shows that not all threads of tasks are blocked.
        BlockingCall.wait {}
        let goesRound = DispatchSemaphore(value: 0)
        parts.transport.echo { goesRound.signal() }
        goesRound.wait()
        var statistics = statvfs()
        return unsafe statvfs(mountPoint, &statistics) == 0
    }
}
