import Catalog
package import Fuse
import ImageCache
import Media
import Rankings
import Synchronization

/// Where symbolic links lead.
///
/// The length that `stat` tells is that of what `readlink` gives next: programs that make room by it, NFS servers among
/// them, refuse a link otherwise.
extension RankFileSystem {
    package func readLink(_ request: InodeRequest, reply: LinkReply) {
        guard let node = inodes.node(request.inode) else {
            return refuse(reply, .forgottenInode, subject: "inode \(request.inode)")
        }
        guard case .link(let link) = node else { return refuse(reply, .notALink, subject: node.path) }
        if isKept(node), !isOwner(request.caller) { return refuse(reply, .ownersOnly, subject: node.path) }
        switch link {
        case .latest(let mode): readLatest(mode, request.caller, reply)
        case .random: later(reply, subject: { link.path }) { reply.target(await self.takeRandomTarget()) }
        case .bookmarks where source.signIn.user == nil:
            refuse(reply, .catalog(.needsSignIn), subject: link.path)
        case .recent, .followed, .named, .bookmarks: reply.target(fixedTarget(of: link))
        }
    }

    /// The length in bytes that `stat` shows; nil if it has to be found out.
    func knownLength(of link: Link) -> Int? {
        switch link {
        case .latest: "2024-05-01".utf8.count
        case .random: preparedRandomTarget()?.utf8.count
        case .recent, .followed, .named, .bookmarks: fixedTarget(of: link).utf8.count
        }
    }

    /// The target of a link that leads to the same place for as long as it is there; empty for the others.
    private func fixedTarget(of link: Link) -> String {
        switch link {
        case .recent(_, let picture): "../\(picture.path)"
        case .followed(let author): "../users/\(author.id.rawValue)"
        case .named(_, let author): String(author.rawValue)
        case .bookmarks: source.signIn.user.map { ListingKey.bookmarks($0).path } ?? ""
        case .latest, .random: ""
        }
    }

    private func readLatest(_ mode: RankingMode, _ caller: Caller, _ reply: LinkReply) {
        // No day is newer than the calendar's newest, so once that one was told nothing changes before the next noon; unless
        // the clock is behind a day that the service named.
        if configuration.isOffline {
            guard let day = catalog.storedDays(of: mode).last else {
                return refuse(reply, .catalog(.source(.offline)), subject: Link.latest(mode).path)
            }
            return reply.target(day.description)
        }
        let newest = catalog.newestPossible(of: mode)
        let isCalendars = newest == Day.newestPublished(atUnixSeconds: configuration.now())
        let isTold = newestDays.withLock({ $0[mode] }) == newest || catalog.loadedListing(.ranking(mode, newest)) != nil
        if isCalendars && isTold || isGlancing(at: .mode(mode), caller) { return reply.target(newest.description) }
        later(reply, subject: { Link.latest(mode).path }) { () async throws(Failure) in
            let day: Day
            do throws(CatalogError) { day = try await self.catalog.newestDay(of: mode) } catch {
                throw .catalog(error)
            }
            self.newestDays.withLock { $0[mode] = day }
            reply.target(day.description)
        }
    }
}

// MARK: - random.jpg

/// What is remembered of `random.jpg`.
struct RandomLink: Sendable {
    /// The picture that it led to last.
    var last: PictureID?
    /// Where it leads when it is read next, once somebody has looked at it.
    var next: (picture: PictureID, path: String)?
}

extension RankFileSystem {
    /// Where `random.jpg` leads when it is read next.
    func randomTarget() async -> String {
        if let prepared = preparedRandomTarget() { return prepared }
        guard let next = await anotherPicture() else { return HelperFile.standIn.path }
        random.withLock { $0.next = next }
        return next.path
    }

    /// The same for who reads it: the next time it is another one.
    private func takeRandomTarget() async -> String {
        let target = await randomTarget()
        random.withLock { link in
            if let next = link.next, next.path == target { link = RandomLink(last: next.picture) }
        }
        return target
    }

    /// What was told of it before, while it is still stored.
    private func preparedRandomTarget() -> String? {
        guard let next = random.withLock({ $0.next }), cache.storedSize(of: next.picture) != nil else { return nil }
        return next.path
    }

    /// A stored picture that is shown somewhere: not the last one if there is another; nil if there is none at all.
    private func anotherPicture() async -> (picture: PictureID, path: String)? {
        let last = random.withLock { $0.last }
        var passed: Set<PictureID> = []
        for _ in 0..<Limits.randomTries {
            let found = cache.randomPicture {
                Rendition.ofListings.contains($0.rendition) && $0 != last && !passed.contains($0)
            }
            guard let picture = found else { break }
            if let path = await shownPath(of: picture) { return (picture, path) }
            passed.insert(picture)
        }
        guard let last, cache.storedSize(of: last) != nil, let path = await shownPath(of: last) else { return nil }
        return (last, path)
    }

    /// The path under which the mount shows a picture; nil if none of the stored directories does.
    private func shownPath(of picture: PictureID) async -> String? {
        let place = await catalog.place(of: picture) { [self] listing, index in
            guard let entry = listing.entry(at: index) else { return false }
            let node = Node.picture(listing, Int32(index))
            // Everybody reads the same link.
            return !entry.isHidden && refusal(of: node) == nil && !isKept(node)
        }
        guard let (listing, index) = place, let entry = listing.entry(at: index) else { return nil }
        return "\(listing.key.path)/\(entry.name)"
    }
}
