import Thumbnails

extension StatusDocument {
    /// What was done for file managers since the start.
    struct ThumbnailFigures: Codable, Hashable, Sendable {
        /// Thumbnail files written.
        var files: Int
        /// Bytes of small previews received for them.
        var receivedBytes: Int64
    }
}

extension StatusDocument.ThumbnailFigures {
    init(_ figures: ThumbnailSeeder.Figures) {
        files = figures.files
        receivedBytes = figures.bytes
    }

    var metrics: [MetricFamily] {
        [
            .counter("rankfs_thumbnails_total", "Thumbnail files written.", [.init(files)]),
            .counter(
                "rankfs_thumbnail_received_bytes_total", "Bytes of previews received for thumbnails.",
                [.init(receivedBytes)]),
        ]
    }

    /// What `rankfs status` shows.
    var summary: [String] {
        guard files > 0 else { return [] }
        return [
            "  thumbnails \(Counted.text(files, "file")) for file managers, from "
                + "\(ValueParsers.sizeText(receivedBytes)) of previews"
        ]
    }
}
