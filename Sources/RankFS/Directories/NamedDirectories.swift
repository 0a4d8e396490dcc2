import Catalog
import Fuse
import Rankings

/// `users/`: the authors with listed works, and the authors of the pictures that were read last.
struct UsersDirectory: TreeDirectory {
    var path: TreePath { .users }
    func isThere(in tree: Tree) -> Bool { tree.source.can(.authors) }

    func names(in tree: Tree) -> [NamedNode]? {
        let authors = tree.catalog.listings.opened.compactMap { key -> UserID? in
            if case .author(let author) = key { author } else { nil }
        }
        return authors.sorted().map { author in
            AuthorDirectory(author, modified: tree.catalog.listings.loaded(.author(author))?.modified).named
        }
    }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        if let text = EntryName.authorName(name) {
            return .unknown { () async throws(Failure) in
                guard let author = await tree.catalog.records.author(named: text) else {
                    return .absent(TreeLimits.current)
                }
                return .node(.link(.named(text, author)))
            }
        }
        guard let author = EntryName.author(name) else { return .absent(TreeLimits.frozen) }
        return tree.findNumbered(.author(author)) { AuthorDirectory(author, modified: $0) }
    }

    var listsSeen: Bool { true }

    func withSeen(_ names: [NamedNode], in tree: Tree) async -> [NamedNode] {
        let authors = Set(await tree.catalog.recents.seenWorks().compactMap(\.author)).filter { $0.rawValue > 0 }
        return tree.inOrder(names, with: authors.map { AuthorDirectory($0) })
    }
}

extension Tree {
    /// Returns names together with the recently seen ones, in numeric order.
    ///
    /// They lead from a picture to its author and its work. Listing them makes no request; whether the author or work exists is
    /// queried when the directory is opened.
    func inOrder(_ names: [NamedNode], with seen: [any ListingDirectory]) -> [NamedNode] {
        let listed = Set(names.map(\.name))
        let seen = seen.filter { directory in
            !listed.contains(directory.path.name)
                && directory.key.map { !catalog.listings.isKnownAbsent($0) } == true
        }
        // Numbers without leading zeros: the longer one is the greater one.
        return (names + seen.map(\.named)).sorted { ($0.name.utf8.count, $0.name) < ($1.name.utf8.count, $1.name) }
    }
}

// MARK: - Author directory

/// `users/<id>/`: an author's works, profile and bookmarks.
struct AuthorDirectory: ListingDirectory {
    let author: UserID
    /// The time of its listing's last change, in Unix seconds, if known.
    private let modified: Int64?

    init(_ author: UserID, modified: Int64? = nil) {
        self.author = author
        self.modified = modified
    }

    var path: TreePath { .author(author) }
    var key: ListingKey? { .author(author) }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        if let file = files(in: tree).first(where: { $0.name.utf8.elementsEqual(name) }) { return .node(.file(file)) }
        let bookmarks = BookmarksDirectory(author)
        if tree.source.can(.bookmarks), bookmarks.path.name.utf8.elementsEqual(name) {
            return .directory(bookmarks, in: tree)
        }
        return tree.findPicture(name, .author(author), leastDigits: 1)
    }

    func extras(of listing: Listing, in tree: Tree) -> [NamedNode] {
        let bookmarks = BookmarksDirectory(author)
        let isListed = tree.source.can(.bookmarks) && bookmarks.refusal(in: tree) == nil
        return files(in: tree).map { ($0.name, .file($0)) } + (isListed ? [bookmarks.named] : [])
    }

    /// The files made from the service's data about an author.
    private func files(in tree: Tree) -> [any TreeFile] {
        tree.source.can(.profiles) ? [ProfileFile(author: author), AvatarFile(author: author)] : []
    }

    func modified(in tree: Tree) -> Int64 {
        tree.catalog.listings.loaded(.author(author))?.modified ?? modified ?? tree.newestPublication
    }

    // Opening a directory that was never requested shows whether the number exists.
    func lifetime(in tree: Tree) -> Lifetime {
        isStored(in: tree) ? (TreeLimits.changing, TreeLimits.changing) : (.zero, .zero)
    }

    func isCertain(in tree: Tree) -> Bool { modified != nil }
}

// MARK: - Artists directory

/// `artists/`: the artists with listed works, where a service identifies them by name alone.
struct ArtistsDirectory: TreeDirectory {
    var path: TreePath { .artists }
    func isThere(in tree: Tree) -> Bool { tree.source.can(.artists) }

