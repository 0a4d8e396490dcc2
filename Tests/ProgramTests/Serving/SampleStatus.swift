import Rankings

@testable import rankfs

extension StatusDocument {
    /// A mount in the middle of everything.
    static let sample: StatusDocument = {
        var document = StatusDocument()
        for figure in StatusFigure.all where figure.kind == .whole && !figure.isOptional {
            document[figure.path] = .integer(0)
        }
        guard let told = (try? JSONReader.read(Array(text.utf8)))?.members else { return document }
        for figure in told { document[figure.name] = figure.value }
        return document
    }()

    /// Sets a figure to a value in JSON.
    mutating func set(_ path: String, _ text: String) {
        self[path] = (try? JSONReader.read(Array(text.utf8))) ?? .null
    }

    private static let text = #"""
        {
          "version": "1.2.3", "source": "pixiv", "mount_point": "/m/ü\n", "pid": 42, "started": 1000, "time": 4725,
          "monotonic": 99.125, "uptime": 3725, "waiting_requests": 4, "inodes": 501, "handles": 2, "warnings": 7,
          "errors": 1, "recent": [{"time": 0, "level": "warning", "message": "no \"route\""}],
          "catalog.stored_listings": 3, "catalog.loaded_listings": 2, "catalog.loaded_entries": 999,
          "catalog.known_sizes": 500, "catalog.original_questions_to_host": 9,
          "catalog.original_questions_to_service": 1,
          "cache.directory": "/c", "cache.stored_pictures": 7, "cache.stored_bytes": 5242880,
          "cache.pinned_pictures": 2, "cache.pinned_bytes": 1048576,
          "cache.budget": 2147483648, "cache.is_storing": true, "cache.open_pictures": 1,
          "cache.received_bytes": 1048576, "cache.preloaded": 2, "cache.evicted": 0,
          "cache.downloads": [
            {"picture": "1_p0", "path": "ranking/daily/2024-05-01/001-雨.jpg", "received": 1024, "total": 4096,
             "is_read": true, "is_queued": false},
            {"picture": "2_p0", "received": 0, "is_read": false, "is_queued": true}
          ],
          "cache.queued_preloads": 25, "cache.queue": [{"picture": "3_p0", "path": "works/3/p0.png"}],
          "network.active_transfers": 2, "network.queued_transfers": 1, "network.tokens": 39.5,
          "network.closed_until": 5000, "network.image_host_closed_until": 4060, "network.rate": 0.8,
          "network.offline": false, "network.metered": false, "network.troubles": [],
          "network.requests.api.get": 12, "network.requests.api.answers.succeeded": 11,
          "network.requests.api.answers.limited": 1, "network.requests.size.head": 500,
          "network.requests.picture.get": 30, "network.requests.picture.received_bytes": 1048576,
          "network.requests.picture.answers.succeeded": 28, "network.requests.picture.failures.broken": 2,
          "network.requests.picture.failures.cancelled": 9,
          "network.requests.connection.head": 4, "network.requests.connection.answers.refused": 4,
          "sign_in.state": "signed_in", "sign_in.user": 123,
          "thumbnails.files": 120, "thumbnails.received_bytes": 3145728
        }
        """#
}
