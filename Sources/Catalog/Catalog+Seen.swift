package import Rankings
internal import Synchronization

/// A work of which a picture was read lately.
package struct SeenWork: Hashable, Sendable {
    package var work: WorkID
    /// Nil if no listing told.
    package var author: UserID?
}

extension Catalog {
    /// The works of the pictures that were read last, in that order: as many as are remembered of those at most.
    ///
    /// From memory and the database; asks the service nothing. What is in no stored listing any more is missing.
    package func seenWorks() async -> [SeenWork] {
        let remembered = known.withLock { $0.seen }
        var seen: [String: SeenWork] = [:]
        let paths = recentPictures.map(\.path)
        for path in paths {
            if let found = remembered[path] {
                seen[path] = found
            } else if let work = await work(ofPictureAt: path) {
                seen[path] = SeenWork(work: work, author: await storedWork(work)?.author)
            }
        }
        known.withLock { [seen] in $0.seen = seen }
        return paths.compactMap { seen[$0] }
    }

    /// The work whose picture has a path below the mount point.
    private func work(ofPictureAt path: String) async -> WorkID? {
        // By bytes: words of a search may begin with a mark that would be one character with the slash.
        let parts = path.utf8.split(separator: UInt8(ascii: "/")).map { Array($0) }
        guard let name = parts.last else { return nil }
        switch parts.first.map({ String(decoding: $0, as: UTF8.self) }) {
        case "works": return parts.count == 3 ? Self.work(numbered: parts[1]) : nil
        case "ranking":
            // Pictures of rankings are named by their ranks.
            let directory = String(
                decoding: Array(parts.dropLast().joined(separator: [UInt8(ascii: "/")])), as: UTF8.self)
            guard let key = ListingKey(text: directory), let listing = await storedListing(key) else { return nil }
            return listing.index(named: name).flatMap { listing.entry(at: $0) }?.picture.work
        default: return Self.work(numbered: Array(name.prefix { $0 != UInt8(ascii: "-") }))
        }
    }

    private static func work(numbered digits: [UInt8]) -> WorkID? {
        Int64(String(decoding: digits, as: UTF8.self)).map { WorkID(rawValue: $0) }
    }
}
