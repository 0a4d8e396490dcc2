import Catalog
import Fuse
import Rankings

/// A directory that shows a listing.
protocol ListingDirectory: TreeDirectory {
    /// The listing, if the directory always shows the same one.
    var key: ListingKey? { get }
    /// The listing that the directory shows now, if it is known without a request.
    func rememberedKey(in tree: Tree) -> ListingKey?
    /// Returns the listing that the directory shows now; nil if there is none.
    func currentKey(in tree: Tree) async throws(Failure) -> ListingKey?
    /// Whether the entries beside its pictures are known without a database query.
    func knowsExtras(in tree: Tree) -> Bool
    /// Queries the database for the entries beside its pictures.
    func learnExtras(in tree: Tree) async
    /// Returns the known entries beside its pictures.
    func extras(of listing: Listing, in tree: Tree) -> [NamedNode]
    /// Whether its entries are pictures, which can have thumbnails and be pinned.
    var showsPictures: Bool { get }
    /// Whether its names are the user's secret.
    var isSecret: Bool { get }
}

extension ListingDirectory {
    var listing: (any ListingDirectory)? { self }
    /// Offline a directory without its listing shows those in it that are stored.
    func names(in tree: Tree) -> [NamedNode]? {
        guard tree.configuration.isOffline, let key = rememberedKey(in: tree) else { return nil }
        return tree.stored(in: key).map { $0.directory().named }.sorted { $0.name < $1.name }
    }
    func rememberedKey(in tree: Tree) -> ListingKey? { key }
    func currentKey(in tree: Tree) async throws(Failure) -> ListingKey? { rememberedKey(in: tree) }
    func knowsExtras(in tree: Tree) -> Bool { true }
    func learnExtras(in tree: Tree) async {}
    func extras(of listing: Listing, in tree: Tree) -> [NamedNode] { [] }
    var showsPictures: Bool { true }
    var isSecret: Bool { key?.kind.facts.isSecret ?? false }
    func refusal(in tree: Tree) -> Failure? { key.flatMap(tree.refusal) }
    func audience(in tree: Tree) -> Audience { key.map(tree.audience) ?? .everybody }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        key.map { tree.findPicture(name, $0, leastDigits: 1) } ?? .absent(TreeLimits.current)
    }

    func modified(in tree: Tree) -> Int64 {
        key.flatMap(tree.catalog.listings.remembered)?.modified ?? tree.newestPublication
    }

    func lifetime(in tree: Tree) -> Lifetime {
        let facts = key?.kind.facts
        if facts?.audience == .session { return (.zero, TreeLimits.current) }
        // Opening a directory that was never requested shows whether the name exists.
        return facts?.mayBeAbsent == true && !isStored(in: tree)
            ? (.zero, .zero) : (TreeLimits.changing, TreeLimits.changing)
    }

    func isCertain(in tree: Tree) -> Bool { key?.kind.facts.mayBeAbsent != true || isStored(in: tree) }
    func opens(in tree: Tree) async -> Bool { rememberedKey(in: tree).map(tree.opens) ?? false }
    var isRefreshable: Bool { true }

    func refresh(in tree: Tree) async throws(Failure) {
        guard let key = try await currentKey(in: tree) else { return }
        try await tree.catalog.listings.refresh(key)
    }

    /// Whether its listing has been requested before.
    func isStored(in tree: Tree) -> Bool {
        key.map(tree.catalog.listings.isStored) ?? false
    }

    /// Returns its listing from memory, the database or the service; nil if there is none.
    func currentListing(in tree: Tree) async throws(Failure) -> Listing? {
        guard let key = try await currentKey(in: tree) else { throw .notADirectory }
        return try await tree.listing(key)
    }
}

// MARK: - Entries of listings

extension Listing {
    /// The node of an entry.
    func node(at index: Int, _ entry: ListingEntry) -> Node {
        if let inner = inner(entry) { return .directory(inner.directory()) }
        return key.listsNames ? .link(.followed(entry.author)) : .picture(self, Int32(clamping: index))
    }

