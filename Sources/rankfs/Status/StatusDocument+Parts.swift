import Catalog
import HTTP
import ImageCache
import Rankings

/// Figures of the parts as the document has them.
extension StatusDocument.CatalogFigures {
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
    /// Queued preloads that are named: as many as a terminal has lines for.
    private static let shownQueue = 20

    init(_ status: ImageCacheStatus, directory: String) {
        self.directory = directory
        storedPictures = status.storedPictures
        storedBytes = status.storedBytes
        budget = status.budget
        isStoring = status.isStoring
        openPictures = status.openPictures
        receivedBytes = status.receivedBytes
        preloaded = status.preloaded
        evicted = status.evicted
        downloads = status.downloads.map {
            StatusDocument.Download(
                picture: $0.picture.key, path: $0.path, received: $0.received, total: $0.total, isRead: $0.isRead,
                isQueued: $0.isQueued)
        }
        queuedPreloads = status.queued.count
        queue = status.queued.prefix(Self.shownQueue).map {
            StatusDocument.Queued(picture: $0.picture.key, path: $0.path)
        }
    }
}

extension StatusDocument.NetworkFigures {
    /// Unix seconds of the end of the last cool-down.
    var opensAgain: Int64? {
        [closedUntil, imageHostClosedUntil].compactMap(\.self).max()
    }
}

extension StatusDocument.Requests {
    init(_ counts: [(purpose: RequestPurpose, counts: RequestCounts)]) {
        for (purpose, counts) in counts {
            switch purpose {
            case .api: api = .init(counts)
            case .size: size = .init(counts)
            case .picture: picture = .init(counts)
            case .preview: preview = .init(counts)
            }
        }
    }

    /// Each with its name in the document.
    var all: [(name: String, counts: StatusDocument.Counts)] {
        [("api", api), ("size", size), ("picture", picture), ("preview", preview)]
    }
}

extension StatusDocument.Counts {
    init(_ counts: RequestCounts) {
        head = counts.head
        get = counts.get
        receivedBytes = counts.receivedBytes
        answers = Answers(
            succeeded: counts.succeeded, redirected: counts.redirected, limited: counts.limited,
            refused: counts.refused, serverFailed: counts.serverFailed)
        failures = Failures(
            unreachable: counts.unreachable, timedOut: counts.timedOut, broken: counts.broken, invalid: counts.invalid,
            cancelled: counts.cancelled)
    }

    /// Requests sent.
    var sent: Int { head + get }

    /// Requests that were refused, or ended without an answer although it was wanted.
    var failed: Int {
        answers.limited + answers.refused + answers.serverFailed + failures.unreachable + failures.timedOut
            + failures.broken + failures.invalid
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
