import Catalog
import Fuse
import Rankings

/// A directory in the root with the listings of one kind: those that were opened, and any other by name.
struct FolderDirectory: TreeDirectory {
    let kind: ListingKind

    var path: TreePath { .folder(kind) }
    func isThere(in tree: Tree) -> Bool { tree.source.has(kind) }
    func audience(in tree: Tree) -> Audience { kind.facts.audience }

    func names(in tree: Tree) -> [NamedNode]? {
        let listings = tree.catalog.listings
        let opened = listings.opened
        // Those of the account stand in the root.
        let holders = opened.filter { $0.kind.holder == kind && !tree.isOwn($0) && tree.refusal(of: $0) == nil }
            .compactMap(\.holder)
        let shown = opened.union(holders.filter { !listings.isKnownAbsent($0) }).filter { $0.kind == kind }
        return inOrder(shown.map { $0.directory().named })
    }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        if kind == .author, let text = EntryName.authorName(name) {
            return .unknown { () async throws(Failure) in
                guard let author = await tree.catalog.records.author(named: text) else {
                    return .absent(TreeLimits.current)
                }
                return .node(.link(.named(text, author)))
            }
        }
        if kind.facts.form == .number {
            guard let number = EntryName.number(name) else { return .absent(TreeLimits.frozen) }
            let key = ListingKey(kind, number)
            return tree.findListing(key, key.directory())
        }
        guard let words = EntryName.searchWords(name), let directory = KindDirectory(kind, words) else {
            return .absent(TreeLimits.frozen)
        }
        return kind.facts.mayBeAbsent ? tree.findListing(directory.listed, directory) : .directory(directory)
    }

    var listsSeen: Bool { kind.facts.listsSeen }

    /// The time of the last addition: file managers, and clients of file servers, list a directory again when it has another time.
    func modified(in tree: Tree) -> Int64 {
        let configuration = tree.configuration
        // Other users see neither what the owner reads nor when.
        let seesRecent = listsSeen && configuration.notesRecent && !configuration.keepsOwners
        let read = seesRecent ? tree.catalog.recents.pictures.first?.opened : nil
        let kinds = ListingKind.allCases.filter { $0 == kind || $0.holder == kind }
        return (kinds.map(tree.catalog.listings.changed) + [read]).compactMap(\.self).max() ?? tree.newestPublication
    }

    /// Returns its names together with the recently seen authors or works.
    ///
    /// They lead from a picture to its author and its work. Listing them makes no request; whether the author or work exists is
    /// queried when the directory is opened.
    func withSeen(_ names: [NamedNode], in tree: Tree) async -> [NamedNode] {
        let works = await tree.catalog.recents.seenWorks()
        let seen: Set<ListingKey> =
            kind == .author
            ? Set(works.compactMap(\.author).filter { $0.rawValue > 0 }.map { .author($0) })
            : Set(works.map { .work($0.work) })
        let listed = Set(names.map(\.name))
        let further = seen.filter { !listed.contains($0.path.name) && !tree.catalog.listings.isKnownAbsent($0) }
        return inOrder(names + further.map { $0.directory().named })
    }

    /// Sorts names: numbers by their value, which have no leading zeros, so that the longer one is the greater one.
    private func inOrder(_ names: [NamedNode]) -> [NamedNode] {
        guard kind.facts.form == .number else { return names.sorted { $0.name < $1.name } }
        return names.sorted { ($0.name.utf8.count, $0.name) < ($1.name.utf8.count, $1.name) }
    }
}

/// A directory that shows a listing and nothing else, by the row of its kind; each spelling of a name is a directory, and all show
/// one listing.
struct KindDirectory: ListingDirectory {
    let path: TreePath
    let listed: ListingKey

