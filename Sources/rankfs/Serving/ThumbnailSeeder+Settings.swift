import Glibc
import HTTP
import Thumbnails

extension ThumbnailSeeder {
    /// What seeds the thumbnails of a mount; nil if they are off or the user has no place for them.
    ///
    /// Only looks of the user who mounts count: nobody else's desktop would find them.
    init?(
        _ settings: Settings, home: Home, place: CachePlace, mountPoint: String, transport: any Transport, log: Log
    ) {
        guard settings.makesThumbnails, let directory = home.thumbnailDirectory else { return nil }
        self.init(
            maker: ThumbnailMaker(
                directory: ThumbnailDirectory(path: directory, ledger: ThumbnailLedger(path: place.thumbnails)),
                mountPoint: mountPoint, client: HTTPClient(transport: transport)),
            user: geteuid(), report: { log.debug($0) })
    }
}
