import Rankings
import Glibc

/// The service that an origin imitates.
package enum Service: String, CaseIterable, Sendable {
    case pixiv
    case danbooru
    case yandere
    case konachan
}

/// The behaviour of an origin.
package struct OriginConfiguration: Sendable {
    package var service = Service.pixiv
    /// The TCP port; 0 selects a free one.
    package var port: UInt16 = 0
    package var seed: UInt64 = 1
    /// Milliseconds before each answer.
    package var latency = 0
    /// Bytes a second for each connection; nil for no limit.
    package var rate: Int?
    /// The file that receives one JSON line per request; nil for no log.
    package var log: String?
    /// A directory of recorded answers; nil for generated answers.
    package var replay: String?
    /// A file of scripted faults, one JSON object a line, read again when it changes.
    package var faults: String?
    /// Whether one picture in ten has no declared length, as from the real host.
    package var chunks = true
    /// Whether the 1200-pixel renditions have 0.1 to 12 MB instead of 100 to 900 KB, for benchmarks.
    package var large = false
    /// Whether Danbooru answers with posts of every rating, as danbooru.donmai.us does and safebooru does not.
    package var allRatings = false
    /// The wall clock, in Unix seconds.
    package var now: @Sendable () -> Int64

    /// The behaviour of the program without options, with a clock.
    package init(now: @escaping @Sendable () -> Int64) {
        self.now = now
    }
}

extension Failure {
    /// A sentence that names the cause by the last system error.
    static func last(_ sentence: (_ cause: String) -> String) -> Failure {
        .unusable(sentence(unsafe String(cString: strerror(errno))))
    }
}
