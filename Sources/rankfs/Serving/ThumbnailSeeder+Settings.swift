import Glibc
import ImageCache
import Thumbnails

extension ThumbnailSeeder {
    /// What makes the thumbnails of a mount; nil if they are off.
    ///
    /// The home is that of the user who mounts, and nobody else's desktop looks there; shared ones are for everybody.
    init?(_ settings: Settings, home: Home, place: CachePlace, mountPoint: String, parts: Parts, log: Log) {
        guard settings.makesThumbnails else { return nil }
        let store = home.thumbnailDirectory.map { directory in
            HomeThumbnails(
                user: geteuid(),
                directory: ThumbnailDirectory(path: directory, ledger: ThumbnailLedger(path: place.thumbnails)),
                mountPoint: mountPoint)
        }
        let cache = parts.cache
        let shelf = ThumbnailShelf(
            kept: { await cache.kept($0) },
            // Without room they are made again for the next who asks.
            keep: { try? await cache.keep($0, as: $1) })
        self.init(
            maker: ThumbnailMaker(
                home: store, shelf: shelf, host: parts.images, renderer: parts.renderer),
            mayAsk: parts.maySpend, report: { log.debug($0) })
    }
}
