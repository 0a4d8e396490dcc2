/// How much a log line matters.
enum LogLevel: Int, Comparable, Sendable, CaseIterable {
    case error = 3
    case warning = 4
    case info = 6
    case debug = 7

    static func < (left: LogLevel, right: LogLevel) -> Bool {
        left.rawValue < right.rawValue
    }

    /// The word that options and lines use.
    var name: String {
        switch self {
        case .error: "error"
        case .warning: "warning"
        case .info: "info"
        case .debug: "debug"
        }
    }

    /// The prefix by which the journal knows the level (sd-daemon(3)): syslog's numbers.
    var journalPrefix: String { "<\(rawValue)>" }
}
