package import Rankings
import Dispatch
import Glibc
import Synchronization
import System

/// The embedded origin: the API and the image hosts of a service over loopback HTTP, with pictures that it draws.
///
/// ## Concurrency
/// May be used from any thread. Each connection has its own thread, so that a wait on one delays no other. A lock guards the set of
/// open sockets, and sockets are closed under it: a descriptor that is shut down here cannot have been reused.
package final class OriginServer: Sendable {
    /// `http://127.0.0.1:PORT`, for both `api_url` and `image_url`.
    package let url: String
    private let service: OriginService
    private let descriptor: Int32
    /// The open sockets; nil once the origin has stopped.
    private let open = Mutex<Set<Int32>?>([])
    private let threads = DispatchGroup()

    /// Connections that may wait to be accepted.
    private static let backlog: Int32 = 512

    /// Starts serving on its own threads.
    ///
    /// Throws one sentence with cause and remedy.
    package init(_ configuration: OriginConfiguration) throws(Failure) {
        service = try OriginService(configuration)
        let port = configuration.port
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var on: Int32 = 1
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = unsafe withUnsafeMutableBytes(of: &address) { bytes in
            guard let address = unsafe bytes.assumingMemoryBound(to: sockaddr.self).baseAddress else { return false }
            return unsafe bind(descriptor, address, size) == 0 && listen(descriptor, Self.backlog) == 0
                && getsockname(descriptor, address, &size) == 0
        }
        self.descriptor = descriptor
        url = "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))"
        guard bound else {
            defer { close(descriptor) }
            throw Failure.last {
                "Port \(port) of 127.0.0.1 cannot be listened on (\($0)): choose another, or 0 for any free one."
            }
        }
        run { $0.accept() }
    }

    /// Stops serving; open connections are closed.
    ///
    /// Returns when every thread of the origin has ended, well within a second. Calling it again does nothing.
    package func stop() {
        let wasOpen = open.withLock { open in
            guard let sockets = open else { return false }
            service.beginStopping()
            shutdown(descriptor, Int32(SHUT_RDWR))
            for socket in sockets { shutdown(socket, Int32(SHUT_RDWR)) }
            open = nil
            return true
        }
        guard wasOpen else { return }
        threads.wait()
        close(descriptor)
    }

    // MARK: -

    private func accept() {
        var number = 0
        while !service.isStopping {
            let socket = Glibc.accept(descriptor, nil, nil)
            guard socket >= 0 else {
                // No descriptor is available: tries again until one is.
                _ = Pace.wait(milliseconds: Pace.slice) { service.isStopping }
                continue
            }
            var on: Int32 = 1
            unsafe setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
            guard open.withLock({ $0?.insert(socket) != nil }) else {
                close(socket)
                return
            }
            number += 1
            let connection = ServedConnection(service, socket: socket, number: number)
            run { origin in
                connection.serve()
                origin.open.withLock { open in
                    open?.remove(socket)
                    close(socket)
                }
            }
        }
    }

    /// Runs a body on its own thread, or on this one if no thread can be created.
    private func run(_ body: @escaping @Sendable (OriginServer) -> Void) {
        threads.enter()
        let main: @Sendable () -> Void = { [self] in
            body(self)
            threads.leave()
        }
        if !OwnThread.start(main) { main() }
    }
}