    var key: ListingKey? { listed }
    var showsPictures: Bool { listed.kind.showsPictures }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        guard let inner = listed.kind.among else { return tree.findPicture(name, listed, leastDigits: 1) }
        let listings = tree.catalog.listings
        if EntryName.searchWords(name) == nil, tree.unloaded(self) != nil {
            return .unknown { find(name, inner, in: await listings.stored(listed), tree) }
        }
        return find(name, inner, in: listings.remembered(listed), tree)
    }

    private func find(_ name: [UInt8], _ inner: ListingKind, in list: Listing?, _ tree: Tree) -> LookupResult {
        // Tags look like names that programs probe (`.LIVE`): those of the list exist.
        let isNamed = list?.index(named: name) != nil
        guard let words = isNamed ? String(validating: name, as: UTF8.self) : EntryName.searchWords(name),
            let key = ListingKey(of: .listing(inner, "\(listed.subject.text)/\(words)"))
        else { return .missing }
        return tree.findListing(key, KindDirectory(path: path.child(words), listed: key))
    }

    func audience(in tree: Tree) -> Audience { listed.kind.facts.audience }
    // Another user may sign in.
    var longestName: Duration { listed.owner == nil ? TreeLimits.frozen : TreeLimits.current }
}

extension KindDirectory {
    /// The directory of a listing under the normal spelling of its name.
    init(_ key: ListingKey) { self.init(path: key.path, listed: key) }

    /// The directory of a listing under a spelling of its name; nil for a name that no listing of the kind has.
    init?(_ kind: ListingKind, _ name: String) {
        let path = TreePath.listing(kind, name)
        guard let key = ListingKey(of: path) else { return nil }
        self.init(path: path, listed: key)
    }
}

/// A directory in the root that shows a listing of the signed-in user, `bookmarks/` and `following/`, or the only one of its kind.
///
/// `bookmarks/` shows the pictures of the directory below `users/`, because a directory can only be in one place.
struct SessionDirectory: ListingDirectory {
    let kind: ListingKind

    var path: TreePath { .own(kind) }
    var key: ListingKey? { nil }
    var showsPictures: Bool { kind.showsPictures }
    var isSecret: Bool { kind.facts.isSecret }
    func isThere(in tree: Tree) -> Bool {
        let isAbsent =
            kind.facts.mayBeAbsent && rememberedKey(in: tree).map { tree.catalog.listings.isKnownAbsent($0) } == true
        return tree.source.has(kind) && !isAbsent
    }
    func rememberedKey(in tree: Tree) -> ListingKey? {
        ListingKey.only(kind) ?? tree.source.signIn.user.map { ListingKey(kind, $0.rawValue) }
    }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        guard let key = rememberedKey(in: tree) else { return .refused(.needsSignIn) }
        if kind.among != nil { return KindDirectory(key).find(name, in: tree, for: caller) }
        return name.contains(UInt8(ascii: "-")) ? tree.findEntry(name, key) : .absent(TreeLimits.frozen)
    }

    func modified(in tree: Tree) -> Int64 { tree.newestPublication }
    func lifetime(in tree: Tree) -> Lifetime { (.zero, TreeLimits.current) }
    // Another user may sign in.
    var longestName: Duration { TreeLimits.current }
    func refusal(in tree: Tree) -> Failure? { ListingKey.only(kind) == nil ? tree.refusalOfSession : nil }
    func audience(in tree: Tree) -> Audience { kind.facts.audience }
}

extension Tree {
    /// Whether a listing is shown in the root as the signed-in user's own.
    func isOwn(_ key: ListingKey) -> Bool {
        key.kind.facts.ownName != nil && key.number == source.signIn.user?.rawValue
    }
}

// MARK: - Author directory

/// `users/<id>/`: an author's works, profile and bookmarks.
struct AuthorDirectory: ListingDirectory {
    let author: UserID

    var path: TreePath { .author(author) }
    var key: ListingKey? { .author(author) }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        if let file = files(in: tree).first(where: { $0.name.utf8.elementsEqual(name) }) { return .node(.file(file)) }
        if let listing = listings(in: tree).first(where: { $0.path.name.utf8.elementsEqual(name) }) {
            return .directory(listing, in: tree)
        }
        return tree.findPicture(name, .author(author), leastDigits: 1)
    }

    func extras(of listing: Listing, in tree: Tree) -> [NamedNode] {
        files(in: tree).map { ($0.name, .file($0)) }
            + listings(in: tree).filter { $0.refusal(in: tree) == nil }.map(\.named)
    }

    /// The directories of the author's other listings.
    private func listings(in tree: Tree) -> [KindDirectory] {
        ListingKind.author.inside.filter { tree.source.has($0.kind) }.map {
            KindDirectory(ListingKey($0.kind, author.rawValue))
        }
    }

    /// The files made from the service's data about an author.
    private func files(in tree: Tree) -> [any TreeFile] {
        tree.source.can(.profiles) ? [RecordFile.profile(of: author), AvatarFile(author: author)] : []
    }
}

