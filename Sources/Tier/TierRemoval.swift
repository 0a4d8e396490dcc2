internal import Glibc
internal import HTTP
package import Rankings

/// The removal of objects that a user names by a path in a mount; other machines then ask the service again.
extension Tier {
    /// The time limit of an answer to a list or a removal.
    private static let removalPatience = Duration.seconds(10)

    /// Removes pictures from the object store.
    ///
    /// - Returns: The number of objects removed.
    /// - Throws: The reason why the object store did not answer; `.declined` with `EKEYREJECTED` if the key lacks a right.
    package func forget(_ pictures: [PictureID]) async throws(Failure) -> Int {
        var removed = 0
        for picture in pictures {
            guard let key = ObjectKind.key(of: picture, service: pictureService) else { continue }
            removed += try await remove(below: key) { $0 == key }
        }
        return removed
    }

    /// Removes the documents of a listing from the object store, and drops them from memory.
    ///
    /// - Parameters:
    ///   - listing: The listing.
    ///   - source: The source, whose sign-in decides which user's documents they are.
    /// - Returns: The number of objects removed.
    /// - Throws: The same.
    package func forget(_ listing: ListingKey, of source: any RankingSource) async throws(Failure) -> Int {
        guard let documents = source.description.audience(of: listing, source.signIn).flatMap({ documents(for: $0) }),
            let first = documents.key(of: listing)
        else { return 0 }
        return try await remove(below: first) { key in
            // Further pages have the name of the first one with a suffix.
            guard key == first || key.text.hasPrefix(first.text + "-") else { return false }
            documents.drop(key)
            return true
        }
    }

    private func remove(
        below beginning: ObjectKey, where isMeant: (ObjectKey) -> Bool
    ) async throws(Failure) -> Int {
        let objects = store.store
        var keys: [ObjectKey] = []
        do throws(Failure) {
            try await TierInspection(objects, time: store.time)
                .forEach(beginning: beginning, within: Self.removalPatience) {
                    keys += $0.entries.map(\.key).filter(isMeant)
                }
            for key in keys { try await objects.delete(key, deadline: store.time.now() + Self.removalPatience) }
        } catch .refused(let cause) {
            throw .declined(EKEYREJECTED, "the tier's key lacks the right to list or to remove objects (\(cause))")
        } catch { throw error }
        return keys.count
    }
}
