/// One request and its answer, from the first line until the log entry.
///
/// ## Concurrency
/// Belongs to its connection's thread: libmicrohttpd runs all callbacks of a connection on that one.
final class Exchange {
    let target: String
    let connection: Int
    let started: Int64
    var request: Request?
    var body: [UInt8] = []
    var status = 0
    /// Bytes of the body handed out.
    var sent = 0
    var fault: String?
    /// Whether the request was answered as a signed-in user's.
    var isSignedIn = false
    /// Whether an answer written by hand went out whole; nil for libmicrohttpd's.
    var rawCompleted: Bool?

    init(target: String, connection: Int) {
        self.target = target
        self.connection = connection
        started = Pace.now
    }

    /// The largest body of a request that is kept: scripts of faults are a few lines.
    static let maximumBody = 1 << 20
}
