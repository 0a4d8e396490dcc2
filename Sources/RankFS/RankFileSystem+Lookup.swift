import Catalog
package import Fuse
import Rankings

/// What a name in a directory turned out to be.
enum LookupResult: Sendable {
    case node(Node)
    case absent(Duration)
    case refused(Failure)
    /// Only asking the catalog tells.
    case unknown(@Sendable () async throws(Failure) -> LookupResult)
}

extension RankFileSystem {
    package func lookup(_ request: LookupRequest, reply: EntryReply) {
        if let finding = findByNumber(request) {
            if answer(reply, finding, for: TreeLimits.frozen) { return }
            return later(reply, subject: { "inode \(request.parent)" }) { () async throws(Failure) in
                try await self.resolve(finding, reply, for: TreeLimits.frozen)
            }
        }
        guard let parent = inodes.node(request.parent) else {
            return refuse(reply, .forgottenInode, subject: "inode \(request.parent)")
        }
        let name = request.name
        guard name.count <= TreeLimits.longestName else {
            return refuse(reply, .nameTooLong, subject: parent.path)
        }
        if answerDesktop(request, in: parent, reply) { return }
        let finding = find(name, in: parent, request.caller)
        let longest = parent.longestName
        if answerAfterThumbnails(reply, finding, in: parent, request.caller) { return }
        if answer(reply, finding, for: longest) { return }
        let subject: @Sendable () -> String = { "\(parent.path)/\(String(decoding: name, as: UTF8.self))" }
        if case .refused(let failure) = finding { return refuse(reply, failure, subject: subject()) }
        later(reply, subject: subject) { () async throws(Failure) in
            try await self.resolve(finding, reply, for: longest)
        }
    }

    /// Answers what can be answered from memory, for the kernel to keep for `longest` at most; false if nothing was answered.
    private func answer(_ reply: EntryReply, _ finding: LookupResult, for longest: Duration) -> Bool {
        switch finding {
        case .absent(let timeout):
            reply.absent(timeout: min(timeout, longest))
            return true
        case .node(let node):
            guard let shown = known(node, number: InodeTable.none) else { return false }
            answer(reply, node, shown, for: longest)
            return true
        case .refused, .unknown:
            return false
        }
    }

    /// Asks until there is an answer, and gives it.
    func resolve(
        _ finding: LookupResult, _ reply: EntryReply, for longest: Duration
    ) async throws(Failure) {
        switch finding {
        case .refused(let failure):
            throw failure
        case .unknown(let ask):
            try await resolve(ask(), reply, for: longest)
        case .absent, .node:
            if answer(reply, finding, for: longest) { return }
            guard case .node(let node) = finding else { return }
            answer(reply, node, try await shown(node, number: InodeTable.none), for: longest)
        }
    }

    /// Answers with a node, which is counted now that nothing can fail any more.
    private func answer(_ reply: EntryReply, _ node: Node, _ shown: Shown, for longest: Duration) {
        var attributes = shown.attributes
        attributes.inode = inodes.adopt(node)
        watchAnnouncement(shown, attributes.inode)
        reply.entry(
            attributes, entryTimeout: min(shown.entryTimeout, longest), attributesTimeout: shown.attributesTimeout)
    }
}

// MARK: - Names

extension RankFileSystem {
    func find(_ name: [UInt8], in parent: Node, _ caller: Caller) -> LookupResult {
        if EntryName.isAnnouncement(name) { return .absent(.zero) }
        if let failure = refusal(of: parent, to: caller) { return .refused(failure) }
        if configuration.thumbnails != nil, let directory = parent.pictureDirectory,
            EntryName.isSharedThumbnails(name)
        {
            return .node(.sharedThumbnails(directory, nil))
        }
        switch parent {
        case .root: return findInRoot(name, caller)
        case .helpers:
            let file = HelperFile.allCases.first { $0.isBelowHelpers && $0.name.utf8.elementsEqual(name) }
            return file.map { .node(.helper($0)) } ?? .absent(TreeLimits.frozen)
        case .rankings: return findMode(name)
        case .mode(let mode): return findDay(name, mode, caller)
        case .dates(let directory): return find(name, in: directory)
        case .users: return findAuthor(name)
        case .works: return findWork(name)
        case .work(let work): return findInWork(name, work)
        case .searches:
            return EntryName.searchWords(name).map { .node(.search($0)) } ?? .absent(TreeLimits.frozen)
        case .recent: return findRecent(name)
        case .following: return findFollowed(name)
        case .day(let mode, let day):
            return findPicture(name, .ranking(mode, day), leastDigits: TreeLimits.rankDigits)
        case .latest(let mode): return findInLatest(name, mode)
        case .author(let author, _): return findOfAuthor(name, author)
        case .search(let words): return findPicture(name, .search(words), leastDigits: 1)
        case .bookmarks(let user): return findPicture(name, .bookmarks(user), leastDigits: 1)
        case .sharedThumbnails(let directory, let size): return findSharedThumbnail(name, directory, size)
        case .link, .helper, .made, .picture, .sharedThumbnail: return .refused(.notADirectory)
        }
    }

