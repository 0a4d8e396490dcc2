import Fuse
import Glibc
import Synchronization

/// A file system in memory with well-behaved and faulty files, each with one behaviour.
///
/// | name | result of reading it |
/// | --- | --- |
/// | `hello.txt` | a line, at once |
/// | `later.txt` | the same, from a task |
/// | `big` | a file on disk, by descriptor |
/// | `raw` | the same, past the page cache |
/// | `cut` | the same, but longer than that file: EIO beyond its end |
/// | `silent` | no answer, until interrupted or the deadline has passed |
/// | `stubborn` | the same from a task that ignores its cancellation |
/// | `unheard` | as `silent`, past the page cache: each reader causes its own request |
/// | `silent-lookup` | no answer even to its lookup; not listed |
/// | `dropped` | EIO, because its reply is dropped |
/// | `link` | a symbolic link to `hello.txt` |
/// | `lookups` | the number of lookups that the kernel has not forgotten, without this file's |
/// | `waiting` | the number of requests that wait for the silent names |
/// | `names` | a directory of a thousand names |
/// | `mixed` | the same, with attributes for every second name only |
///
/// ## Concurrency
///
/// Any thread: only the lookup counts change, under a lock.
final class ExampleFileSystem: FileSystem {
    /// Inode numbers of the root's children; those of names begin at `firstName` and `firstMixed`.
    enum Inode: UInt64, CaseIterable {
        case root = 1
        case hello, later, big, raw, cut, silent, stubborn, unheard, dropped, link, lookups, waiting, names, mixed

        var name: String {
            switch self {
            case .root: "/"
            case .hello: "hello.txt"
            case .later: "later.txt"
            default: "\(self)"
            }
        }
    }

    private static let silentLookup = "silent-lookup"
    private static let text = Array("Hello from a file system.\n".utf8)
    private static let firstName: UInt64 = 1000
    private static let firstMixed: UInt64 = 10_000
    private static let nameCount: UInt64 = 1000
    /// Nothing changes, so the kernel may keep everything.
    private static let day = Duration.seconds(86_400)
    /// The files that are read past the page cache.
    private static let live = [Inode.raw, .lookups, .waiting, .unheard]
    /// Bytes by which `cut`'s announced size exceeds the file.
    private static let missing: Int64 = 65_536

    private let descriptor: Int32
    private let size: Int64
    private let waiting = Atomic(0)
    private let counts = Mutex<[UInt64: UInt64]>([:])

    /// Creates the file system.
    ///
    /// - Parameters:
    ///   - descriptor: An open file, shown as `big`; it stays open.
    ///   - size: The size of that file in bytes.
    init(descriptor: Int32, size: Int64) {
        self.descriptor = descriptor
        self.size = size
    }

    func lookup(_ request: LookupRequest, reply: EntryReply) {
        let name = String(decoding: request.name, as: UTF8.self)
        if name == Self.silentLookup { return beSilent(reply) { try? await Task.sleep(for: Self.day) } }
        guard let inode = Self.inode(named: name, in: request.parent) else {
            return reply.absent(timeout: .seconds(1))
        }
        count(inode)
        reply.entry(attributes(of: inode), entryTimeout: Self.day, attributesTimeout: Self.day)
    }

    func release(_ inode: UInt64, handle: UInt64) {}

    func part(of request: ReadRequest) -> FilePart? { nil }

    func forget(_ inode: UInt64, lookups: UInt64) {
        counts.withLock { counts in
            let left = (counts[inode] ?? 0) - lookups
            counts[inode] = left == 0 ? nil : left
        }
    }

    func attributes(_ request: InodeRequest, reply: AttributesReply) {
        reply.attributes(attributes(of: request.inode), timeout: Self.day)
    }

    func readLink(_ request: InodeRequest, reply: LinkReply) {
        reply.target(Inode.hello.name)
    }

    func open(_ request: OpenRequest, reply: OpenReply) {
        let isLive = Self.live.contains { $0.rawValue == request.inode }
        reply.opened(handle: 0, keepCache: !isLive, directIO: isLive, cacheDirectory: false)
    }

