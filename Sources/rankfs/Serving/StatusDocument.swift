import Catalog
import FoundationEssentials
import ImageCache
import Rankings

/// What `/.rankfs/status.json` says; names in JSON are these with underscores.
struct StatusDocument: Codable, Hashable, Sendable {
    /// The program's version.
    var version: String
    var source: String
    var mountPoint: String
    var processID: Int32
    /// Unix seconds.
    var started: Int64
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
        var openPictures: Int
        /// Since the start, as are the next two.
        var receivedBytes: Int64
        var preloaded: Int
        var evicted: Int
        var downloads: [Download]
    }

    /// A picture on its way.
    struct Download: Codable, Hashable, Sendable {
        var picture: String
        var received: Int64
        var total: Int64?
        /// Somebody reads it; false for a preload.
        var isRead: Bool
    }

    /// What the network is doing.
    struct NetworkFigures: Codable, Hashable, Sendable {
        var activeTransfers: Int
        var queuedTransfers: Int
        /// API requests that may go at once.
        var tokens: Double
        /// Unix seconds until which the service asked to be left alone.
        var closedUntil: Int64?
        /// API requests a second once the tokens are spent.
        var rate: Double?
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

        enum CodingKeys: String, CodingKey {
            case files
            case receivedBytes = "received_bytes"
        }
    }

    /// A warning or an error.
    struct Event: Codable, Hashable, Sendable {
        /// Unix seconds.
        var time: Int64
        var level: String
        var message: String
    }

    enum CodingKeys: String, CodingKey {
        case version, source, started, uptime, catalog, cache, network, thumbnails, inodes, handles, recent
        case mountPoint = "mount_point"
        case processID = "pid"
        case signIn = "sign_in"
        case waitingRequests = "waiting_requests"
    }
}

extension StatusDocument.CatalogFigures {
    enum CodingKeys: String, CodingKey {
        case storedListings = "stored_listings"
        case loadedListings = "loaded_listings"
        case loadedEntries = "loaded_entries"
        case knownSizes = "known_sizes"
        case originalQuestionsToHost = "original_questions_to_host"
        case originalQuestionsToService = "original_questions_to_service"
    }

    init(_ status: CatalogStatus) {
        storedListings = status.storedListings
        loadedListings = status.loadedListings
        loadedEntries = status.loadedEntries
        knownSizes = status.knownSizes
        originalQuestionsToHost = status.originalQuestions.host
        originalQuestionsToService = status.originalQuestions.service
    }
}

extension StatusDocument.CacheFigures {
    enum CodingKeys: String, CodingKey {
        case directory, budget, preloaded, evicted, downloads
        case storedPictures = "stored_pictures"
        case storedBytes = "stored_bytes"
        case openPictures = "open_pictures"
        case receivedBytes = "received_bytes"
    }

    init(_ status: ImageCacheStatus, directory: String) {
        self.directory = directory
        storedPictures = status.storedPictures
        storedBytes = status.storedBytes
        budget = status.budget
        openPictures = status.openPictures
        receivedBytes = status.receivedBytes
        preloaded = status.preloaded
        evicted = status.evicted
        downloads = status.downloads.map {
            StatusDocument.Download(
                picture: $0.picture.key, received: $0.received, total: $0.total, isRead: $0.isRead)
        }
    }
}

extension StatusDocument.Download {
    enum CodingKeys: String, CodingKey {
        case picture, received, total
        case isRead = "is_read"
    }
}

extension StatusDocument.NetworkFigures {
    enum CodingKeys: String, CodingKey {
        case tokens, rate
        case activeTransfers = "active_transfers"
        case queuedTransfers = "queued_transfers"
        case closedUntil = "closed_until"
    }
}

extension StatusDocument.SignInFigures {
    init(_ signIn: SignIn) {
        user = signIn.user?.rawValue
        state =
            switch signIn {
            case .signedOut: "signed_out"
            case .signedIn: "signed_in"
            case .expired: "expired"
            }
    }
}

extension StatusDocument {
    /// The document as JSON text with sorted keys and a final newline.
    var json: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        // Only a number that is not finite cannot be encoded, and there is none.
        guard let data = try? encoder.encode(self) else { return Array("{}\n".utf8) }
        return Array(data) + [10]
    }

    /// The document that some JSON text holds; nil if it is another one's.
    init?(json: [UInt8]) {
        guard let document = try? JSONDecoder().decode(StatusDocument.self, from: Data(json)) else { return nil }
        self = document
    }
}
