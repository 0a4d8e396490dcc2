import Dispatch
import Foundation
import Glibc
import Rankings
import Testing

@testable import Origin

/// 2024-05-02 12:00 JST: the ranking of 2024-05-01 has just appeared.
let noon: Int64 = 1_714_618_800

/// A recorded answer, from the tests of the module that decodes them.
func payload(_ path: String) throws -> [UInt8] {
    let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    return Array(try Data(contentsOf: tests.appending(path: "PixivTests/Payloads/\(path)")))
}

/// What came back, taken apart just enough.
struct Received {
    var status = 0
    var headers: [(name: String, value: String)] = []
    var body: [UInt8] = []
    /// Whether the chunked body had its end.
    var isWhole = true

    subscript(name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    init(_ bytes: [UInt8]) {
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        status = Int(lines[0].split(separator: " ")[1]) ?? 0
        headers = lines.dropFirst().map { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            return (String(parts[0]), parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : "")
        }
        body = Array(bytes[end.upperBound...])
        if self["Transfer-Encoding"] == "chunked" { unchunk() }
    }

    private mutating func unchunk() {
        var rest = body[...]
        body = []
        isWhole = false
        while let line = rest.firstRange(of: Array("\r\n".utf8)) {
            let size = Int(String(decoding: rest[..<line.lowerBound], as: UTF8.self), radix: 16) ?? 0
            if size == 0 {
                isWhole = true
                return
            }
            body += rest[line.upperBound...].prefix(size)
            rest = rest[line.upperBound...].dropFirst(size + 2)
        }
    }
}

/// One request on a connection of its own, read until the connection ends; off the cooperative threads.
func fetch(
    _ server: OriginServer, _ target: String, method: String = "GET", headers: [String] = [], body: String = "",
    referer: Bool = true, upTo limit: Int = .max
) async -> Received {
    let port = UInt16(server.url.split(separator: ":").last ?? "") ?? 0
    var lines = ["\(method) \(target) HTTP/1.1", "Host: 127.0.0.1", "Connection: close"] + headers
    if referer { lines.append("Referer: https://www.pixiv.net/") }
    if !body.isEmpty { lines.append("Content-Length: \(body.utf8.count)") }
    let text = (lines + ["", body]).joined(separator: "\r\n")
    return await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
            continuation.resume(returning: Received(exchange(port: port, text, upTo: limit)))
        }
    }
}

private func exchange(port: UInt16, _ request: String, upTo limit: Int) -> [UInt8] {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    let connected = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
    guard connected == 0 else { return [] }
    _ = Array(request.utf8).withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 1 << 16)
    while bytes.count < limit {
        let count = read(descriptor, &piece, piece.count)
        if count <= 0 { break }
        bytes += piece[..<count]
    }
    return bytes
}

extension OriginServer {
    /// An origin whose clock stands at noon in Japan.
    static func start(_ change: (inout OriginConfiguration) -> Void = { _ in }) throws -> OriginServer {
        var configuration = OriginConfiguration(now: { noon })
        change(&configuration)
        return try OriginServer(configuration)
    }
}

extension Universe {
    /// The universe of a seed, as a test sees it.
    convenience init(seed: UInt64, _ service: Service = .pixiv) {
        var configuration = OriginConfiguration(now: { noon })
        configuration.seed = seed
        configuration.service = service
        self.init(configuration)
    }

    /// The first work of the newest day whose picture has the properties wanted.
    func newest(
        _ rendition: PageRendition = .regular, where wanted: (Post, String) -> Bool = { _, _ in true }
    ) -> (work: Post, path: String)? {
        entries(Mode.all[0], newest(at: noon), 1...500).lazy.map { ($0.work, rendition.path($0.work, 0)) }
            .first(where: wanted)
    }

    /// The entries of a day's `daily`, or of another ranking.
    func day(_ text: String, _ mode: Int = 0, ranks: ClosedRange<Int> = 1...500) -> [RankedWork] {
        Day(text).map { entries(Mode.all[mode], $0, ranks) } ?? []
    }

    /// The picture at a path.
    func picture(at path: String) -> Picture? { picture(at: path) { post($0.work, now: noon) } }
}

extension Pixiv {
    /// The answer of the API to a path.
    func get(_ target: String, _ viewer: Viewer = .anonymous, now: Int64 = noon) -> Response? {
        answer(Request(target: target), viewer: viewer, now: now)
    }
}

extension Response {
    /// What the body says.
    func json() throws -> JSON { try #require(JSON(bytes)) }

    subscript(name: String) -> String? {
        headers.first { $0.0 == name }?.1
    }
}

extension JSON {
    /// The member of an object; nil where there is none.
    subscript(key: String) -> JSON? {
        members.first { $0.name == key }?.value
    }
}
