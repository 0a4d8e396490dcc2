import Rankings

/// What `/.rankfs/status.json` says; names in JSON are these in lower case with underscores.
///
/// Counters count since the start, so that a watcher gets rates from two documents and their `monotonic`.
struct StatusDocument: Codable, Hashable, Sendable {
    /// The program's version.
    var version: String
    var source: String
    var mountPoint: String
    /// The serving process.
    var pid: Int32
    /// Unix seconds of the mount's start and of this document.
    var started: Int64
    var time: Int64
    /// Seconds of a clock that is never set, for differences.
    var monotonic: Double
    /// Seconds.
    var uptime: Int64
    var catalog: CatalogFigures
    var cache: CacheFigures
    var network: NetworkFigures
    var signIn: SignInFigures
    /// Nil if they are off.
    var thumbnails: ThumbnailFigures?
    /// Requests of the kernel that wait for an answer.
    var waitingRequests: Int
    /// Inodes that the kernel knows; 1 when it knows the root alone.
    var inodes: Int
    /// Open files and directories.
    var handles: Int
    /// Warnings and errors since the start, also those that are not in `recent` any more.
    var warnings: Int
    var errors: Int
    /// The newest warnings and errors, oldest first.
    var recent: [Event]

    /// What is known of listings.
    struct CatalogFigures: Codable, Hashable, Sendable {
        var storedListings: Int
        var loadedListings: Int
        var loadedEntries: Int
        var knownSizes: Int
        /// Questions that `images=original` and `works/` cost since the start: to the image host, to the service.
        var originalQuestionsToHost: Int
        var originalQuestionsToService: Int
    }

    /// What is stored and under way; sizes in bytes.
    struct CacheFigures: Codable, Hashable, Sendable {
        var directory: String
        var storedPictures: Int
        var storedBytes: Int64
        var budget: Int64
        /// Whether the disk takes pictures.
        var isStoring: Bool
        var openPictures: Int
        /// Since the start, as are the next two.
        var receivedBytes: Int64
        var preloaded: Int
        var evicted: Int
        /// In the order in which they began.
        var downloads: [Download]
        /// Preloads that wait for their turn, and the first of them.
        var queuedPreloads: Int
        var queue: [Queued]
    }

    /// A picture on its way.
    struct Download: Codable, Hashable, Sendable {
        var picture: String
        /// Below the mount point; nil if nobody told.
        var path: String?
        var received: Int64
        var total: Int64?
        /// Somebody reads it; false for a preload.
        var isRead: Bool
        /// It still waits for its first answer.
        var isQueued: Bool
    }

    /// A preload that waits.
    struct Queued: Codable, Hashable, Sendable {
        var picture: String
        /// Below the mount point; nil if nobody told.
        var path: String?
    }

    /// What the network is doing.
    struct NetworkFigures: Codable, Hashable, Sendable {
        var activeTransfers: Int
        var queuedTransfers: Int
        /// API requests that may go at once.
        var tokens: Double
        /// Unix seconds until which the service asked to be left alone.
        var closedUntil: Int64?
        /// Unix seconds until which the image host asked to be left alone.
        var imageHostClosedUntil: Int64?
        /// API requests a second once the tokens are spent.
        var rate: Double?
        var requests: Requests
        /// Whether no request may leave.
        var offline = false
        /// Whether the network is metered, so that nothing is downloaded ahead.
        var metered = false
        /// What keeps hosts from being asked: names that do not exist, proxies that refuse, certificates that are wrong.
        var troubles: [Trouble] = []
    }

    /// Why a host cannot be asked at present.
    struct Trouble: Codable, Hashable, Sendable {
        /// Unix seconds.
        var since: Int64
        /// A sentence with cause and remedy.
        var message: String
    }

    /// Requests since the start by what they are for.
    struct Requests: Codable, Hashable, Sendable {
        /// Listings, works and authors.
        var api = Counts()
        /// How long pictures are.
        var size = Counts()
        /// Pictures and parts of them.
        var picture = Counts()
        /// Small previews for thumbnails.
        var preview = Counts()
    }

    /// What was sent and what came of it; a request that is tried again or redirected counts each time.
    struct Counts: Codable, Hashable, Sendable {
        var head = 0
        var get = 0
        /// Bytes of bodies.
        var receivedBytes: Int64 = 0
        var answers = Answers()
        var failures = Failures()

        /// Answers by their status.
        struct Answers: Codable, Hashable, Sendable {
            /// 2xx.
            var succeeded = 0
            /// 3xx.
            var redirected = 0
            /// 429: too many requests.
            var limited = 0
            /// The other 4xx.
            var refused = 0
            /// 5xx.
            var serverFailed = 0
        }

        /// Ends without a whole answer.
        struct Failures: Codable, Hashable, Sendable {
            var unreachable = 0
            var timedOut = 0
            var broken = 0
            /// The answer makes no sense or leads where nobody may go.
            var invalid = 0
            /// Nobody wanted the rest.
            var cancelled = 0
        }
    }

    /// Whose session the mount has; never the session itself.
    struct SignInFigures: Codable, Hashable, Sendable {
        /// `signed_out`, `signed_in` or `expired`.
        var state: String
        /// The user's number.
        var user: Int64?
    }

    /// What was done for file managers since the start.
    struct ThumbnailFigures: Codable, Hashable, Sendable {
        /// Thumbnail files written.
        var files: Int
        /// Bytes of small previews received for them.
        var receivedBytes: Int64
    }

    /// A warning or an error.
    struct Event: Codable, Hashable, Sendable {
        /// Unix seconds.
        var time: Int64
        var level: String
        var message: String
    }
}

extension StatusDocument {
    /// What other users of the mount may know: figures, but not what is read, where it is stored and who is signed in.
    var publicPart: StatusDocument {
        var document = self
        document.cache.directory = ""
        document.cache.downloads = []
        document.cache.queue = []
        document.signIn.user = nil
        document.recent = []
        return document
    }

    /// The document as JSON text with sorted keys and a final newline.
    var json: [UInt8] {
        // Only numbers beyond 64 bits cannot be encoded, and there are none.
        let text = try? JSONText(self, spelling: .snakeCase)
        return Array((text ?? .object([])).document(colon: " : ").utf8)
    }

    /// The document that some JSON text holds, its figures within bounds; nil if it is another one's.
    ///
    /// Every user may mount something that calls itself rankfs.
    init?(json: [UInt8]) {
        guard let told = try? JSONReader.read(json),
            let document = try? told.bounded.decoded(as: StatusDocument.self, spelling: .snakeCase)
        else { return nil }
        self = document
    }
}
