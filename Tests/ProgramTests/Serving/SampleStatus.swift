@testable import rankfs

extension StatusDocument {
    /// A mount in the middle of everything.
    static var sample: StatusDocument {
        StatusDocument(
            version: "1.2.3", source: "pixiv", mountPoint: "/m/ü\n", pid: 42, started: 1000, time: 4725,
            monotonic: 99.125, uptime: 3725,
            catalog: .init(
                storedListings: 3, loadedListings: 2, loadedEntries: 999, knownSizes: 500, originalQuestionsToHost: 9,
                originalQuestionsToService: 1),
            cache: .init(
                directory: "/c", storedPictures: 7, storedBytes: 5 << 20, budget: 2 << 30, isStoring: true,
                openPictures: 1,
                receivedBytes: 1 << 20, preloaded: 2, evicted: 0,
                downloads: [
                    .init(
                        picture: "1_p0", path: "ranking/daily/2024-05-01/001-雨.jpg", received: 1024, total: 4096,
                        isRead: true, isQueued: false),
                    .init(picture: "2_p0", received: 0, total: nil, isRead: false, isQueued: true),
                ], queuedPreloads: 25, queue: [.init(picture: "3_p0", path: "works/3/p0.png")]),
            network: .init(
                activeTransfers: 2, queuedTransfers: 1, tokens: 39.5, closedUntil: 5000, imageHostClosedUntil: 4060,
                rate: 0.8, requests: requests),
            signIn: .init(state: "signed_in", user: 123), thumbnails: .init(files: 120, receivedBytes: 3 << 20),
            waitingRequests: 4,
            inodes: 501,
            handles: 2, warnings: 7, errors: 1,
            recent: [.init(time: 0, level: "warning", message: "no \"route\"")])
    }

    private static var requests: StatusDocument.Requests {
        var requests = StatusDocument.Requests()
        requests.api.get = 12
        requests.api.answers = .init(succeeded: 11, limited: 1)
        requests.size.head = 500
        requests.picture = .init(
            get: 30, receivedBytes: 1 << 20, answers: .init(succeeded: 28), failures: .init(broken: 2, cancelled: 9))
        // Told in metrics only.
        requests.connection = .init(head: 4, answers: .init(refused: 4))
        return requests
    }
}
