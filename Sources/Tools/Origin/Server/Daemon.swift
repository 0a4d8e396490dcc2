import CMicroHTTPD
import Glibc

/// libmicrohttpd on 127.0.0.1 with a thread for each connection, so that what one waits for holds up no other.
///
/// ## Concurrency
/// The handle is made once and used by `stop` once. Callbacks run on the connections' threads; they get the service
/// as their closure, which this object keeps alive until all of those threads have ended.
@safe final class Daemon: @unchecked Sendable {  // `handle` is written by init only, and stop is called once
    private let service: OriginService
    private let handle: OpaquePointer
    let port: UInt16

    /// Connections at a time: far above any client's, far below the limit of descriptors.
    private static let maximumConnections: UInt32 = 512

    init(_ service: OriginService) throws(OriginError) {
        let closure = unsafe Unmanaged.passUnretained(service).toOpaque()  // kept alive by `self.service`
        guard
            let handle = unsafe rankfs_mhd_start(
                service.configuration.port, Self.maximumConnections, handleRequest, noteURI, noteCompletion,
                noteConnection, closure)
        else {
            let cause = unsafe String(cString: strerror(errno))
            throw OriginError(
                message: "Port \(service.configuration.port) of 127.0.0.1 cannot be listened on (\(cause)): "
                    + "choose another, or 0 for any free one.")
        }
        self.service = service
        unsafe self.handle = handle
        port = unsafe rankfs_mhd_port(handle)
    }

    /// Closes every connection and waits for their threads.
    func stop() {
        service.beginStopping()
        unsafe MHD_stop_daemon(handle)
    }
}

// MARK: - Callbacks

/// Gives a new connection its number, kept where its requests find it.
private func noteConnection(
    closure: UnsafeMutableRawPointer?, connection: OpaquePointer?,
    context: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, code: MHD_ConnectionNotificationCode
) {
    guard code == .CONNECTION_NOTIFY_STARTED, let closure = unsafe closure, let context = unsafe context else { return }
    let service = unsafe Unmanaged<OriginService>.fromOpaque(closure).takeUnretainedValue()  // outlives its daemon
    unsafe context.pointee = UnsafeMutableRawPointer(bitPattern: service.nextConnection())
    // It only makes answers quicker; without it they are as right.
    if let connection = unsafe connection { _ = unsafe rankfs_send_at_once(rankfs_mhd_socket(connection)) }
}

/// Makes the exchange of a request; `noteCompletion` releases it.
private func noteURI(
    closure: UnsafeMutableRawPointer?, uri: UnsafePointer<CChar>?, connection: OpaquePointer?
) -> UnsafeMutableRawPointer? {
    guard let uri = unsafe uri else { return nil }
    let number = unsafe Int(bitPattern: rankfs_mhd_socket_context(connection))
    let exchange = unsafe Exchange(target: String(cString: uri), connection: number)
    return unsafe Unmanaged.passRetained(exchange).toOpaque()
}

/// Logs a request that is over and releases its exchange.
private func noteCompletion(
    closure: UnsafeMutableRawPointer?, connection: OpaquePointer?,
    context: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, code: MHD_RequestTerminationCode
) {
    guard let closure = unsafe closure, let context = unsafe context, let kept = unsafe context.pointee else { return }
    let service = unsafe Unmanaged<OriginService>.fromOpaque(closure).takeUnretainedValue()  // outlives its daemon
    let exchange = unsafe Unmanaged<Exchange>.fromOpaque(kept).takeRetainedValue()  // retained by noteURI
    unsafe context.pointee = nil
    service.finished(exchange, completed: code == .REQUEST_TERMINATED_COMPLETED_OK)
}

/// Called once with the header, once for each part of a body, and once when all of the request is there.
private func handleRequest(
    closure: UnsafeMutableRawPointer?, connection: OpaquePointer?, url: UnsafePointer<CChar>?,
    method: UnsafePointer<CChar>?, version: UnsafePointer<CChar>?, upload: UnsafePointer<CChar>?,
    uploadSize: UnsafeMutablePointer<Int>?, context: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let closure = unsafe closure, let connection = unsafe connection, let method = unsafe method,
        let kept = unsafe context?.pointee, let uploadSize = unsafe uploadSize
    else { return .NO }
    let service = unsafe Unmanaged<OriginService>.fromOpaque(closure).takeUnretainedValue()  // outlives its daemon
    let exchange = unsafe Unmanaged<Exchange>.fromOpaque(kept).takeUnretainedValue()  // retained by noteURI
    guard exchange.request != nil else {
        unsafe exchange.request = read(connection, method: String(cString: method), exchange)
        return .YES
    }
    let count = unsafe uploadSize.pointee
    if count > 0, let upload = unsafe upload {
        let part = unsafe UnsafeRawBufferPointer(start: upload, count: count)
        guard exchange.body.count + count <= Exchange.maximumBody else { return .NO }
        unsafe exchange.body.append(contentsOf: part)
        unsafe uploadSize.pointee = 0
        return .YES
    }
    unsafe exchange.request = read(connection, method: String(cString: method), exchange)
    return unsafe Responder(service: service, connection: connection, exchange: exchange).respond()
}

private func read(_ connection: OpaquePointer, method: String, _ exchange: Exchange) -> Request {
    func header(_ name: String) -> String? {
        unsafe MHD_lookup_connection_value(connection, .HEADER_KIND, name).map { unsafe String(cString: $0) }
    }
    return Request(
        method: method, target: exchange.target, referer: header("Referer"), range: header("Range"),
        ifRange: header("If-Range"), userAgent: header("User-Agent"), host: header("Host"),
        ifNoneMatch: header("If-None-Match"), ifModifiedSince: header("If-Modified-Since"),
        session: Sessions.session(inCookie: header("Cookie")), cookies: header("Cookie"), body: exchange.body)
}
