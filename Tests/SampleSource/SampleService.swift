package import HTTP
package import Rankings
import Sourcing
import Synchronization

/// The sample's service inside the process: a page of posts for each day, and pictures that are as long as the listing says.
package final class SampleService: Transport {
    /// Requests as `GET https://…`, oldest first.
    package var asked: [String] { log.withLock { $0 } }

    private let log = Mutex<[String]>([])

    /// Posts of every ranking: one page and a half.
    package static let posts = 30

    package let limits = HostLimits(connections: 8)
    private let newest: Day

    /// - Parameter newest: The newest day that it has.
    package init(newest: Day) {
        self.newest = newest
    }

    /// Bytes of a post's picture.
    package static func length(of post: Int) -> Int { 5000 + post * 10 }

    /// The extension of a post's file.
    package static func fileExtension(of post: Int) -> String { ["jpg", "png", "webp"][post % 3] }

    package func begin(_ transfer: Transfer) {
        let request = transfer.request
        log.withLock { $0.append("\(request.method.rawValue) \(request.url)") }
        answer(transfer, body(of: request.url))
    }

    /// Answers at once, on a thread of its own as transports do.
    private func answer(_ transfer: Transfer, _ body: [UInt8]?) {
        Task.detached {
            let request = transfer.request
            var part = (body ?? [])[...]
            var headers: [(name: String, value: String)] = []
            var status = body == nil ? 404 : 200
            if let range = request.range, let body {
                let last = min(Int(range.last ?? .max), body.count - 1)
                part = body[Int(range.first)...last]
                status = 206
                headers.append((name: "content-range", value: "bytes \(range.first)-\(last)/\(body.count)"))
            }
            headers.append((name: "content-length", value: "\(part.count)"))
            headers.append((name: "last-modified", value: "Wed, 01 May 2024 00:00:00 GMT"))
            guard transfer.head(HTTPAnswer(status: status, headers: headers)) else {
                return transfer.end(.failure(.cancelled))
            }
            if request.method == .get, !part.isEmpty {
                guard unsafe Array(part).withUnsafeBytes({ unsafe transfer.body($0) }) else {
                    return transfer.end(.failure(.cancelled))
                }
            }
            transfer.end(.success(()))
        }
    }

    private func body(of url: String) -> [UInt8]? {
        if url.contains("/popular?") { return page(Self.parameters(of: url)).map { Array($0.utf8) } }
        let name = url.split(separator: "/").last ?? ""
        return Int(name.prefix { $0.isNumber }).map { Self.picture($0, String(name.drop { $0 != "." }.dropFirst())) }
    }

    private static func parameters(of url: String) -> [String: String] {
        let query = url.drop { $0 != "?" }.dropFirst().split(separator: "&")
        return Dictionary(
            query.map { pair in
                (String(pair.prefix { $0 != "=" }), String(pair.drop { $0 != "=" }.dropFirst()))
            }, uniquingKeysWith: { first, _ in first })
    }

    /// The day, then a line for each post; nil for a page behind the last.
    private func page(_ parameters: [String: String]) -> String? {
        guard let number = parameters["page"].flatMap({ Int($0) }) else { return nil }
        let date = parameters["date"] ?? newest.description
        let perPage = SamplePlugIn().description.paging.entries
        let posts = ((number - 1) * perPage..<min(number * perPage, max(Self.posts, (number - 1) * perPage)))
        guard !posts.isEmpty else { return nil }
        let lines = posts.map { post in
            "\(post)\tPost \(post)\t\(Self.fileExtension(of: post))\t\(1_714_000_000 + post)\t\(Self.length(of: post))"
        }
        return ([date] + lines).joined(separator: "\n")
    }

    /// A file by its first and last bytes.
    package static func picture(_ post: Int, _ fileExtension: String) -> [UInt8] {
        let length = length(of: post)
        var bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ post) }
        let (head, end): ([UInt8], [UInt8]) =
            switch fileExtension {
            case "png":
                (
                    [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A],
                    [0, 0, 0, 0, 0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82]
                )
            case "webp":
                (
                    Array("RIFF".utf8) + (0..<4).map { UInt8(truncatingIfNeeded: (length - 8) >> ($0 * 8)) }
                        + Array("WEBP".utf8), []
                )
            default: ([0xFF, 0xD8, 0xFF, 0xE0], [0xFF, 0xD9])
            }
        bytes.replaceSubrange(0..<head.count, with: head)
        bytes.replaceSubrange(length - end.count..<length, with: end)
        return bytes
    }
}
