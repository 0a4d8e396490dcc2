import Catalog
import ImageCache
import Rankings

/// A file of the tree that is no picture of a listing: each kind is a type, which answers every question of the file system.
protocol TreeFile: Sendable {
    /// The path of the file, from which its inode number follows.
    var path: TreePath { get }
    var lifetime: Lifetime { get }
    /// Returns size in bytes and modification time in Unix seconds, if known without a request; otherwise nil.
    func knownSize(in tree: Tree) -> SizeAndTime?
    /// Returns size and modification time, with a request if needed.
    func size(in tree: Tree) async throws(Failure) -> SizeAndTime
    /// Returns the contents for a reader, if known without a request; otherwise nil.
    func openedNow(in tree: Tree, toOwner: Bool) -> OpenedFile?
    /// Returns the contents, with a request if needed.
    func opened(in tree: Tree) async throws(Failure) -> OpenedFile
    /// Whether it opens without a request.
    func opens(in tree: Tree) async -> Bool
    /// The work whose animation it is, and the rendition that is stored once it was encoded; nil for other files.
    var encoded: (work: WorkID, rendition: Rendition)? { get }
    func refusal(in tree: Tree) -> Failure?
    func audience(in tree: Tree) -> Audience
}

/// The size in bytes, and the modification time in Unix seconds.
typealias SizeAndTime = (bytes: Int64, modified: Int64)

/// The contents of an open file.
enum OpenedFile: Sendable {
    /// A text; a text made for each reader bypasses the kernel's pages.
    case text([UInt8], isLive: Bool)
    case picture(OpenPicture, size: Int64)
    /// An animation, and whether its length equals the length that was reported before.
    case animation(AnimationFile, isAsTold: Bool)
}

extension TreeFile {
    /// The name in its directory.
    var name: String { path.name }
    var lifetime: Lifetime { (TreeLimits.changing, TreeLimits.changing) }
    func knownSize(in tree: Tree) -> SizeAndTime? { nil }
    func openedNow(in tree: Tree, toOwner: Bool) -> OpenedFile? { nil }
    func opens(in tree: Tree) async -> Bool { true }
    var encoded: (work: WorkID, rendition: Rendition)? { nil }
    func refusal(in tree: Tree) -> Failure? { nil }
    func audience(in tree: Tree) -> Audience { .everybody }
}

// MARK: - Stand in