    private func findInRoot(_ name: [UInt8], _ caller: Caller) -> LookupResult {
        switch EntryName.ascii(name).map(TreePath.root.child) {
        case .rankings: .node(.rankings)
        case .dates(.all): .node(.dates(.all))
        case .users where source.can(.authors): .node(.users)
        case .works where source.can(.works): .node(.works)
        case .searches where source.can(.search): .node(.searches)
        case .recent where configuration.notesRecent: .node(.recent)
        case TreePath.random: findRandom(for: caller)
        case TreePath.ownBookmarks where source.can(.bookmarks):
            refusal(of: .link(.bookmarks)).map { .refused($0) } ?? .node(.link(.bookmarks))
        case .following where source.can(.following): refusal(of: .following).map { .refused($0) } ?? .node(.following)
        case .helpers: .node(.helpers)
        case HelperFile.cacheTag.treePath: .node(.helper(.cacheTag))
        case HelperFile.trackerIgnore.treePath: .node(.helper(.trackerIgnore))
        case HelperFile.volumeInfo.treePath: .node(.helper(.volumeInfo))
        default: .absent(TreeLimits.frozen)
        }
    }

    func findMode(_ name: [UInt8]) -> LookupResult {
        guard let name = EntryName.ascii(name), let mode = RankingMode(rawValue: name), source.description[mode] != nil
        else {
            return .absent(TreeLimits.frozen)
        }
        guard catalog.listings.view.shows(mode) else { return .absent(TreeLimits.frozen) }
        if let failure = refusal(of: .mode(mode)) { return .refused(failure) }
        return source.has(mode) ? .node(.mode(mode)) : .absent(TreeLimits.changing)
    }

    private func findDay(_ name: [UInt8], _ mode: RankingMode, _ caller: Caller) -> LookupResult {
        guard let name = EntryName.ascii(name) else { return .absent(TreeLimits.frozen) }
        if name == TreePath.latest(mode).name { return .node(.latest(mode)) }
        guard let day = Day(name), catalog.days.calendar(of: mode).contains(day) else {
            return .absent(TreeLimits.frozen)
        }
        let key = ListingKey.ranking(mode, day)
        if catalog.listings.isKnownAbsent(key) { return .absent(TreeLimits.unpublished) }
        // Only the newest day may still be missing: the service is sometimes late. Older ones are asked when they are read.
        if day < catalog.days.newestPossible(of: mode) || catalog.listings.isStored(key)
            || isGlancing(at: .mode(mode), caller)
        {
            return .node(.day(mode, day))
        }
        return .unknown { () async throws(Failure) in
            try await self.listing(key) == nil ? .absent(TreeLimits.unpublished) : .node(.day(mode, day))
        }
    }

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
            if let finding = find(name, in: listing) { return finding }
            if listing.isComplete { return .absent(listing.isFrozen ? TreeLimits.frozen : TreeLimits.changing) }
        } else if catalog.listings.isKnownAbsent(key) {
            return .absent(TreeLimits.unpublished)
        }
        return .unknown { () async throws(Failure) in
            guard let listing = try await self.listing(key) else { return .absent(TreeLimits.unpublished) }
            do throws(CatalogError) { _ = try await listing.find(named: name) } catch { throw .catalog(error) }
            if let finding = self.find(name, in: listing) { return finding }
            return .absent(listing.isFrozen ? TreeLimits.frozen : TreeLimits.changing)
        }
    }

    /// The entry of a name among the known ones; what the filter hides is absent.
    private func find(_ name: [UInt8], in listing: Listing) -> LookupResult? {
        guard let index = listing.index(named: name), let entry = listing.entry(at: index) else { return nil }
        return entry.isHidden ? .absent(TreeLimits.changing) : .node(listing.node(at: index, entry))
    }

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
}