    func read(_ request: ReadRequest, reply: DataReply) {
        switch Inode(rawValue: request.inode) {
        case .big, .raw, .cut:
            let end = attributes(of: request.inode).size
            let count = max(0, min(Int64(request.size), end - request.offset))
            reply.file(descriptor, offset: request.offset, count: Int(count))
        case .later:
            reply.later { () async throws(Errno) in
                await Task.yield()
                reply.bytes(Self.part(of: Self.text, request))
            }
        case .silent, .unheard:
            beSilent(reply) {
                // Ends at the cancellation, when the reader has already received EINTR.
                try? await Task.sleep(for: Self.day)
            }
        case .stubborn:
            beSilent(reply) {
                // The inner task is never cancelled: the worst case of a wait.
                await Task { try? await Task.sleep(for: Self.day) }.value
            }
        case .dropped:
            return
        case .lookups:
            let total = counts.withLock { counts in
                counts.filter { $0.key != request.inode }.values.reduce(0, +)
            }
            reply.bytes(Self.part(of: Array("\(total)\n".utf8), request))
        case .waiting:
            reply.bytes(Self.part(of: Array("\(waiting.load(ordering: .relaxed))\n".utf8), request))
        default:
            reply.bytes(Self.part(of: Self.text, request))
        }
    }

    func openDirectory(_ request: OpenRequest, reply: OpenReply) {
        reply.opened(handle: 0, keepCache: false, directIO: false, cacheDirectory: false)
    }

    func readDirectory(_ request: ReadRequest, reply: DirectoryReply) {
        let entries = Self.entries(of: request.inode)
        var next = Int(request.offset)
        while next < entries.count {
            let (name, inode) = entries[next]
            let isCounted = reply.wantsAttributes && !(request.inode == Inode.mixed.rawValue && next % 2 == 1)
            if isCounted { count(inode) }
            let known = attributes(of: inode)
            let found = reply.add(
                name, inode: inode, kind: known.kind, nextOffset: Int64(next + 1),
                attributes: isCounted ? (known, Self.day, Self.day) : nil)
            guard found else {
                if isCounted { forget(inode, lookups: 1) }
                break
            }
            next += 1
        }
        reply.send()
    }

    func statistics(_ request: InodeRequest, reply: StatisticsReply) {
        reply.statistics(blocks: 1 << 20, freeBlocks: 0, longestName: 255)
    }

    func getExtendedAttribute(_ request: ExtendedAttributeRequest, reply: ExtendedAttributeReply) {
        guard request.name == "user.colour" else { return reply.fail(.ENODATA) }
        reply.value(Array("blue".utf8))
    }

    func listExtendedAttributes(_ request: InodeRequest, reply: ExtendedAttributeReply) {
        reply.value(Array("user.colour\0".utf8))
    }

    func ioctl(_ request: IoctlRequest, reply: IoctlReply) {
        // Returns its input reversed.
        guard request.outputSize == request.input.count else { return reply.fail(.ENOTTY) }
        reply.result(0, output: request.input.reversed())
    }

    /// Never answers; counts the requests that wait.
    private func beSilent(_ reply: Reply, _ wait: @escaping @Sendable () async -> Void) {
        waiting.add(1, ordering: .relaxed)
        reply.later { () async throws(Errno) in
            await wait()
            self.waiting.subtract(1, ordering: .relaxed)
            throw .EINTR
        }
    }

    // MARK: - The tree

    private func count(_ inode: UInt64) {
        counts.withLock { $0[inode, default: 0] += 1 }
    }

    private static func part(of bytes: [UInt8], _ request: ReadRequest) -> [UInt8] {
        Array(bytes.dropFirst(Int(request.offset)).prefix(request.size))
    }

    private static func entries(of directory: UInt64) -> [(name: String, inode: UInt64)] {
        switch Inode(rawValue: directory) {
        case .root:
            Inode.allCases.filter { $0 != .root }.map { ($0.name, $0.rawValue) }
        case .names:
            (0..<nameCount).map { ("name-\($0)", firstName + $0) }
        case .mixed:
            (0..<nameCount).map { ("name-\($0)", firstMixed + $0) }
        default:
            []
        }
    }

    private static func inode(named name: String, in directory: UInt64) -> UInt64? {
        entries(of: directory).first { $0.name == name }?.inode
    }

    private func attributes(of inode: UInt64) -> Attributes {
        var kind = Attributes.Kind.file
        var length = Int64(Self.text.count)
        switch Inode(rawValue: inode) {
        case .root, .names, .mixed:
            kind = .directory
            length = 0
        case .link:
            kind = .link
            length = Int64(Inode.hello.name.utf8.count)
        case .big, .raw:
            length = size
        case .cut:
            length = size + Self.missing
        default:
            break
        }
        return Attributes(
            inode: inode, kind: kind, permissions: kind == .file ? 0o444 : 0o555, size: length, modified: 1_600_000_000,
            links: kind == .directory ? 2 : 1, user: geteuid(), group: getegid())
    }
}
