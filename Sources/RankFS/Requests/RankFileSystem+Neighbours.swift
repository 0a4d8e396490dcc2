import Catalog
import ImageCache
import Rankings

extension RankFileSystem {
    /// The pictures around an open one, counted without those that the service withholds.
    func neighbours(_ listing: Listing, _ index: Int, isBulk: Bool = false) -> Neighbours {
        let orders = listing.browsingOrders
        let place = Int(orders.places[index])
        let isPrivate = configuration.isPrivate(listing.key)
        return Neighbours(
            directory: inodes.number(of: .directory(listing.directory)), index: place,
            byTime: PictureOrder(places: orders.timePlaces, indices: orders.byTime), isBulk: isBulk
        ) { [self] wanted in
            guard let index = entry(of: listing, steps: wanted - place, from: index) else { return nil }
            let entry = listing.entries[index]
            return tree.knownLocation(of: entry).map {
                PictureRequest(
                    id: entry.picture, location: $0, size: listing.size(at: index), isPrivate: isPrivate,
                    path: { listing.path(of: entry) })
            }
        }
    }

    /// The entry that lies some readable entries before or after another one, among those that are shown.
    private func entry(of listing: Listing, steps: Int, from start: Int) -> Int? {
        let entries = listing.entries
        let direction = steps.signum()
        var left = abs(steps)
        var index = start
        while left > 0 {
            index += direction
            guard entries.indices.contains(index) else { return nil }
            if entries[index].isBrowsed { left -= 1 }
        }
        return index
    }
}
