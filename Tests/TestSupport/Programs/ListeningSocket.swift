package import Foundation
internal import Glibc

/// A socket that listens on a free port of 127.0.0.1.
///
/// A server that inherits it has that port for certain, and answers what connects before it is ready.
package struct ListeningSocket {
    package let handle: FileHandle
    package let port: UInt16

    /// - Parameter isBlocking: Whether accept(2) waits. What several workers share must not: one would sleep in it until the next
    ///   connection, with all that it serves.
    /// - Throws: ``Tool/Failure`` where no port is free.
    package init(isBlocking: Bool = false) throws {
        let kind = [SOCK_STREAM, SOCK_CLOEXEC] + (isBlocking ? [] : [SOCK_NONBLOCK])
        let descriptor = socket(AF_INET, kind.reduce(0) { $0 | Int32($1.rawValue) }, 0)
        handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        // What has ended keeps the port for a minute (TIME_WAIT): a server that is started again may have it nevertheless.
        var reuses: Int32 = 1
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuses, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                unsafe bind(descriptor, generic, length) | listen(descriptor, 511)
                    | getsockname(descriptor, generic, &length)
            }
        }
        guard descriptor >= 0, status == 0 else { throw Tool.Failure() }
        port = UInt16(bigEndian: address.sin_port)
    }
}
