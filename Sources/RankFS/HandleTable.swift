import Catalog
import ImageCache
import Synchronization

/// What is open.
enum Handle: Sendable {
    /// A picture, the listing's entry it belongs to, and the size that `stat` showed when it was opened.
    case picture(OpenPicture, node: Node, size: Int64)
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
