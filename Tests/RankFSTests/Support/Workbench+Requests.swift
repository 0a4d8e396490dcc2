import TestSupport
import Foundation
@testable import Fuse
import Glibc
import Rankings
import Testing

@testable import RankFS

/// What an open directory shows.
typealias Names = [DirectoryEntry]

extension Workbench {
    /// What the file system answers to a request.
    private func answered(_ ask: (@escaping @Sendable (Answer) -> Void) -> Void) async -> Answer {
        await withCheckedContinuation { continuation in ask { continuation.resume(returning: $0) } }
    }

    func lookup(_ parent: UInt64, _ name: [UInt8]) async -> Answer {
        await answered {
            fileSystem.lookup(
                LookupRequest(parent: parent, name: name, caller: Self.caller), reply: EntryReply(answer: $0))
        }
    }

    /// Looks up a path below the mount point, one name after the other; the answer is the last one's.
    func walk(_ path: String) async -> Answer {
        var parent = InodeTable.root
        var answer = Answer.absent(timeout: .zero)
        for name in path.split(separator: "/") {
            answer = await lookup(parent, Array(name.utf8))
            guard let attributes = answer.attributes else { return answer }
            parent = attributes.inode
        }
        return answer
    }

    /// The attributes of a path that must be there.
    func stat(_ path: String, _ place: SourceLocation = #_sourceLocation) async throws -> Attributes {
        let answer = await walk(path)
        return try #require(answer.attributes, "\(path): \(answer)", sourceLocation: place)
    }

    func attributes(_ inode: UInt64) async -> Answer {
        await answered {
            fileSystem.attributes(InodeRequest(inode: inode, caller: Self.caller), reply: AttributesReply(answer: $0))
        }
    }

    func readLink(_ inode: UInt64) async -> Answer {
        await answered {
            fileSystem.readLink(InodeRequest(inode: inode, caller: Self.caller), reply: LinkReply(answer: $0))
        }
    }

    func open(_ inode: UInt64, flags: Int32 = O_RDONLY) async -> Answer {
        await answered {
            fileSystem.open(OpenRequest(inode: inode, flags: flags, caller: Self.caller), reply: OpenReply(answer: $0))
        }
    }

    func read(_ inode: UInt64, _ handle: UInt64, _ offset: Int64, _ size: Int) async -> Answer {
        let request = ReadRequest(inode: inode, handle: handle, offset: offset, size: size, caller: Self.caller)
        // In this order, as Fuse asks.
        if let part = fileSystem.part(of: request) {
            return withExtendedLifetime(part) {
                Self.copied(.file(descriptor: part.descriptor, offset: part.offset, count: part.count))
            }
        }
        return await withCheckedContinuation { continuation in
            fileSystem.read(request, reply: DataReply { continuation.resume(returning: Self.copied($0)) })
        }
    }

    /// Opens, reads in pieces as the kernel does, and closes.
    func contents(_ inode: UInt64, piece: Int = 131_072, flags: Int32 = O_RDONLY) async throws -> [UInt8] {
        let opened = await open(inode, flags: flags)
        guard let handle = opened.handle else { throw Unexpected(answer: opened) }
        defer { fileSystem.release(inode, handle: handle) }
        var bytes: [UInt8] = []
        while true {
            let answer = await read(inode, handle, Int64(bytes.count), piece)
            guard case .bytes(let more) = answer else { throw Unexpected(answer: answer) }
            if more.isEmpty { return bytes }
            bytes += more
        }
    }

    func openDirectory(_ inode: UInt64) async -> Answer {
        await answered {
            fileSystem.openDirectory(
                OpenRequest(inode: inode, flags: O_RDONLY | O_DIRECTORY, caller: Self.caller),
                reply: OpenReply(answer: $0))
        }
    }

