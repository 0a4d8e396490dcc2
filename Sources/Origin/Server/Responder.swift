import CMicroHTTPD

/// Sends the answer to one request.
///
/// ## Concurrency
/// Lives on its connection's thread, for the time of one callback.
@safe struct Responder {
    let service: Service
    let connection: OpaquePointer
    let exchange: Exchange

    /// Decides and queues the answer; the connection's thread may sleep here without holding up others.
    func respond() -> MHD_Result {
        guard let request = exchange.request else { return .NO }
        let isOver = isOver
        guard Pace.wait(milliseconds: Int64(service.configuration.latency), isOver: isOver) else { return .NO }
        return queue(service.answer(request), for: request, rate: service.configuration.rate)
    }

    /// Whether nobody waits for this answer any more.
    private var isOver: () -> Bool {
        let service = service
        let socket = unsafe rankfs_mhd_socket(connection)
        return { service.isStopping || Pace.isClosed(socket) }
    }

    /// Bytes that libmicrohttpd asks for at a time.
    private static let block = 64 << 10

    private func queue(_ answer: Answer, for request: Request, rate: Int?) -> MHD_Result {
        var drawn: DrawnPicture?
        if case .picture(let picture, _) = answer.body, request.method != "HEAD" {
            drawn = service.store.drawn(picture)
            guard drawn != nil else { return .NO }
        }
        exchange.status = answer.status
        let stream = BodyStream(answer, drawn: drawn, exchange: exchange, rate: rate, isOver: isOver)
        let closure = unsafe Unmanaged.passRetained(stream).toOpaque()  // released by releaseStream
        let size = answer.tellsLength ? UInt64(answer.length) : UInt64.max  // MHD_SIZE_UNKNOWN
        guard
            let response = unsafe MHD_create_response_from_callback(
                size, Self.block, readStream, closure, releaseStream)
        else {
            unsafe Unmanaged<BodyStream>.fromOpaque(closure).release()
            return .NO
        }
        defer { unsafe MHD_destroy_response(response) }
        for (name, value) in answer.headers {
            unsafe MHD_add_response_header(response, name, value)
        }
        return unsafe MHD_queue_response(connection, UInt32(answer.status), response)
    }
}

/// Hands libmicrohttpd the next bytes of an answer.
private func readStream(
    closure: UnsafeMutableRawPointer?, position: UInt64, buffer: UnsafeMutablePointer<CChar>?, room: Int
) -> Int {
    let failed = -2  // MHD_CONTENT_READER_END_WITH_ERROR
    let ended = -1  // MHD_CONTENT_READER_END_OF_STREAM
    guard let closure = unsafe closure, let buffer = unsafe buffer else { return failed }
    let stream = unsafe Unmanaged<BodyStream>.fromOpaque(closure).takeUnretainedValue()  // retained by queue()
    let space = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: room)
    guard let count = unsafe stream.next(from: Int(position), into: space) else { return failed }
    return count > 0 ? count : ended
}

/// Releases the stream of an answer that is over.
private func releaseStream(closure: UnsafeMutableRawPointer?) {
    guard let closure = unsafe closure else { return }
    unsafe Unmanaged<BodyStream>.fromOpaque(closure).release()
}
