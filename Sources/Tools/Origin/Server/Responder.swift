import CMicroHTTPD

/// Sends the answer to one request.
///
/// ## Concurrency
/// Lives on its connection's thread, for the time of one callback.
@safe struct Responder {
    let service: OriginService
    let connection: OpaquePointer
    let exchange: Exchange

    /// Decides and queues the answer; the connection's thread may sleep here without holding up others.
    func respond() -> MHD_Result {
        guard let request = exchange.request else { return .NO }
        if request.path.hasPrefix(OriginService.controlPath) {
            return queue(service.control(request), Delivery(), for: request)
        }
        guard Pace.wait(milliseconds: Int64(service.configuration.latency), isOver: isOver) else { return .NO }
        switch service.outcome(request, exchange) {
        case .answer(let answer, let delivery):
            return delivery.raw.map { write(answer, delivery, $0, for: request) }
                ?? queue(answer, delivery, for: request)
        case .silence(let milliseconds):
            _ = Pace.wait(milliseconds: milliseconds, isOver: isOver)
            return .NO
        case .close:
            return .NO
        case .reset:
            RawSocket(socket).reset()
            return .NO
        }
    }

    // MARK: -

    /// Bytes that libmicrohttpd asks for at a time.
    private static let block = 64 << 10

    private var socket: Int32 {
        unsafe rankfs_mhd_socket(connection)
    }

    /// Whether nobody waits for this answer any more.
    private var isOver: () -> Bool {
        let service = service
        let socket = socket
        return { service.isStopping || Pace.isClosed(socket) }
    }

    /// Nil if the picture cannot be drawn.
    private func stream(_ answer: Response, _ delivery: Delivery, for request: Request) -> BodyStream? {
        var drawn: DrawnPicture?
        if case .picture(let picture, _) = answer.body, request.method != "HEAD" {
            drawn = service.store.drawn(picture)
            guard drawn != nil else { return nil }
        }
        return BodyStream(
            answer, delivery, drawn: drawn, exchange: exchange, rate: service.configuration.rate, socket: socket,
            isOver: isOver)
    }

    private func queue(_ answer: Response, _ delivery: Delivery, for request: Request) -> MHD_Result {
        guard let stream = stream(answer, delivery, for: request) else { return .NO }
        exchange.status = answer.status
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
        // libmicrohttpd 0.9.75 ends the chunks of a body that HEAD does not have, before the connection's next answer.
        if request.method == "HEAD", !answer.tellsLength {
            unsafe MHD_add_response_header(response, "Connection", "close")
        }
        return unsafe MHD_queue_response(connection, UInt32(answer.status), response)
    }

    private func write(
        _ answer: Response, _ delivery: Delivery, _ raw: Delivery.RawHeader, for request: Request
    ) -> MHD_Result {
        guard let stream = stream(answer, delivery, for: request) else { return .NO }
        exchange.status = answer.status
        exchange.rawCompleted = RawAnswer.send(
            answer, raw, stream: request.method == "HEAD" ? nil : stream, to: RawSocket(socket), isOver: isOver)
        return .NO  // closes the connection
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
    unsafe Unmanaged<BodyStream>.fromOpaque(closure).release()  // retained by queue()
}