// MARK: - Work directory

/// `works/<id>/`: the pages of a work, and files made from the service's data about it.
struct WorkDirectory: ListingDirectory {
    let work: WorkID

    var path: TreePath { .work(work) }
    var key: ListingKey? { .work(work) }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        if let bridge = findBridge(name, in: tree) { return bridge }
        let isMade = tree.files(of: work, isAnimation: tree.source.can(.animations)).contains {
            $0.name.utf8.elementsEqual(name)
        }
        guard isMade || EntryName.mayBeInWork(name, extensions: tree.source.description.fileExtensions) else {
            return .absent(TreeLimits.frozen)
        }
        if let listing = tree.catalog.listings.loaded(.work(work)),
            let found = find(name, isMade, in: listing, tree) ?? (listing.isComplete ? .missing : nil)
        {
            return found
        }
        return .unknown { () async throws(Failure) in
            guard let listing = try await tree.listing(.work(work)) else { return .missing }
            if let found = find(name, isMade, in: listing, tree) { return found }
            // The service has a record of the work: its other files are missing only if it says so.
            _ = try await listing.entries(reaching: .max)
            return find(name, isMade, in: listing, tree) ?? .missing
        }
    }

    /// Finds the link to the work in another mount; nil for a name that no such link has.
    private func findBridge(_ name: [UInt8], in tree: Tree) -> LookupResult? {
        guard tree.configuration.bridge != nil, tree.source.can(.origins), !name.contains(UInt8(ascii: ".")) else {
            return nil
        }
        return .unknown { () async throws(Failure) in
            // The record of a work that was never listed arrives with the directory.
            guard try await tree.listing(.work(work)) != nil else { return .missing }
            await learnExtras(in: tree)
            guard let bridge = tree.bridge(of: work), bridge.name.utf8.elementsEqual(name) else {
                return .absent(.zero)
            }
            return .node(.link(.bridge(work, name: bridge.name, target: bridge.target)))
        }
    }

    private func find(_ name: [UInt8], _ isMade: Bool, in listing: Listing, _ tree: Tree) -> LookupResult? {
        if isMade {
            let files = tree.files(of: work, isAnimation: listing.isAnimation)
            return files.first { $0.name.utf8.elementsEqual(name) }.map { .node(.file($0)) }
        }
        return listing.index(named: name).map { .node(.picture(listing, Int32($0))) }
    }

    func knowsExtras(in tree: Tree) -> Bool { tree.knowsBridge(of: work) }
    func learnExtras(in tree: Tree) async { await tree.learnBridge(of: work) }

    func extras(of listing: Listing, in tree: Tree) -> [NamedNode] {
        let files: [NamedNode] = tree.files(of: work, isAnimation: listing.isAnimation).map { ($0.name, .file($0)) }
        guard let bridge = tree.bridge(of: work) else { return files }
        return files + [(bridge.name, .link(.bridge(work, name: bridge.name, target: bridge.target)))]
    }
}

extension Listing {
    /// Whether a work's listing holds an animation.
    var isAnimation: Bool {
        entries.contains { $0.picture.rendition == .archive }
    }
}

// MARK: - By key

extension ListingKey {
    /// The directory that shows the listing, whether the listing exists or not, under the normal spelling of its name.
    func directory() -> any ListingDirectory {
        if let (mode, day) = ranking { return DayDirectory(mode, day) }
        if let mode { return LatestDirectory(mode: mode) }
        return switch kind {
        case .author: AuthorDirectory(author: user)
        case .work: WorkDirectory(work: work)
        case _ where kind.facts.place == .root: SessionDirectory(kind: kind)
        default: KindDirectory(self)
        }
    }
}

extension Listing {
    /// The directory that shows this listing.
    var directory: any ListingDirectory { key.directory() }
}
