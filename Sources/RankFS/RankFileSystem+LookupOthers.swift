import Catalog
import Rankings

/// Names outside the rankings.
extension RankFileSystem {
    func findAuthor(_ name: [UInt8]) -> LookupResult {
        if let text = EntryName.authorName(name) {
            return .unknown { () async throws(Failure) in
                guard let author = await self.catalog.records.author(named: text) else {
                    return .absent(TreeLimits.current)
                }
                return .node(.link(.named(text, author)))
            }
        }
        guard let author = EntryName.author(name) else { return .absent(TreeLimits.frozen) }
        return findNumbered(.author(author))
    }

    /// The directory of an author or a work, which nobody is asked about before it is opened or a name in it is looked up.
    ///
    /// File managers look up every number that begins like the one that is being typed.
    private func findNumbered(_ key: ListingKey) -> LookupResult {
        if let listing = catalog.listings.loaded(key) { return .node(.directory(of: listing)) }
        if catalog.listings.isKnownAbsent(key) { return .absent(TreeLimits.changing) }
        guard catalog.listings.isStored(key) else { return .node(.directory(of: key)) }
        // Its time is in the database.
        return .unknown {
            .node(await self.catalog.listings.stored(key).map { .directory(of: $0) } ?? .directory(of: key))
        }
    }

    func findOfAuthor(_ name: [UInt8], _ author: UserID) -> LookupResult {
        if let file = files(of: author).first(where: { $0.name.utf8.elementsEqual(name) }) {
            return .node(.made(file))
        }
        if source.can(.bookmarks), EntryName.ascii(name).map(TreePath.author(author).child) == .bookmarks(author) {
            return refusal(of: .bookmarks(author)).map { .refused($0) } ?? .node(.bookmarks(author))
        }
        return findPicture(name, .author(author), leastDigits: 1)
    }

    func findWork(_ name: [UInt8]) -> LookupResult {
        guard let number = EntryName.author(name)?.rawValue else { return .absent(TreeLimits.frozen) }
        return findNumbered(.work(WorkID(rawValue: number)))
    }

    func findInWork(_ name: [UInt8], _ work: WorkID) -> LookupResult {
        let made = MadeFile.ofWork(work, isAnimation: source.can(.animations)).first {
            $0.name.utf8.elementsEqual(name)
        }
        guard made != nil || EntryName.mayBeInWork(name, extensions: source.description.fileExtensions) else {
            return .absent(TreeLimits.frozen)
        }
        let key = ListingKey.work(work)
        if let listing = catalog.listings.loaded(key) { return find(name, made, in: listing, work) }
        return .unknown { () async throws(Failure) in
            guard let listing = try await self.listing(key) else { return .absent(TreeLimits.changing) }
            return self.find(name, made, in: listing, work)
        }
    }

    private func find(_ name: [UInt8], _ made: MadeFile?, in listing: Listing, _ work: WorkID) -> LookupResult {
        if let made {
            return MadeFile.ofWork(work, isAnimation: listing.isAnimation).contains(made)
                ? .node(.made(made)) : .absent(TreeLimits.changing)
        }
        return listing.index(named: name).map { .node(.picture(listing, Int32($0))) } ?? .absent(TreeLimits.changing)
    }

    func findRecent(_ name: [UInt8]) -> LookupResult {
        let picture = catalog.recents.pictures.first { $0.name.utf8.elementsEqual(name) }
        return picture.map { .node(.link(.recent($0))) } ?? .absent(.zero)
    }

    func findFollowed(_ name: [UInt8]) -> LookupResult {
        guard let user = source.signIn.user else { return .refused(.catalog(.needsSignIn)) }
        return name.contains(UInt8(ascii: "-")) ? findEntry(name, .following(user)) : .absent(TreeLimits.frozen)
    }
}

extension Listing {
    /// Whether a work's listing holds an animation.
    var isAnimation: Bool {
        entries.contains { $0.picture.rendition == .archive }
    }
}
