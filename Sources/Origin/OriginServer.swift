/// The embedded origin: a pixiv-compatible API and picture host over loopback HTTP, drawing its pictures itself.
package final class OriginServer: Sendable {
    /// How an origin behaves.
    package struct Configuration: Sendable {
        /// 0 picks a free port.
        package var port: UInt16
        package var seed: UInt64
        /// Milliseconds before each answer.
        package var latency: Int
        /// Bytes a second for each connection; nil for no limit.
        package var rate: Int?
        /// Where one JSON line per request goes; nil for nowhere.
        package var log: String?
        /// A directory of recorded answers.
        package var replay: String?
        /// Wall clock in Unix seconds.
        package var now: @Sendable () -> Int64

        package init(
            port: UInt16 = 0, seed: UInt64 = 1, latency: Int = 0, rate: Int? = nil, log: String? = nil,
            replay: String? = nil, now: @escaping @Sendable () -> Int64
        ) {
            self.port = port
            self.seed = seed
            self.latency = latency
            self.rate = rate
            self.log = log
            self.replay = replay
            self.now = now
        }
    }

    /// Starts serving on its own threads. Throws one sentence with cause and remedy.
    package init(_ configuration: Configuration) throws(OriginError) {
        fatalError("written by the owner of Origin: \(configuration)")
    }

    /// `http://127.0.0.1:PORT`, for both `api_url` and `image_url`.
    package var url: String {
        fatalError("written by the owner of Origin")
    }

    /// Stops serving; open connections are closed.
    package func stop() {
        fatalError("written by the owner of Origin")
    }
}

/// Why the origin could not start.
package struct OriginError: Error, Sendable {
    package let message: String

    package init(message: String) {
        self.message = message
    }
}
