import Catalog
import Fuse
import ImageCache
import Rankings
import Synchronization

/// Where `random.jpg` leads.
extension Tree {
    /// The target for a caller; nil for who asks by an inode that no program looked up, as NFS servers do.
    ///
    /// NFS servers refuse a link whose length is another one than `stat` told before.
    func randomTarget(for caller: Caller?) async -> String {
        let processes = configuration.processes
        let process = caller.map { processes.program($0.process)?.process ?? $0.process } ?? 0
        let starters = caller.map { processes.starters($0.process).map(\.process) } ?? []
        let held = random.withLock { $0.choice(for: [process] + starters, now: configuration.monotonicNow()) }
        if let held, held.picture.map({ cache.storedSize(of: $0) != nil }) ?? false { return held.path }
        let choice =
            await anotherPicture() ?? RandomChoices.Choice(picture: nil, path: HelperFile.standIn.path.text)
        random.withLock { $0.hold(choice, for: process, now: configuration.monotonicNow()) }
        return choice.path
    }

    /// A stored picture that is shown somewhere: not the last one if there is another; nil if there is none at all.
    private func anotherPicture() async -> RandomChoices.Choice? {
        let last = random.withLock(\.last)
        var passed: Set<PictureID> = []
        for _ in 0..<TreeLimits.randomTries {
            let found = cache.randomPicture {
                Rendition.ofListings.contains($0.rendition) && $0 != last && !passed.contains($0)
            }
            guard let picture = found else { break }
            if let path = await shownPath(of: picture) { return RandomChoices.Choice(picture: picture, path: path) }
            passed.insert(picture)
        }
        guard let last, cache.storedSize(of: last) != nil, let path = await shownPath(of: last) else { return nil }
        return RandomChoices.Choice(picture: last, path: path)
    }

    /// The path under which the mount shows a picture; nil if none of the stored directories does, or it is a film.
    private func shownPath(of picture: PictureID) async -> String? {
        let place = await catalog.listings.place(of: picture) { [self] listing, index in
            guard let entry = listing.entry(at: index) else { return false }
            let node = Node.picture(listing, Int32(index))
            // Everybody reads the same link.
            return !entry.isHidden && node.refusal(in: self) == nil && !isKept(node)
        }
        guard let (listing, index) = place, let entry = listing.entry(at: index),
            PictureAttribute.mimeType(ofFileNamed: entry.name).hasPrefix("image/")
        else { return nil }
        return listing.path(of: entry)
    }
}
