import Catalog
import Rankings
import Synchronization

/// An open directory: what it showed keeps its place until it is closed or read from its beginning again.
///
/// Offsets are places: 0 and 1 are `.` and `..`, entries follow, so seekdir(3) works.
///
/// ## Concurrency
///
/// Any thread may call; the listing only grows, what changes besides has locks of its own.
final class DirectoryView: Sendable {
    /// What a directory's entries come from.
    enum Content: Sendable {
        /// Names known when the directory was opened or rewound.
        case fixed([NamedNode])
        /// Files and directories that stand beside the pictures, and the pictures.
        case listing(extras: [NamedNode], Listing)
    }

    /// Places before the first entry: `.` and `..`.
    static let dots = 2

    let directory: any TreeDirectory
    /// Whether no person waits for its entries.
    let isNobodys: Bool
    /// Whether a file manager counts or previews them.
    let isGlance: Bool
    /// The program that opened it when nothing was known of it.
    let discoverer: Int32?
    /// The directory in which who glances at it saw it, nil once that is told; and how often it was told that there are no more entries.
    private let glance: Mutex<(from: String?, ends: Int)>
    private let shown: Mutex<Content>
    private let isRead = Mutex(false)
    private let lastViewer = Mutex(ThumbnailViewer.none)

    init(
        _ directory: any TreeDirectory, _ content: Content, isNobodys: Bool = false, glancedFrom: String? = nil,
        discoverer: Int32? = nil
    ) {
        self.directory = directory
        shown = Mutex(content)
        self.isNobodys = isNobodys
        isGlance = glancedFrom != nil
        glance = Mutex((glancedFrom, 0))
        self.discoverer = discoverer
    }

    /// For whom it is read.
    var reader: WalkRecognition.Reader { isGlance ? .glance : isNobodys ? .walker : .person }

    /// What its entries come from; another one from when it was rewound.
    var content: Content {
        get { shown.withLock { $0 } }
        set { shown.withLock { $0 = newValue } }
    }

    /// Whether it has been read from.
    var wasRead: Bool { isRead.withLock { $0 } }

    /// Who reads it now.
    var viewer: ThumbnailViewer {
        get { lastViewer.withLock { $0 } }
        set { lastViewer.withLock { $0 = newValue } }
    }

    /// Its reader is told that there are no more entries, or closes it: the directory in which it saw this one, if the glance is over
    /// now.
    ///
    /// GIO comes to the end twice: it reads up to a thousand names, then all their attributes, then on (glocalfileenumerator.c).
    func endGlance(isClosed: Bool) -> String? {
        glance.withLock { glance in
            glance.ends += isClosed ? 2 : 1
            guard glance.ends > 1 else { return nil }
            defer { glance.from = nil }
            return glance.from
        }
    }

    /// Notes a read; true for the first one.
    func noteRead() -> Bool {
        isRead.withLock { isRead in
            defer { isRead = true }
            return !isRead
        }
    }
}
