import ImageCache
import Rankings

/// An entry of the tree: a directory, a file, a picture or a link.
protocol TreeEntry: Sendable {
    /// The path below the mount point, from which the inode number follows.
    var path: TreePath { get }
    /// How long the kernel may keep the name and its attributes.
    func lifetime(in tree: Tree) -> Lifetime
    /// Whether it exists in the tree under the source and the options.
    func isThere(in tree: Tree) -> Bool
    /// The reason why it must not be shown now; nil if there is none.
    ///
    /// Checked again where the kernel may have cached the name.
    func refusal(in tree: Tree) -> Failure?
    func audience(in tree: Tree) -> Audience
    /// Whether it opens without a request; of a directory, whether an entry in it does.
    func opens(in tree: Tree) async -> Bool
}

extension TreeEntry {
    func isThere(in tree: Tree) -> Bool { true }
    func refusal(in tree: Tree) -> Failure? { nil }
    func audience(in tree: Tree) -> Audience { .everybody }
    func opens(in tree: Tree) async -> Bool { true }
}

/// A file of the tree that is no picture of a listing: each kind is a type, which answers every question of the file system.
protocol TreeFile: TreeEntry {
    /// Returns size in bytes and modification time in Unix seconds, if known without a request; otherwise nil.
    func knownSize(in tree: Tree) -> SizeAndTime?
    /// Returns size and modification time, with a request if needed.
    func size(in tree: Tree) async throws(Failure) -> SizeAndTime
    /// Returns the contents for a reader, if known without a request; otherwise nil.
    func openedNow(in tree: Tree, toOwner: Bool) -> OpenedText?
    /// Returns the contents, with a request if needed.
    func opened(in tree: Tree) async throws(Failure) -> OpenedFile
    /// The work whose animation it is, and the rendition that is stored once it was encoded; nil for other files.
    var encoded: (work: WorkID, rendition: Rendition)? { get }
}

/// The size in bytes, and the modification time in Unix seconds.
typealias SizeAndTime = (bytes: Int64, modified: Int64)

/// A text; one made for each reader bypasses the kernel's pages.
typealias OpenedText = (text: [UInt8], isLive: Bool)

/// The contents of an open file.
enum OpenedFile: Sendable {
    case text([UInt8], isLive: Bool)
    case picture(OpenPicture, size: Int64)
    /// An animation, and whether its length equals the length that was reported before.
    case animation(AnimationFile, isAsTold: Bool)
}

extension TreeFile {
    /// The name in its directory.
    var name: String { path.name }
    func lifetime(in tree: Tree) -> Lifetime { (TreeLimits.changing, TreeLimits.changing) }
    func knownSize(in tree: Tree) -> SizeAndTime? { nil }
    func openedNow(in tree: Tree, toOwner: Bool) -> OpenedText? { nil }
    func opened(in tree: Tree) async throws(Failure) -> OpenedFile { throw .absent }
    var encoded: (work: WorkID, rendition: Rendition)? { nil }

    func size(in tree: Tree) async throws(Failure) -> SizeAndTime {
        guard let size = knownSize(in: tree) else { throw .absent }
        return size
    }
}

// MARK: - Stand in
