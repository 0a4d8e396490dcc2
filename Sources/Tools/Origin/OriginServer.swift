import Synchronization

/// The embedded origin: the API and the image hosts of a service over loopback HTTP, with pictures that it draws itself.
///
/// ## Concurrency
/// May be used from any thread. Serves on threads of its own, one for each connection.
package final class OriginServer: Sendable {
    /// Whose API and pictures an origin serves.
    package enum Service: String, CaseIterable, Sendable {
        case pixiv
        case danbooru
        case yandere
        case konachan
    }

    /// How an origin behaves.
    package struct Configuration: Sendable {
        package var service: Service
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
        /// A file of scripted faults, one JSON object a line, read again when it changes.
        package var faults: String?
        /// Whether one picture in ten comes without a length, as from the real host.
        package var chunks: Bool
        /// Whether the 1200-pixel renditions have 0.1 to 12 MB instead of 100 to 900 KB, for benchmarks.
        package var large: Bool
        /// Whether Danbooru answers with posts of every rating, as danbooru.donmai.us does and safebooru does not.
        package var allRatings: Bool
        /// Whether Moebooru's records have the 36 keys of 2015 to 2023 instead of 44.
        package var oldRecords: Bool
        /// Wall clock in Unix seconds.
        package var now: @Sendable () -> Int64

        package init(
            service: Service = .pixiv, port: UInt16 = 0, seed: UInt64 = 1, latency: Int = 0, rate: Int? = nil,
            log: String? = nil,
            replay: String? = nil, faults: String? = nil, chunks: Bool = true, large: Bool = false,
            allRatings: Bool = false, oldRecords: Bool = false, now: @escaping @Sendable () -> Int64
        ) {
            self.service = service
            self.port = port
            self.seed = seed
            self.latency = latency
            self.rate = rate
            self.log = log
            self.replay = replay
            self.faults = faults
            self.chunks = chunks
            self.large = large
            self.allRatings = allRatings
            self.oldRecords = oldRecords
            self.now = now
        }
    }

    private let daemon: Daemon
    private let isStopped = Atomic(false)

    /// Starts serving on its own threads.
    ///
    /// Throws one sentence with cause and remedy.
    package init(_ configuration: Configuration) throws(OriginError) {
        daemon = try Daemon(OriginService(configuration))
    }

    deinit {
        stop()
    }

    /// `http://127.0.0.1:PORT`, for both `api_url` and `image_url`.
    package var url: String {
        "http://127.0.0.1:\(daemon.port)"
    }

    /// Stops serving; open connections are closed.
    ///
    /// Returns when every thread of the origin has ended, well within a second. Calling it again does nothing.
    package func stop() {
        guard !isStopped.exchange(true, ordering: .sequentiallyConsistent) else { return }
        daemon.stop()
    }
}

/// Why the origin could not start.
package struct OriginError: Error, Sendable {
    package let message: String

    package init(message: String) {
        self.message = message
    }
}
