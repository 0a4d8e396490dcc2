import Catalog
import Fuse
import Rankings

/// `works/`: the works that were opened, and those of the pictures that were read last.
struct WorksDirectory: TreeDirectory {
    var path: TreePath { .works }
    var parent: any TreeDirectory { RootDirectory() }
    func isThere(in tree: Tree) -> Bool { tree.source.can(.works) }

    func names(in tree: Tree) -> [NamedNode]? {
        let works = tree.catalog.listings.opened.compactMap { key -> WorkID? in
            if case .work(let work) = key { work } else { nil }
        }
        return works.sorted().map { WorkDirectory($0).named }
    }

    func find(_ name: [UInt8], in tree: Tree, for caller: Caller) -> LookupResult {
        guard let number = EntryName.author(name)?.rawValue else { return .absent(TreeLimits.frozen) }
        return tree.findNumbered(.work(WorkID(rawValue: number)))
    }

    var listsSeen: Bool { true }

    func withSeen(_ names: [NamedNode], in tree: Tree) async -> [NamedNode] {
        tree.inOrder(names, with: Set(await tree.catalog.recents.seenWorks().map(\.work)).map { WorkDirectory($0) })
    }
}

/// `works/<id>/`: the pages of a work, and files that are made of what the service tells of it.
struct WorkDirectory: ListingDirectory {
    let work: WorkID

    init(_ work: WorkID) {
        self.work = work
    }

    var path: TreePath { .work(work) }
    var parent: any TreeDirectory { WorksDirectory() }
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

    /// The work in another mount; nil for a name that no such link has.
    private func findBridge(_ name: [UInt8], in tree: Tree) -> LookupResult? {
        guard tree.configuration.bridge != nil, tree.source.can(.origins), !name.contains(UInt8(ascii: ".")) else {
            return nil
        }
        return .unknown { () async throws(Failure) in
            // A record that nobody listed comes with the directory.
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

    // Opening one that nobody asked about tells whether there is such a number.
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
