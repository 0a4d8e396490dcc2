import Catalog
import Fuse
import ImageCache
import Rankings
import Synchronization

/// `random.jpg` as the root lists it: a stored picture, chosen at the lookup by a program.
struct RandomPicture: TreeFile {
    var path: TreePath { .random }
}

extension Tree {
    /// Returns the picture that `random.jpg` is for a caller.
    func randomPicture(for caller: Caller) async -> Node {
        let processes = configuration.processes
        let process = processes.program(caller.process)?.process ?? caller.process
        let starters = processes.starters(caller.process).map(\.process)
        let held = random.withLock { $0.choice(for: [process] + starters, now: configuration.monotonicNow()) }
        if let held, let picture = await stored(held) { return picture }
        guard let (listing, index) = await anotherPicture(), let entry = listing.entry(at: index) else {
            return .file(HelperFile.standIn)
        }
        let choice = RandomChoices.Choice(picture: entry.picture, listing: listing.key)
        random.withLock { $0.hold(choice, for: process, now: configuration.monotonicNow()) }
        return .picture(listing, Int32(clamping: index))
    }

    private func stored(_ choice: RandomChoices.Choice) async -> Node? {
        guard cache.storedSize(of: choice.picture) != nil, let listing = await catalog.listings.stored(choice.listing),
            let index = listing.index(of: choice.picture)
        else { return nil }
        return .picture(listing, Int32(clamping: index))
    }

    /// Chooses a stored picture that is shown in the mount, other than the last one if possible; nil if there is none.
    private func anotherPicture() async -> (listing: Listing, index: Int)? {
        let last = random.withLock(\.last)
        var passed: Set<PictureID> = []
        for _ in 0..<TreeLimits.randomTries {
            let found = cache.randomPicture {
                Rendition.ofListings.contains($0.rendition) && $0 != last && !passed.contains($0)
            }
            guard let picture = found else { break }
            if let place = await shownPlace(of: picture) { return place }
            passed.insert(picture)
        }
        guard let last, cache.storedSize(of: last) != nil else { return nil }
        return await shownPlace(of: last)
    }

    /// The place where the mount shows a picture to all users, and not as a secret; nil if no stored directory does, or if it is a
    /// film.
    private func shownPlace(of picture: PictureID) async -> (listing: Listing, index: Int)? {
        await catalog.listings.place(of: picture) { [self] listing, index in
            guard let node = shownPicture(listing, index), let entry = listing.entry(at: index) else { return false }
            return !isKept(node) && !node.isSecret
                && PictureAttribute.mimeType(ofFileNamed: entry.name).hasPrefix("image/")
        }
    }
}
