import Catalog
import Fuse
import Rankings

/// A directory that shows a listing.
protocol ListingDirectory: TreeDirectory {
    /// The listing, if it always shows the same one.
    var key: ListingKey? { get }
    /// The listing that it shows now, if nobody need be asked for that.
    func rememberedKey(in tree: Tree) -> ListingKey?
    /// The listing that it shows now; nil if there is none.
    func currentKey(in tree: Tree) async throws(Failure) -> ListingKey?
    /// Whether what stands beside its pictures is known without asking the database.
    func knowsExtras(in tree: Tree) -> Bool
    /// Asks the database for what stands beside its pictures.
    func learnExtras(in tree: Tree) async
    /// What stands beside its pictures, as far as it is known.
    func extras(of listing: Listing, in tree: Tree) -> [NamedNode]
    /// Whether its entries are pictures, which can have thumbnails and be kept.
    var showsPictures: Bool { get }
}

extension ListingDirectory {
    var listing: (any ListingDirectory)? { self }
    func names(in tree: Tree) -> [NamedNode]? { nil }
    func rememberedKey(in tree: Tree) -> ListingKey? { key }
    func currentKey(in tree: Tree) async throws(Failure) -> ListingKey? { rememberedKey(in: tree) }
    func knowsExtras(in tree: Tree) -> Bool { true }
    func learnExtras(in tree: Tree) async {}
    func extras(of listing: Listing, in tree: Tree) -> [NamedNode] { [] }
    var showsPictures: Bool { true }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        key.map { tree.findPicture(name, $0, leastDigits: 1) } ?? .absent(TreeLimits.current)
    }

    func modified(in tree: Tree) -> Int64 {
        key.flatMap(tree.catalog.listings.loaded)?.modified ?? tree.newestPublication
    }

    func lifetime(in tree: Tree) -> Lifetime { (TreeLimits.changing, TreeLimits.changing) }
    func opens(in tree: Tree) async -> Bool { isStored(in: tree) }
    var isRefreshable: Bool { showsPictures }

    func refresh(in tree: Tree) async throws(Failure) {
        guard let key = try await currentKey(in: tree) else { return }
        do throws(CatalogError) { try await tree.catalog.listings.refresh(key) } catch { throw .catalog(error) }
    }

    /// Whether its listing was asked for.
    func isStored(in tree: Tree) -> Bool {
        key.map(tree.catalog.listings.isStored) ?? false
    }

    /// Its listing from wherever the catalog has it; nil if there is none.
    func currentListing(in tree: Tree) async throws(Failure) -> Listing? {
        guard let key = try await currentKey(in: tree) else { throw .notADirectory }
        return try await tree.listing(key)
    }
}

// MARK: - Entries of listings

extension Listing {
    /// The directory that shows this listing.
    var directory: any ListingDirectory {
        DirectoryKinds.directory(showing: key, modified: modified)
    }

    /// What an entry stands for.
    func node(at index: Int, _ entry: ListingEntry) -> Node {
        key.listsAuthors ? .link(.followed(entry.author)) : .picture(self, Int32(clamping: index))
    }

    /// The path of an entry below the mount point.
    func path(of entry: ListingEntry) -> String {
        TreePath.entry(key.path, entry.name).text
    }
}

extension Tree {
    /// A listing from wherever the catalog has it; nil if there is no such listing.
    func listing(_ key: ListingKey) async throws(Failure) -> Listing? {
        do throws(CatalogError) {
            return try await catalog.listings.open(key)
        } catch .noSuchListing {
            return nil
        } catch {
            throw .catalog(error)
        }
    }

    /// The picture of a name in a listing, whose pictures' names begin with a number.
    func findPicture(_ name: [UInt8], _ key: ListingKey, leastDigits: Int) -> LookupResult {
        guard let number = number(of: name, leastDigits: leastDigits) else { return .absent(TreeLimits.frozen) }
        if case .ranking = key, let top = catalog.listings.view.top, number > top { return .absent(TreeLimits.frozen) }
        return findEntry(name, key)
    }

    /// The number that a picture's name begins with, or nil for a name that no picture of this source has.
    func number(of name: [UInt8], leastDigits: Int) -> Int64? {
        EntryName.pictureNumber(name, leastDigits: leastDigits, extensions: source.description.fileExtensions)
    }

    /// The entry of a name that a listing may have.
    func findEntry(_ name: [UInt8], _ key: ListingKey) -> LookupResult {
        if let listing = catalog.listings.loaded(key) {
            if let finding = Self.find(name, in: listing) { return finding }
            if listing.isComplete { return .absent(listing.isFrozen ? TreeLimits.frozen : TreeLimits.changing) }
        } else if catalog.listings.isKnownAbsent(key) {
            return .absent(TreeLimits.unpublished)
        }
        return .unknown { () async throws(Failure) in
            let listings = self.catalog.listings
            if listings.loaded(key) == nil, !listings.isStored(key) { self.catalog.expectPictures() }
            guard let listing = try await self.listing(key) else { return .absent(TreeLimits.unpublished) }
            do throws(CatalogError) { _ = try await listing.find(named: name) } catch { throw .catalog(error) }
            if let finding = Self.find(name, in: listing) { return finding }
            return .absent(listing.isFrozen ? TreeLimits.frozen : TreeLimits.changing)
        }
    }

    /// Whether an entry is listed; what the service withholds is found by name only, so that copying a directory fails at nothing.
    func lists(_ entry: ListingEntry) -> Bool {
        !entry.isHidden && (!entry.isWithheld || configuration.listsWithheld)
    }

    /// How many entries of a listing are not listed because the service withholds them.
    func unlisted(of listing: Listing) -> Int {
        listing.entries.count { !$0.isHidden && !lists($0) }
    }

    /// The entry of a name among the known ones; what the filter hides is absent.
    private static func find(_ name: [UInt8], in listing: Listing) -> LookupResult? {
        guard let index = listing.index(named: name), let entry = listing.entry(at: index) else { return nil }
        return entry.isHidden ? .absent(TreeLimits.changing) : .node(listing.node(at: index, entry))
    }

    /// The directory of an author or a work, which nobody is asked about before it is opened or a name in it is looked up.
    ///
    /// File managers look up every number that begins like the one that is being typed.
    ///
    /// - Parameters:
    ///   - key: The listing.
    ///   - spelling: The directory, where it may be spelt otherwise than the key.
    /// - Returns: The directory, unless there is certainly none.
    func findNumbered(_ key: ListingKey, as spelling: (any ListingDirectory)? = nil) -> LookupResult {
        if let listing = catalog.listings.loaded(key) { return .directory(spelling ?? listing.directory) }
        if catalog.listings.isKnownAbsent(key) { return .absent(TreeLimits.changing) }
        let directory = spelling ?? DirectoryKinds.directory(showing: key)
        guard catalog.listings.isStored(key) else { return .directory(directory) }
        // Its time is in the database.
        return .unknown {
            let stored = await self.catalog.listings.stored(key)
            return .directory(spelling ?? stored?.directory ?? directory)
        }
    }
}
