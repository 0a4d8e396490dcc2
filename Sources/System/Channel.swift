import CLinux
import Glibc

/// One end of a stream socket between two processes that exchange messages.
///
/// A message is four bytes of length, lowest first, then that many bytes.
///
/// ## Concurrency
///
/// One thread at a time uses it.
package struct Channel: Sendable {
    package let descriptor: Int32

    /// The other end is closed; as after every error of a message, the channel cannot be used afterwards.
    package static let ended = SystemError(code: EPIPE)
    /// The deadline passed.
    package static let tooSlow = SystemError(code: ETIMEDOUT)
    /// The declared length of a message exceeds the limit.
    package static let tooLong = SystemError(code: EMSGSIZE)

    /// The time by which a message must be through; nil for no limit.
    package typealias Deadline = ContinuousClock.Instant?

    package init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// Makes two ends, which started programs do not inherit by default.
    package static func pair() throws(SystemError) -> (Channel, Channel) {
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw .last() }
        ends = ends.map { end in Descriptors.own.take { end } }
        guard !ends.contains(where: { $0 < 0 }) else {
            for end in ends where end >= 0 { Glibc.close(end) }
            throw SystemError(code: EMFILE)
        }
        return (Channel(ends[0]), Channel(ends[1]))
    }

    package func close() {
        Glibc.close(descriptor)
    }

    /// Sends a message, and a copy of a descriptor with it.
    package func send(_ message: [UInt8], with passed: Int32? = nil, by deadline: Deadline = nil) throws(SystemError) {
        let head = (0..<4).map { UInt8(truncatingIfNeeded: message.count >> (8 * $0)) }
        try sendAll(head[...], with: passed, by: deadline)
        try sendAll(message[...], with: nil, by: deadline)
    }

    /// Receives a message; a descriptor that came with it is ignored.
    ///
    /// Memory grows with the bytes that arrive, not with the declared length.
    package func receive(upTo longest: Int, by deadline: Deadline = nil) throws(SystemError) -> [UInt8] {
        var none: Int32?
        return try receive(upTo: longest, passed: &none, takes: false, by: deadline)
    }

    /// Receives a message and the descriptor that came with it, which the caller must close.
    package func receiveWithDescriptor(upTo longest: Int) throws(SystemError) -> (message: [UInt8], passed: Int32?) {
        var passed: Int32?
        do throws(SystemError) {
            let message = try receive(upTo: longest, passed: &passed, takes: true, by: nil)
            return (message, passed)
        } catch {
            if let passed { Glibc.close(passed) }
            throw error
        }
    }

    // MARK: -

    /// The bytes of one read.
    private static let part = 256 << 10

    private func sendAll(_ bytes: ArraySlice<UInt8>, with passed: Int32?, by deadline: Deadline) throws(SystemError) {
        var rest = bytes
        var passed = passed ?? -1
        while !rest.isEmpty {
            if deadline != nil { try Files.wait(descriptor, for: POLLOUT, by: deadline) }
            let flags = deadline == nil ? 0 : Int32(MSG_DONTWAIT)
            let count = unsafe rest.withUnsafeBytes { bytes in
                unsafe rankfs_send(descriptor, bytes.baseAddress, bytes.count, passed, flags)
            }
            guard count >= 0 else {
                if errno == EINTR || errno == EAGAIN { continue }
                throw errno == ECONNRESET ? Self.ended : .last()
            }
            passed = -1
            rest = rest.dropFirst(count)
        }
    }

    private func receive(
        upTo longest: Int, passed: inout Int32?, takes: Bool, by deadline: Deadline
    ) throws(SystemError) -> [UInt8] {
        let head = try receiveAll(4, passed: &passed, takes: takes, by: deadline)
        let count = head.reversed().reduce(0) { $0 << 8 | Int($1) }
        guard count <= longest else { throw Self.tooLong }
        return try receiveAll(count, passed: &passed, takes: takes, by: deadline)
    }

    private func receiveAll(
        _ wanted: Int, passed: inout Int32?, takes: Bool, by deadline: Deadline
    ) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: min(wanted, Self.part))
        while bytes.count < wanted {
            if deadline != nil { try Files.wait(descriptor, for: POLLIN, by: deadline) }
            let flags = deadline == nil ? 0 : Int32(MSG_DONTWAIT)
            var received: Int32 = -1
            let most = min(buffer.count, wanted - bytes.count)
            let count = unsafe buffer.withUnsafeMutableBytes { buffer in
                guard takes else { return unsafe rankfs_receive(descriptor, buffer.baseAddress, most, nil, flags) }
                return unsafe rankfs_receive(descriptor, buffer.baseAddress, most, &received, flags)
            }
            if received >= 0 {
                if let passed { Glibc.close(passed) }
                passed = received
            }
            guard count >= 0 else {
                if errno == EINTR || errno == EAGAIN { continue }
                throw errno == ECONNRESET ? Self.ended : .last()
            }
            guard count > 0 else { throw Self.ended }
            bytes += buffer[..<count]
        }
        return bytes
    }
}
