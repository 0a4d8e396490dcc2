import Foundation
import Glibc
import TestSupport

/// A raw HTTP/1.1 server for tests: blocking sockets on threads of its own, and for each path a script of bytes.
///
/// ## Concurrency
///
/// Any thread may call. One thread accepts, one thread serves each connection; all end with `stop`.
final class ScriptedServer: Sendable {
    /// One step of an answer.
    enum Step: Sendable {
        case send([UInt8])
        /// Sends for ever, until the client goes.
        case repeatForEver([UInt8])
        /// Waits until the test opens this gate, or the client goes, or the server stops.
        case gate(String)
        /// FIN.
        case close
        /// RST.
        case reset
        /// Keeps the connection open and says nothing until the client goes.
        case hang
    }

    private struct State {
        var scripts: [String: [Step]] = [:]
        var requests: [String] = []
        var connections = 0
        var open: Set<Int32> = []
        var gates: Set<String> = []
        var clientsGone: [String] = []
        var stopped = false
    }

    private let state = Watched(State())
    private let listener: FileHandle
    let port: UInt16
    var origin: String { "http://127.0.0.1:\(port)" }

    init() throws {
        let socket = try ListeningSocket(isBlocking: true)
        (listener, port) = (socket.handle, socket.port)
        Self.thread { [self] in accept() }
    }

    /// What this path answers from now on.
    func script(_ path: String, _ steps: [Step]) {
        state.withLock { $0.scripts[path] = steps }
    }

    func script(_ path: String, _ text: String) {
        script(path, [.send(Array(text.utf8))])
    }

    /// Lets every connection go on that waits, or will wait, at this gate.
    func open(_ gate: String) {
        state.withLock { $0.gates.insert(gate) }
    }

    /// Whole request heads, in the order they came.
    var requests: [String] { state.withLock { $0.requests } }
    var paths: [String] { requests.map { String($0.split(separator: " ")[1]) } }
    var connections: Int { state.withLock { $0.connections } }

    func waitForRequests(_ count: Int) async { await state.wait { $0.requests.count >= count } }
    /// Returns once the client has closed a connection while this path was held.
    func waitForClientGone(_ path: String) async { await state.wait { $0.clientsGone.contains(path) } }
    func waitForNoConnections() async { await state.wait { $0.open.isEmpty } }

    func stop() {
        // Under the lock, where descriptors are closed too: a number that was reused belongs to somebody else.
        state.withLock { state in
            guard !state.stopped else { return }
            state.stopped = true
            for descriptor in state.open { shutdown(descriptor, Int32(SHUT_RDWR)) }
            shutdown(listener.fileDescriptor, Int32(SHUT_RDWR))
        }
    }

    private static func thread(_ body: @escaping @Sendable () -> Void) {
        let box = Unmanaged.passRetained(Box(body)).toOpaque()
        var thread = pthread_t()
        pthread_create(&thread, nil, serverThread, box)
        pthread_detach(thread)
    }

    private func accept() {
        while true {
            let descriptor = Glibc.accept(listener.fileDescriptor, nil, nil)
            guard descriptor >= 0 else { break }
            var stopped = false
            state.withLock { state in
                stopped = state.stopped
                state.connections += 1
                state.open.insert(descriptor)
            }
            if stopped { shutdown(descriptor, Int32(SHUT_RDWR)) }
            Self.thread { [self] in
                serve(descriptor)
                state.withLock { state in
                    state.open.remove(descriptor)
                    Glibc.close(descriptor)
                }
            }
        }
        state.withLock { state in
            // From here on `stop` has nothing to shut down, however accepting ended.
            state.stopped = true
            try? listener.close()
        }
    }

    private func serve(_ descriptor: Int32) {
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
        while let head = readHead(descriptor) {
            let path = String(head.split(separator: " ")[1])
            state.withLock { $0.requests.append(head) }
            let steps = state.withLock { $0.scripts[path] } ?? [.send(Array(notFound.utf8))]
            for step in steps where !perform(step, descriptor, path) { return }
        }
    }

    private func perform(_ step: Step, _ descriptor: Int32, _ path: String) -> Bool {
        switch step {
        case .send(let bytes):
            let sent = write(descriptor, bytes)
            if !sent { state.withLock { $0.clientsGone.append(path) } }
            return sent
        case .repeatForEver(let bytes):
            while write(descriptor, bytes) {}
            state.withLock { $0.clientsGone.append(path) }
            return false
        case .gate(let name):
            while !state.withLock({ $0.gates.contains(name) || $0.stopped }) {
                if isGone(descriptor, milliseconds: 2) {
                    state.withLock { $0.clientsGone.append(path) }
                    return false
                }
            }
            return true
        case .hang:
            while !isGone(descriptor, milliseconds: 1000), !state.withLock({ $0.stopped }) {}
            state.withLock { $0.clientsGone.append(path) }
            return false
        case .close: return false
        case .reset:
            var linger = linger(l_onoff: 1, l_linger: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
            return false
        }
    }

    /// Waits for the client to close the connection; the content of its request, which may follow the head, is thrown away.
    private func isGone(_ descriptor: Int32, milliseconds: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, milliseconds) > 0 else { return false }
        var content: UInt64 = 0
        return recv(descriptor, &content, 8, Int32(MSG_DONTWAIT)) <= 0
    }

    private func write(_ descriptor: Int32, _ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    private func readHead(_ descriptor: Int32) -> String? {
        var head: [UInt8] = []
        var byte: UInt8 = 0
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            guard recv(descriptor, &byte, 1, 0) == 1 else { return nil }
            head.append(byte)
        }
        return String(decoding: head, as: UTF8.self)
    }
}

private let notFound = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"

private final class Box: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

private func serverThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let context { Unmanaged<Box>.fromOpaque(context).takeRetainedValue().body() }
    return nil
}

/// An answer with its length.
func answer(_ body: String, status: String = "200 OK", headers: [String] = []) -> String {
    (["HTTP/1.1 \(status)", "Content-Length: \(body.utf8.count)"] + headers).joined(separator: "\r\n") + "\r\n\r\n"
        + body
}
