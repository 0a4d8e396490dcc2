import CCurl
import Glibc

// Called by libcurl on the loop's thread, within curl_multi_perform. They are functions of the file and not closures, so that
// no isolation is inferred for them. The context is the flight that `CurlEasy.setCallbacks` was given: the loop keeps it
// in its table until the easy handle has left the multi handle, so it is alive here.

/// CURLOPT_HEADERFUNCTION(3): one complete header line.
func curlHeader(
    _ bytes: UnsafeMutablePointer<CChar>, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer
) -> Int {
    let flight = unsafe Unmanaged<CurlExchange>.fromOpaque(context).takeUnretainedValue()
    let line = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
    return unsafe flight.receiveHeader(line) ? size * count : 0
}

/// CURLOPT_WRITEFUNCTION(3): some bytes of the body.
func curlBody(
    _ bytes: UnsafeMutablePointer<CChar>, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer
) -> Int {
    guard size * count > 0 else { return 0 }
    let flight = unsafe Unmanaged<CurlExchange>.fromOpaque(context).takeUnretainedValue()
    let part = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
    return unsafe flight.receiveBody(part) ? size * count : 0
}

/// Ends a connection on which what was sent has not been acknowledged for so long (TCP_USER_TIMEOUT, tcp(7)), in milliseconds:
/// a second net below the deadlines of requests, for connections that nobody waits on.
private let unacknowledgedLimit: UInt32 = 20_000

private func limitSilence(_ descriptor: curl_socket_t) {
    var limit = unacknowledgedLimit
    // One that the system refuses is missed by nobody.
    _ = unsafe setsockopt(
        descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &limit, socklen_t(MemoryLayout.size(ofValue: limit)))
}

/// CURLOPT_OPENSOCKETFUNCTION(3): the address that libcurl is about to connect to.
func curlOpenSocket(
    _ context: UnsafeMutableRawPointer, _ purpose: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>
) -> curl_socket_t {
    let flight = unsafe Unmanaged<CurlExchange>.fromOpaque(context).takeUnretainedValue()
    guard unsafe flight.mayConnect(to: rankfs_curl_sockaddr_address(address)) else { return CURL_SOCKET_BAD }
    let type = unsafe address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = unsafe socket(address.pointee.family, type, address.pointee.protocol)
    guard descriptor >= 0 else { return CURL_SOCKET_BAD }
    limitSilence(descriptor)
    flight.pool?.loopGuard.opened(descriptor)
    return descriptor
}

/// CURLOPT_CLOSESOCKETFUNCTION(3): a socket that libcurl is done with.
///
/// The context is the loop's guard, which pools keep alive.
func curlCloseSocket(_ context: UnsafeMutableRawPointer, _ descriptor: curl_socket_t) -> Int32 {
    unsafe Unmanaged<LoopGuard>.fromOpaque(context).takeUnretainedValue().close(descriptor)
}
