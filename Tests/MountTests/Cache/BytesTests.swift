import Foundation
import Glibc
import Testing

extension MountSuite {
    /// Semantics: "A read returns the right bytes or an error" and "One download per picture".
    @Suite struct BytesTests {
        /// How many pictures each order reads; all five hundred when `TEST_ENTRIES` says so.
        static let entries = ProcessInfo.processInfo.environment["TEST_ENTRIES"].flatMap { Int($0) } ?? 24

        /// Boards share what reads: each way over one of them, and over both where readers wait for each other.
        private static let ways: [(String, Wire, Service)] =
            [
                ("whole", Wire.tls), ("backwards", .tls), ("mapped", .tls), ("together", .tls), ("whole", .plain),
                ("together", .plain),
            ].map { ($0, $1, .pixiv) } + [
                ("whole", .tls, .danbooru), ("backwards", .tls, .yandere), ("mapped", .tls, .danbooru),
                ("together", .tls, .danbooru), ("together", .tls, .yandere),
            ]

        @Test(arguments: ways)
        func everyByteIsTheOrigins(order: String, wire: Wire, service: Service) async throws {
            try await withMount(service, wire: wire) { workplace, origin, mount in
                let readable = try mount.pictures(service.isProven ? Self.entries / 3 : Self.entries, of: origin)
                for (path, entry) in readable {
                    let fetched = try origin.fetch(entry.picture)
                    switch order {
                    case "backwards": #expect(try readBackwards(path) == fetched, "\(path)")
                    case "mapped": #expect(try readMapped(path) == fetched, "\(path)")
                    case "together":
                        #expect(
                            try readTogether(path, in: workplace)
                                == Array(repeating: sum(fetched, in: workplace), count: 16))
                    default: #expect(try read(path).get() == fetched, "\(path)")
                    }
                }
                for (_, entry) in readable {
                    // A one-byte range is no download: it asks for a length that no header told.
                    let mine = origin.downloads.filter { $0.path == entry.picture && $0.bytes != 1 }
                    let bytes = mine.compactMap(\.bytes).reduce(0, +)
                    let length = Int64(try origin.fetch(entry.picture).count)
                    // One is curl's; the mount may ask for parts, but for no byte twice, except where they meet.
                    if order == "whole" || order == "together" {
                        let wholes = mine.count { $0.range == nil } - 1
                        let parts = Self.parts(mine)
                        #expect(wholes + (parts.isEmpty ? 0 : 1) == 1, "\(entry.picture)")
                        let areApart = zip(parts, parts.dropFirst()).allSatisfy { $0.upperBound <= $1.lowerBound + 64 }
                        #expect(areApart, "\(entry.picture): \(parts)")
                    }
                    #expect(bytes <= length * 2 + length / 10, "\(order) \(entry.picture)")
                }
            }
        }

        /// Which bytes the parts of a picture brought, in their order.
        private static func parts(_ requests: [LoggedRequest]) -> [Range<Int64>] {
            requests.compactMap { request in
                guard let range = request.range?.dropFirst("bytes=".count), let count = request.bytes,
                    let first = Int64(range.prefix { $0 != "-" })
                else { return nil }
                return first..<first + count
            }
            .sorted { $0.lowerBound < $1.lowerBound }
        }

        private func readBackwards(_ path: String) throws -> Data {
            let size = Int(try status(of: path).st_size)
            var pieces: [Data] = []
            for offset in stride(from: (size - 1) / 4096 * 4096, through: 0, by: -4096) {
                pieces.append(try read(path, offset: Int64(offset), count: min(4096, size - offset)).get())
            }
            return pieces.reversed().reduce(into: Data()) { $0.append($1) }
        }

        private func readMapped(_ path: String) throws -> Data {
            try Data(contentsOf: URL(filePath: path), options: .alwaysMapped)
        }

        private func readTogether(_ path: String, in workplace: Workplace) throws -> [String] {
            let children = try (0..<16).map { _ in try workplace.start("/usr/bin/md5sum", [path]) }
            return children.map { $0.wait().map { String($0.output.prefix(32)) } ?? "hung" }
        }

        private func sum(_ data: Data, in workplace: Workplace) throws -> String {
            let file = workplace.directory.appending(path: UUID().uuidString)
            try data.write(to: file)
            return String(try workplace.run("/usr/bin/md5sum", file.path).output.prefix(32))
        }
    }
}
