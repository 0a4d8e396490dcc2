import CMicroHTTPD
import Glibc

/// A connection's socket, for answers that libmicrohttpd is too honest to send.
struct RawSocket {
    private let descriptor: Int32

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// Sends all bytes, waiting for room; false when nobody reads any more.
    func send(_ bytes: UnsafeRawBufferPointer, isOver: () -> Bool) -> Bool {
        var done = 0
        while done < bytes.count {
            let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[done...])
            let count = unsafe Glibc.send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
            if count >= 0 {
                done += count
                continue
            }
            guard errno == EAGAIN || errno == EINTR, !isOver() else { return false }
            var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            unsafe poll(&entry, 1, Int32(Pace.slice))
        }
        return true
    }

    /// Resets the connection at once: connect(2) with AF_UNSPEC dissolves a TCP association, which sends RST.
    func reset() {
        _ = rankfs_reset(descriptor)
    }
}
