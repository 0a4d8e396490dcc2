package import Catalog
import Fuse
package import ImageCache
package import Rankings

/// The file system: what paths, inodes, attributes and reads of a mount mean.
package final class RankFileSystem: FileSystem {
    /// What a mount is made with.
    package struct Configuration: Sendable {
        package var user: UInt32
        package var group: UInt32
        package var rendition: Rendition
        /// How many entries of a ranking are shown at most.
        package var top: Int?
        /// The text of `/.rankfs/status.json`, made anew for each reader.
        package var status: @Sendable () -> [UInt8]
        /// The text of `/.rankfs/version`.
        package var version: String
        /// Told once for each failing request: a sentence with cause and remedy.
        package var report: @Sendable (String) -> Void

        package init(
            user: UInt32, group: UInt32, rendition: Rendition, top: Int?, status: @escaping @Sendable () -> [UInt8],
            version: String, report: @escaping @Sendable (String) -> Void
        ) {
            self.user = user
            self.group = group
            self.rendition = rendition
            self.top = top
            self.status = status
            self.version = version
            self.report = report
        }
    }

    package init(
        _ configuration: Configuration, source: any RankingSource, catalog: Catalog, cache: ImageCache
    ) {
        fatalError("written by the owner of RankFS: \(configuration) \(source) \(catalog) \(cache)")
    }
}
