import Catalog
import ImageCache
import Rankings

/// A file of the tree that is no picture of a listing: each kind is a type, which says everything that the file system asks.
protocol TreeFile: Sendable {
    /// Where it is; its inode number follows from that.
    var path: TreePath { get }
    /// The directory that holds it.
    var parent: any TreeDirectory { get }
    var lifetime: Lifetime { get }
    /// Bytes and modification time in Unix seconds, if nobody need be asked; nil otherwise.
    func knownSize(in tree: Tree) -> SizeAndTime?
    /// The same, asked for.
    func size(in tree: Tree) async throws(Failure) -> SizeAndTime
    /// What is read by who opens it, if nobody need be asked for that; nil otherwise.
    func openedNow(in tree: Tree, toOwner: Bool) -> OpenedFile?
    /// The same, asked for.
    func opened(in tree: Tree) async throws(Failure) -> OpenedFile
    /// Whether it opens without a request.
    func opens(in tree: Tree) async -> Bool
    func refusal(in tree: Tree) -> Failure?
    func audience(in tree: Tree) -> Audience
}

/// Bytes, and modification time in Unix seconds.
typealias SizeAndTime = (bytes: Int64, modified: Int64)

/// What an open file reads from.
enum OpenedFile: Sendable {
    /// A text; one that is made anew for each reader goes past the kernel's pages.
    case text([UInt8], isLive: Bool)
    case picture(OpenPicture, size: Int64)
    /// An animation, and whether it is as long as was told before.
    case animation(AnimationFile, isAsTold: Bool)
}

extension TreeFile {
    /// The name in its directory.
    var name: String { path.name }
    var lifetime: Lifetime { (TreeLimits.changing, TreeLimits.changing) }
    func knownSize(in tree: Tree) -> SizeAndTime? { nil }
    func openedNow(in tree: Tree, toOwner: Bool) -> OpenedFile? { nil }
    func opens(in tree: Tree) async -> Bool { true }
    func refusal(in tree: Tree) -> Failure? { nil }
    func audience(in tree: Tree) -> Audience { .everybody }
}

// MARK: - Stand in

/// The picture shown where there is no other yet: a framed landscape in soft colours, as picture viewers mark a place.
enum StandIn {
    /// The picture as a JPEG, 1200 x 800 pixels; always the same bytes.
    static let jpeg: [UInt8] = PackageResources.nothing_stored_jpg
}
