import Catalog

extension StatusDocument {
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
}

extension StatusDocument.CatalogFigures {
    init(_ status: CatalogStatus) {
        storedListings = status.storedListings
        loadedListings = status.loadedListings
        loadedEntries = status.loadedEntries
        knownSizes = status.knownSizes
        originalQuestionsToHost = status.originalQuestions.host
        originalQuestionsToService = status.originalQuestions.service
    }

    var metrics: [MetricFamily] {
        [
            .gauge(
                "rankfs_listings", "Listings stored, and those in memory.",
                [.init(loadedListings, [("place", "memory")]), .init(storedListings, [("place", "stored")])]),
            .gauge("rankfs_listing_entries", "Entries of the listings in memory.", [.init(loadedEntries)]),
            .gauge("rankfs_known_sizes", "Pictures whose size is known.", [.init(knownSizes)]),
            .counter(
                "rankfs_original_questions_total", "Questions about originals.",
                [
                    .init(originalQuestionsToHost, [("host", "images")]),
                    .init(originalQuestionsToService, [("host", "api")]),
                ]),
        ]
    }

    /// What `rankfs status` shows.
    var summary: [String] {
        [
            "  listings   \(storedListings) stored, \(loadedListings) in memory "
                + "with \(loadedEntries) \(loadedEntries == 1 ? "entry" : "entries"); "
                + "\(Counted.text(knownSizes, "size")) known"
        ]
    }
}
