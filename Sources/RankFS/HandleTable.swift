import Catalog
import ImageCache
import Synchronization

/// An open picture, and what it was opened as.
final class PictureHandle: Sendable {
    let picture: OpenPicture
    let node: Node
    /// The size that `stat` showed when it was opened.
    let size: Int64
    /// Whether that was only announced by a download under way: then the picture may end before it.
    let isAnnounced: Bool
    /// Whether its reads go past the kernel's pages.
    let isDirect: Bool
    /// Whether reading it puts it in front of `recent/`.
    let isNoted: Bool
    private let wasAsked = Atomic(false)

    init(_ picture: OpenPicture, node: Node, size: Int64, isAnnounced: Bool, isDirect: Bool, isNoted: Bool) {
        self.picture = picture
        self.node = node
        self.size = size
        self.isAnnounced = isAnnounced
        self.isDirect = isDirect
        self.isNoted = isNoted
    }

    /// Whether nothing was read: by whoever got everything from the kernel's pages.
    var isUnread: Bool { !wasAsked.load(ordering: .relaxed) }

    /// Bytes of it were given out.
    func noteRead() {
        if isUnread { wasAsked.store(true, ordering: .relaxed) }
    }
}

/// What is open.
enum Handle: Sendable {
    case picture(PictureHandle)
    /// An animation whose frames are read from its archive.
    case animation(AnimationFile, Node)
    /// A small text, made when it was opened.
    case text([UInt8])
    case directory(DirectoryView)
}

/// Open files and directories by the number that the kernel sends back.
///
/// ## Concurrency
///
/// Any thread may call; one lock guards the dictionary. Numbers are not used again, so a late request finds nothing
/// rather than another file.
final class HandleTable: Sendable {
    private struct State {
        var handles: [UInt64: Handle] = [:]
        var last: UInt64 = 0
    }

    private let state = Mutex(State())

    /// How many files and directories are open.
    var count: Int {
        state.withLock { $0.handles.count }
    }

    /// Keeps a handle and returns its number.
    func insert(_ handle: Handle) -> UInt64 {
        state.withLock { state in
            state.last += 1
            state.handles[state.last] = handle
            return state.last
        }
    }

    /// The handle with a number.
    subscript(number: UInt64) -> Handle? {
        state.withLock { $0.handles[number] }
    }

    /// Drops a handle and returns it.
    func remove(_ number: UInt64) -> Handle? {
        state.withLock { $0.handles.removeValue(forKey: number) }
    }
}