    func names(in tree: Tree) -> [NamedNode]? {
        let artists = tree.catalog.listings.opened.compactMap { key -> String? in
            if case .artist(let name) = key { name.text } else { nil }
        }
        return artists.sorted().map { ArtistDirectory($0).named }
    }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        guard let artist = EntryName.searchWords(name) else { return .absent(TreeLimits.frozen) }
        return tree.findNumbered(.artist(NormalizedName(artist))) { _ in ArtistDirectory(artist) }
    }
}

/// `artists/<name>/`: the works of an artist; each spelling of the name is a directory, and all show one listing.
struct ArtistDirectory: ListingDirectory {
    let artist: String

    init(_ artist: String) {
        self.artist = artist
    }

    var path: TreePath { .artist(artist) }
    var key: ListingKey? { .artist(NormalizedName(artist)) }

    // Opening a directory that was never requested shows whether the name exists.
    func lifetime(in tree: Tree) -> Lifetime {
        isStored(in: tree) ? (TreeLimits.changing, TreeLimits.changing) : (.zero, .zero)
    }

    func isCertain(in tree: Tree) -> Bool { isStored(in: tree) }
}

// MARK: - Bookmarks directory

/// `users/<id>/bookmarks/`: the public bookmarks of a user, which only signed-in users can see.
struct BookmarksDirectory: ListingDirectory {
    let user: UserID

    init(_ user: UserID) {
        self.user = user
    }

    var path: TreePath { .bookmarks(user) }
    var key: ListingKey? { .bookmarks(user) }
    func lifetime(in tree: Tree) -> Lifetime { (.zero, TreeLimits.current) }
    func audience(in tree: Tree) -> Audience { .session }
}

/// A directory in the root that shows a listing of the signed-in user.
protocol SessionDirectory: ListingDirectory {
    /// The listing of a user.
    func key(of user: UserID) -> ListingKey
}

extension SessionDirectory {
    var key: ListingKey? { nil }
    func rememberedKey(in tree: Tree) -> ListingKey? { tree.source.signIn.user.map(key) }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        guard let key = rememberedKey(in: tree) else { return .refused(.catalog(.needsSignIn)) }
        return name.contains(UInt8(ascii: "-")) ? tree.findEntry(name, key) : .absent(TreeLimits.frozen)
    }

    func modified(in tree: Tree) -> Int64 { tree.newestPublication }
    func lifetime(in tree: Tree) -> Lifetime { (.zero, TreeLimits.current) }
    // Another user may sign in.
    var longestName: Duration { TreeLimits.current }
    func refusal(in tree: Tree) -> Failure? { tree.refusalOfSession }
    func audience(in tree: Tree) -> Audience { .session }
    func opens(in tree: Tree) async -> Bool { rememberedKey(in: tree).map(tree.catalog.listings.isStored) ?? false }
}

/// `bookmarks/`: the signed-in user's own bookmarks.
///
/// It shows the pictures of the directory below `users/`, because a directory can only be in one place.
struct OwnBookmarksDirectory: SessionDirectory {
    var path: TreePath { .ownBookmarks }
    func key(of user: UserID) -> ListingKey { .bookmarks(user) }
    func isThere(in tree: Tree) -> Bool { tree.source.can(.bookmarks) }
}

/// `following/`: a link to each author that the signed-in user follows.
struct FollowingDirectory: SessionDirectory {
    var path: TreePath { .following }
    func key(of user: UserID) -> ListingKey { .following(user) }
    var showsPictures: Bool { false }
    func isThere(in tree: Tree) -> Bool { tree.source.can(.following) }
}

// MARK: - Search directory

/// `search/`: the searches made so far.
struct SearchesDirectory: TreeDirectory {
    var path: TreePath { .searches }
    func isThere(in tree: Tree) -> Bool { tree.source.can(.search) }
    func audience(in tree: Tree) -> Audience { .owner }

    func names(in tree: Tree) -> [NamedNode]? {
        let searches = tree.catalog.listings.opened.compactMap { key -> String? in
            if case .search(let words) = key { words.text } else { nil }
        }
        return searches.sorted().map { SearchDirectory($0).named }
    }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        EntryName.searchWords(name).map { .directory(SearchDirectory($0)) } ?? .absent(TreeLimits.frozen)
    }
}

/// `search/<words>/`: the works found by a search; each spelling of the words is a directory, and all show one listing.
struct SearchDirectory: ListingDirectory {
    let words: String