    func readDirectory(
        _ inode: UInt64, _ handle: UInt64, _ offset: Int64, size: Int = 4096, plus: Bool = true
    ) async -> Answer {
        await answered {
            fileSystem.readDirectory(
                ReadRequest(inode: inode, handle: handle, offset: offset, size: size, caller: Self.caller),
                reply: DirectoryReply(size: size, wantsAttributes: plus, answer: $0))
        }
    }

    /// Reads a whole directory and closes it.
    func list(_ inode: UInt64, size: Int = 4096, plus: Bool = true) async throws -> Names {
        let opened = await openDirectory(inode)
        guard let handle = opened.handle else { throw Unexpected(answer: opened) }
        defer { fileSystem.release(inode, handle: handle) }
        var entries: Names = []
        while true {
            let answer = await readDirectory(
                inode, handle, entries.last?.nextOffset ?? 0, size: size, plus: plus)
            guard let more = answer.entries(plus: plus) else { throw Unexpected(answer: answer) }
            if more.isEmpty { return entries }
            entries += more
        }
    }

    func names(_ path: String) async throws -> [String] {
        let inode = path.isEmpty ? InodeTable.root : try await stat(path).inode
        return try await list(inode).map { String(decoding: $0.name, as: UTF8.self) }
    }

    func attribute(_ inode: UInt64, _ name: String) async -> Answer {
        await answered {
            fileSystem.getExtendedAttribute(
                ExtendedAttributeRequest(inode: inode, name: name, caller: Self.caller),
                reply: ExtendedAttributeReply(answer: $0))
        }
    }

    func attributeNames(_ inode: UInt64) async throws -> [String] {
        let answer = await answered {
            fileSystem.listExtendedAttributes(
                InodeRequest(inode: inode, caller: Self.caller), reply: ExtendedAttributeReply(answer: $0))
        }
        guard case .extendedAttribute(let bytes) = answer else { throw Unexpected(answer: answer) }
        return bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Gives a command for an opened inode, or for the one that an argument names.
    func ioctl(
        _ inode: UInt64, by handle: UInt64 = 0, _ command: MountCommand, of named: UInt64? = nil
    ) async -> Answer {
        let input = named.map { number in (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } } ?? []
        let number = command.rawValue | (named == nil ? 0 : MountCommand.onInode)
        return await answered {
            fileSystem.ioctl(
                IoctlRequest(
                    inode: inode, handle: handle, command: number, input: input, outputSize: 0, caller: Self.caller),
                reply: IoctlReply(answer: $0))
        }
    }

    func statistics() async -> Answer {
        await answered {
            fileSystem.statistics(
                InodeRequest(inode: InodeTable.root, caller: Self.caller), reply: StatisticsReply(answer: $0))
        }
    }

    /// Bytes in place of a descriptor, which is open only while the answer is given.
    private static func copied(_ answer: Answer) -> Answer {
        guard case .file(let descriptor, let offset, let count) = answer else { return answer }
        var bytes = [UInt8](repeating: 0, count: count)
        let read = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, count, off_t(offset)) }
        return read == count ? .bytes(bytes) : .failure(.EIO)
    }

    struct Unexpected: Error {
        let answer: Answer
    }
}

extension Answer {
    /// A value of an extended attribute as text.
    var text: String? {
        if case .extendedAttribute(let bytes) = self { String(decoding: bytes, as: UTF8.self) } else { nil }
    }

    /// Whether a name was answered with what it stands for.
    var isTold: Bool { attributes != nil }

    /// What a file or directory was opened with.
    var opened: (handle: UInt64, keepsCache: Bool, isDirect: Bool, isCached: Bool)? {
        if case .opened(let handle, let keeps, let direct, let cached) = self {
            (handle, keeps, direct, cached)
        } else {
            nil
        }
    }

    var handle: UInt64? { opened?.handle }
    var isOpened: Bool { opened != nil }

    /// What a name stands for.
    var attributes: Attributes? {
        if case .entry(let attributes, _, _) = self { attributes } else { nil }
    }

    /// Whether a name was answered as absent.
    var isAbsent: Bool {
        if case .absent = self { true } else { false }
    }
}