    /// The listing that an entry names; nil in a listing of other things.
    func inner(_ entry: ListingEntry) -> ListingKey? {
        key.kind.among.flatMap { ListingKey(of: .listing($0, "\(key.subject.text)/\(entry.name)")) }
    }

    /// The path of an entry below the mount point, as displays show it.
    func path(of entry: ListingEntry) -> String {
        TreePath.entry(key.path, entry.name).disclosed
    }
}

extension Tree {
    /// Returns a listing from memory, the database or the service; nil if there is no such listing.
    func listing(_ key: ListingKey) async throws(Failure) -> Listing? {
        do throws(Failure) {
            return try await catalog.listings.open(key)
        } catch .absent {
            return nil
        }
    }

    /// Finds the picture of a name in a listing where the names of pictures begin with a number.
    func findPicture(_ name: [UInt8], _ key: ListingKey, leastDigits: Int) -> LookupResult {
        guard let number = number(of: name, leastDigits: leastDigits) else { return .absent(TreeLimits.frozen) }
        if key.mode != nil, let top = catalog.listings.view.top, number > top { return .absent(TreeLimits.frozen) }
        return findEntry(name, key)
    }

    /// The number at the beginning of a picture's name, or nil for a name that no picture of this source has.
    func number(of name: [UInt8], leastDigits: Int) -> Int64? {
        EntryName.pictureNumber(name, leastDigits: leastDigits, extensions: source.description.fileExtensions)
    }

    /// Finds the entry of a name that a listing may have.
    func findEntry(_ name: [UInt8], _ key: ListingKey) -> LookupResult {
        if let listing = catalog.listings.shown(key), let finding = Self.find(name, in: listing, unlessWithheld: true) {
            return finding
        }
        if let listing = catalog.listings.loaded(key) {
            if let finding = Self.find(name, in: listing) { return finding }
            if listing.isComplete { return .missing }
        } else if catalog.listings.isKnownAbsent(key) {
            return .missing
        }
        return .unknown { () async throws(Failure) in
            let listings = self.catalog.listings
            if listings.loaded(key) == nil, !listings.isStored(key) { self.catalog.expectPictures() }
            guard let listing = try await self.listing(key) else { return .missing }
            _ = try await listing.find(named: name)
            return Self.find(name, in: listing) ?? .missing
        }
    }

    /// Whether an entry is listed; withheld entries are found by name only, so that copying a directory never fails.
    func lists(_ entry: ListingEntry) -> Bool {
        !entry.isHidden && (!entry.isWithheld || configuration.listsWithheld)
    }

    /// Finds the entry of a name among the known ones; entries hidden by the filter are absent.
    private static func find(
        _ name: [UInt8], in listing: Listing, unlessWithheld: Bool = false
    ) -> LookupResult? {
        guard let index = listing.index(named: name), let entry = listing.entry(at: index),
            !unlessWithheld || !entry.isWithheld
        else { return nil }
        return entry.isHidden ? .absent(TreeLimits.changing) : .node(listing.node(at: index, entry))
    }

    /// The directory of a listing that may not exist, without a request before it is opened or a name in it is queried.
    ///
    /// File managers query every number on the way to the one being typed.
    ///
    /// - Parameters:
    ///   - key: The listing.
    ///   - directory: The directory.
    /// - Returns: The directory, unless it certainly does not exist.
    func findListing(_ key: ListingKey, _ directory: any ListingDirectory) -> LookupResult {
        catalog.listings.isKnownAbsent(key) ? .missing : .directory(directory)
    }

    /// The listing of a directory whose modification time is in the database alone; nil for any other directory.
    func unloaded(_ directory: any TreeDirectory) -> ListingKey? {
        guard let key = directory.listing?.key, key.mode == nil, catalog.listings.remembered(key) == nil,
            catalog.listings.isStored(key)
        else { return nil }
        return key
    }
}