    init(_ words: String) {
        self.words = words
    }

    var path: TreePath { .search(words) }
    var key: ListingKey? { .search(NormalizedName(words)) }
}

// MARK: - Works directory

/// `works/`: the works that were opened, and the works of the pictures that were read last.
struct WorksDirectory: TreeDirectory {
    var path: TreePath { .works }
    func isThere(in tree: Tree) -> Bool { tree.source.can(.works) }

    func names(in tree: Tree) -> [NamedNode]? {
        let works = tree.catalog.listings.opened.compactMap { key -> WorkID? in
            if case .work(let work) = key { work } else { nil }
        }
        return works.sorted().map { WorkDirectory($0).named }
    }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        guard let number = EntryName.author(name)?.rawValue else { return .absent(TreeLimits.frozen) }
        let work = WorkID(rawValue: number)
        return tree.findNumbered(.work(work)) { _ in WorkDirectory(work) }
    }

    var listsSeen: Bool { true }

    func withSeen(_ names: [NamedNode], in tree: Tree) async -> [NamedNode] {
        tree.inOrder(names, with: Set(await tree.catalog.recents.seenWorks().map(\.work)).map { WorkDirectory($0) })
    }
}

/// `works/<id>/`: the pages of a work, and files made from the service's data about it.
struct WorkDirectory: ListingDirectory {
    let work: WorkID

    init(_ work: WorkID) {
        self.work = work
    }

    var path: TreePath { .work(work) }
    var key: ListingKey? { .work(work) }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        if let bridge = findBridge(name, in: tree) { return bridge }
        let isMade = WorkFiles.of(work, isAnimation: tree.source.can(.animations)).contains {
            $0.name.utf8.elementsEqual(name)
        }
        guard isMade || EntryName.mayBeInWork(name, extensions: tree.source.description.fileExtensions) else {
            return .absent(TreeLimits.frozen)
        }
        if let listing = tree.catalog.listings.loaded(.work(work)) { return find(name, isMade: isMade, in: listing) }
        return .unknown { () async throws(Failure) in
            guard let listing = try await tree.listing(.work(work)) else { return .absent(TreeLimits.changing) }
            return find(name, isMade: isMade, in: listing)
        }
    }

    /// Finds the link to the work in another mount; nil for a name that no such link has.
    private func findBridge(_ name: [UInt8], in tree: Tree) -> LookupResult? {
        guard tree.configuration.bridge != nil, tree.source.can(.origins), !name.contains(UInt8(ascii: ".")) else {
            return nil
        }
        return .unknown { () async throws(Failure) in
            // The record of a work that was never listed arrives with the directory.
            guard try await tree.listing(.work(work)) != nil else { return .absent(TreeLimits.changing) }
            await learnExtras(in: tree)
            guard let bridge = tree.bridge(of: work), bridge.name.utf8.elementsEqual(name) else {
                return .absent(.zero)
            }
            return .node(.link(.bridge(work, bridge)))
        }
    }

    private func find(_ name: [UInt8], isMade: Bool, in listing: Listing) -> LookupResult {
        if isMade {
            let file = WorkFiles.of(work, isAnimation: listing.isAnimation).first { $0.name.utf8.elementsEqual(name) }
            return file.map { .node(.file($0)) } ?? .absent(TreeLimits.changing)
        }
        return listing.index(named: name).map { .node(.picture(listing, Int32($0))) } ?? .absent(TreeLimits.changing)
    }

    func knowsExtras(in tree: Tree) -> Bool { tree.knowsBridge(of: work) }
    func learnExtras(in tree: Tree) async { await tree.learnBridge(of: work) }

    func extras(of listing: Listing, in tree: Tree) -> [NamedNode] {
        let files: [NamedNode] = WorkFiles.of(work, isAnimation: listing.isAnimation).map { ($0.name, .file($0)) }
        return files + (tree.bridge(of: work).map { [($0.name, .link(.bridge(work, $0)))] } ?? [])
    }

    // Opening a directory that was never requested shows whether the number exists.
    func lifetime(in tree: Tree) -> Lifetime {
        isStored(in: tree) ? (TreeLimits.changing, TreeLimits.changing) : (.zero, .zero)
    }

    func isCertain(in tree: Tree) -> Bool { isStored(in: tree) }
}

extension Listing {
    /// Whether a work's listing holds an animation.
    var isAnimation: Bool {
        entries.contains { $0.picture.rendition == .archive }
    }
}
