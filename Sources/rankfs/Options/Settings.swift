import ObjectStore
import Rankings

/// Everything that options decide.
struct Settings: Hashable, Sendable {
    /// Absolute; nil for the default of the source.
    var cacheDirectory: String?
    /// Bytes.
    var cacheSize: Int64 = 2 << 30
    /// Bytes of disk left free.
    var cacheFree: Int64 = 1 << 30
    /// Nil for what the source shows where nothing else is asked for.
    var rendition: Rendition?
    /// Values of options that sources have of their own.
    var choices: [String: String] = [:]
    /// Whether every page of a work is an entry.
    var allPages = false
    var filter = ListingFilter()
    /// Whether directories list what the service withholds.
    var listsWithheld = false
    /// Whether what is read is noted in `recent/`.
    var notesRecent = true
    /// Whether other users of a mount that they may look into see and do what its owner does.
    var sharesAll = false
    /// Whether file managers that look at a directory find thumbnails.
    var makesThumbnails = true
    /// Entries of a ranking shown; nil for all.
    var top: Int?
    /// Recent days that a mode lists.
    var days = 7
    /// Pictures preloaded ahead of a reader.
    var preload = 2
    /// Whether the network is metered, so that nothing is downloaded that nobody asked for.
    var metered = MeteredRule.auto
    /// Whether no request may leave.
    var isOffline = false
    var proxy: OriginURL?
    /// Nil for what the source's service expects.
    var userAgent: String?
    /// API requests a second once the burst is spent; nil for the default of the source.
    var rate: Double?
    /// Picture connections to one host.
    var connections = 16
    /// When every request has been answered.
    var timeout: Duration = .seconds(30)
    var apiURL: OriginURL?
    var imageURL: OriginURL?
    /// PEM file of certificates that sign those of `apiURL` and `imageURL`; absolute.
    var certificates: String?
    /// A file with the session cookie; absolute.
    var cookies: String?
    /// Where pictures and answers are shared with other machines; nil for nowhere.
    var tier: BucketAddress?
    /// Nil for Amazon's own store in the region.
    var tierURL: OriginURL?
    var tierRegion: String?
    /// A file with the key to the store; absolute.
    var tierKeys: String?
    /// Whether what only the signed-in user sees is shared with that user's machines.
    var sharesPrivate = false
    var logLevel: LogLevel = .info
    /// Where log lines go besides the standard error stream; nil for the default.
    var logFile: String?
}

/// Where an option was given; a later case wins over an earlier one.
enum OptionPlace: Hashable, Sendable {
    case file(path: String, line: Int)
    case environment(variable: String)
    case commandLine

    /// How an error text begins: `rankfs.conf:3: `.
    var prefix: String {
        switch self {
        case .file(let path, let line): "\(path):\(line): "
        case .environment(let variable): "\(variable): "
        case .commandLine: ""
        }
    }

    /// The exit status that goes with a mistake in this place.
    var status: ExitStatus {
        self == .commandLine ? .usage : .configuration
    }
}
