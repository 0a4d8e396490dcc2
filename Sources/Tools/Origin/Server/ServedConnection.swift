import Glibc
import Rankings
import System

/// One connection: reads one request after the other (RFC 9112) and sends the service's answer, or that answer changed by a fault.
///
/// ## Concurrency
/// Belongs to its thread.
struct ServedConnection: Sendable {
    private let service: OriginService
    private let socket: Int32
    private let number: Int

    init(_ service: OriginService, socket: Int32, number: Int) {
        self.service = service
        self.socket = socket
        self.number = number
    }

    /// The largest header and body in bytes: scripts of faults are a few lines.
    private static let maximumHeader = 64 << 10
    private static let maximumBody = 1 << 20
    /// Bytes sent at a time.
    private static let block = 64 << 10

    /// Serves until the origin or the client closes the connection.
    func serve() {
        var received: [UInt8] = []
        while let request = read(&received) {
            var exchange = Exchange(connection: number, request: request)
            let isSent = respond(&exchange)
            if !exchange.completed { service.finished(exchange) }
            guard isSent, !exchange.closes else { return }
        }
    }

    /// Whether an answer is no longer awaited: the origin stops, or the client has closed the connection.
    private var isOver: Bool { service.isStopping || Pace.isClosed(socket) }

    // MARK: - Reading

    /// The next request; nil at the end and for bytes that are no HTTP.
    ///
    /// Bytes received after the request stay in the buffer.
    private func read(_ received: inout [UInt8]) -> Request? {
        let blank = Array("\r\n\r\n".utf8)
        while true {
            if let end = received.firstRange(of: blank) {
                guard var request = Request(head: received[..<end.lowerBound]) else { return nil }
                received.removeSubrange(..<end.upperBound)
                let length = Int(request["content-length"] ?? "0") ?? -1
                guard (0...Self.maximumBody).contains(length), request["transfer-encoding"] == nil else { return nil }
                if request["expect"] != nil, !send(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)) { return nil }
                while received.count < length { guard receive(&received) else { return nil } }
                request.body = Array(received[..<length])
                received.removeSubrange(..<length)
                return request
            }
            guard received.count < Self.maximumHeader, receive(&received) else { return nil }
        }
    }

    private func receive(_ received: inout [UInt8]) -> Bool {
        var part = [UInt8](repeating: 0, count: 8192)
        let count = unsafe recv(socket, &part, part.count, 0)
        if count < 0, errno == EINTR { return true }
        if count > 0 { received += part[..<count] }
        return count > 0
    }

    // MARK: - Answering

    /// Sends the answer; false if part of it was not sent.
    private func respond(_ exchange: inout Exchange) -> Bool {
        if exchange.request.path.hasPrefix(OriginService.controlPath) {
            return send(Delivery(answer: service.control(exchange.request), request: exchange.request), &exchange)
        }
        let latency = Int64(service.configuration.latency)
        guard Pace.wait(milliseconds: latency, isOver: { isOver }) else { return false }
        return send(service.delivery(&exchange), &exchange)
    }

    private func send(_ delivery: Delivery, _ exchange: inout Exchange) -> Bool {
        guard delivery.stop >= 0 else {
            breakOff(delivery, at: delivery.stop)
            return false
        }
        let answer = delivery.answer
        let hasBody = exchange.request.method != "HEAD"
        guard let content = hasBody ? answer.content() : [] else { return false }
        exchange.status = answer.status
        let isChunked = !answer.tellsLength && exchange.request.isCurrent && delivery.lengths == nil
        exchange.closes =
            delivery.writesHeader || !exchange.request.isPersistent || !answer.tellsLength && !isChunked
        var block = header(delivery, isChunked: isChunked, closes: exchange.closes)
        let end = !hasBody ? 0 : delivery.isEndless ? Int.max : answer.length
        var limit = (delivery.rate ?? service.configuration.rate).map(RateLimit.init(bytesPerSecond:))
        var offset = 0
        while offset < end {
            guard offset < delivery.stop else {
                if send(block) { breakOff(delivery, at: offset) }
                return false
            }
            var count = min(Self.block, min(end, delivery.stop) - offset)
            while let allowance = limit?.allowance {
                if allowance > 0 {
                    count = min(count, allowance)
                    break
                }
                guard Pace.wait(milliseconds: Pace.slice, isOver: { isOver }) else { return false }
            }
            if isChunked { block += "\(String(count, radix: 16))\r\n".utf8 }
            let start = block.count
            let part = content.dropFirst(offset).prefix(count)
            // Noise follows the end of an endless body.
            block += part
            block += repeatElement(0x55, count: count - part.count)
            delivery.spoil(&block, from: start, at: offset)
            if isChunked { block += "\r\n".utf8 }
            limit?.spend(count)
            exchange.sent += count
            offset += count
            guard offset < end else { break }
            guard send(block) else { return false }
            block.removeAll(keepingCapacity: true)
        }
        if isChunked, hasBody { block += "0\r\n\r\n".utf8 }
        // The log has the request before the client has all of the answer.
        exchange.completed = true
        service.finished(exchange)
        return send(block)
    }

    private func header(_ delivery: Delivery, isChunked: Bool, closes: Bool) -> [UInt8] {
        let answer = delivery.answer
        if delivery.isGarbage { return Array("\u{1}\u{2}this is no HTTP\r\n\r\n".utf8) }
        var lines = ["HTTP/1.1 \(answer.status) \(answer.status == 200 ? "OK" : "")"]
        lines.append("Date: \(Moment.http(service.configuration.now()))")
        lines += (answer.headers + delivery.headers).map { "\($0.0): \($0.1)" }
        if isChunked { lines.append("Transfer-Encoding: chunked") }
        let lengths = delivery.lengths ?? (answer.tellsLength ? [answer.length] : [])
        lines += lengths.map { "Content-Length: \($0)" }
        if closes { lines.append("Connection: close") }
        return Array((lines + ["", ""]).joined(separator: "\r\n").utf8)
    }

    private func breakOff(_ delivery: Delivery, at offset: Int) {
        if offset == delivery.stallAt {
            _ = Pace.wait(milliseconds: .max / 2, isOver: { isOver })
        } else if offset == delivery.resetAt {
            reset()
        }
    }

    /// Sends all bytes; false when the client has stopped reading.
    private func send(_ bytes: [UInt8]) -> Bool { Files.write(bytes, to: socket) }

    /// Resets the connection at once: connect(2) with AF_UNSPEC dissolves a TCP association, which sends RST.
    private func reset() {
        var address = sockaddr(sa_family: sa_family_t(AF_UNSPEC), sa_data: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
        _ = unsafe connect(socket, &address, socklen_t(MemoryLayout<sockaddr>.size))
    }
}
