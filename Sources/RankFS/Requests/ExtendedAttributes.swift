import Catalog
package import Fuse
import ImageCache
import Rankings
import Synchronization

extension RankFileSystem {
    /// Lists the names of attributes with a stable value: `cp -a` and `getfattr -d` complain about a listed name without a value.
    package func listExtendedAttributes(_ request: InodeRequest, reply: ExtendedAttributeReply) {
        guard let node = inodes.node(request.inode), case .picture(let listing, let index) = node else {
            return reply.value([])
        }
        if let failure = tree.refusal(of: node, to: request.caller) {
            return refuse(reply, failure, subject: node.path.text)
        }
        withRecord(request.inode, listing, Int(index), reply) { record in
            var names: [UInt8] = []
            for attribute in PictureAttribute.allCases where !attribute.isLive {
                guard let value = self.value(attribute, listing, Int(index)) ?? attribute.value(in: record),
                    value.utf8.count <= PictureAttribute.longestListed
                else { continue }
                names += attribute.rawValue.utf8
                names.append(0)
            }
            reply.value(names)
        }
    }

    package func getExtendedAttribute(_ request: ExtendedAttributeRequest, reply: ExtendedAttributeReply) {
        let attribute = PictureAttribute(rawValue: request.name)
        let isOfDirectories = attribute == .withheld || request.name == Self.dayAttribute
        // Programs ask for attributes of security modules and of access lists, also of what is closed to them.
        guard let node = inodes.node(request.inode), node.directory == nil ? attribute != nil : isOfDirectories else {
            return reply.fail(Failure.noSuchAttribute.errno)
        }
        if let failure = tree.refusal(of: node, to: request.caller) {
            return refuse(reply, failure, subject: node.path.text)
        }
        if let directory = node.directory {
            // While the newest day is unknown, a guess would name a day that the service has not published.
            if attribute == nil, let day = directory.day(in: tree) { return Self.give(day.description, reply) }
            if attribute == .withheld, let key = directory.listing?.rememberedKey(in: tree) {
                // From memory and database.
                return later(reply, subject: { key.path.text }) { () async throws(Failure) in
                    let listing = await self.tree.catalog.listings.stored(key)
                    guard let entries = listing?.entries else { throw .noSuchAttribute }
                    Self.give(String(entries.count { !$0.isHidden && !self.tree.lists($0) }), reply)
                }
            }
        }
        guard let attribute, case .picture(let listing, let index) = node else {
            return reply.fail(Failure.noSuchAttribute.errno)
        }
        if attribute == .pools { return givePools(of: listing.entries[Int(index)].picture.work, reply) }
        if let value = value(attribute, listing, Int(index)) { return Self.give(value, reply) }
        guard attribute.isInRecord(of: listing.entries[Int(index)]) else {
            return reply.fail(Failure.noSuchAttribute.errno)
        }
        withRecord(request.inode, listing, Int(index), reply) { record in
            guard let value = attribute.value(in: record) else { return reply.fail(Failure.noSuchAttribute.errno) }
            Self.give(value, reply)
        }
    }

    /// The attribute of a directory that names the day it shows.
    ///
    /// Found by name and not listed, like other live attributes: a copy of `latest` would keep a day that a later copy into the
    /// same directory makes untrue, and a list that changes every day is a changed directory for backup programs.
    static let dayAttribute = "user.rankfs.day"

    /// Answers with the numbers of the pools that contain a post, which costs a request where they are not stored.
    private func givePools(of post: WorkID, _ reply: ExtendedAttributeReply) {
        guard tree.source.has(.poolsOfPost) else { return reply.fail(Failure.noSuchAttribute.errno) }
        let key = ListingKey(.poolsOfPost, post.rawValue)
        later(reply, subject: { key.path.text }) { () async throws(Failure) in
            let pools = try await self.tree.catalog.listings.open(key).entries.map { String($0.author.id.rawValue) }
            guard !pools.isEmpty else { throw .noSuchAttribute }
            Self.give(pools.joined(separator: ","), reply)
        }
    }

    /// Passes an entry's record to `answer`: at once if it was read recently, otherwise later from the database.
    private func withRecord(
        _ inode: UInt64, _ listing: Listing, _ index: Int, _ reply: ExtendedAttributeReply,
        _ answer: @escaping @Sendable (ListedWork) -> Void
    ) {
        let entry = listing.entries[index]
        let recent = records.withLock { records -> ListedWork? in
            // Another upload may have the same number.
            guard let recent = records[inode], recent.picture == entry.picture else { return nil }
            records[inode] = recent
            return recent.record
        }
        if let recent { return answer(recent) }
        later(reply, subject: { listing.path(of: entry) }) { () async throws(Failure) in
            let record = try await self.tree.catalog.listings.record(of: entry, in: listing)
            self.records.withLock { $0[inode] = (entry.picture, record) }
            answer(record)
        }
    }

    // MARK: - Values

    /// Returns the values that need no record.
    private func value(_ attribute: PictureAttribute, _ listing: Listing, _ index: Int) -> String? {
        let entry = listing.entries[index]
        let picture = entry.picture
        return switch attribute {
        case .origin: tree.source.webPage(of: picture.work)
        case .referrer: referrer(of: entry)
        case .mimeType: PictureAttribute.mimeType(ofFileNamed: entry.name)
        case .work: String(picture.work.rawValue)
        case .page: String(picture.page)
        case .rank: entry.rank > 0 ? String(entry.rank) : nil
        case .posted: Timestamp.text(picture.uploaded)
        case .state: stateName(of: picture)
        case .progress: progress(of: picture, size: listing.size(at: index))
        case .kept: tree.cache.isPinned(picture) ? "yes" : "no"
        default: nil
        }
    }

    /// The page that the picture's request names as its referrer, or the work's page.
    private func referrer(of entry: ListingEntry) -> String {
        tree.knownLocation(of: entry)?.referrer ?? tree.source.webPage(of: entry.picture.work)
    }

    private func stateName(of picture: PictureID) -> String {
        switch tree.cache.state(of: picture) {
        case .absent: "absent"
        case .queued: "queued"
        case .downloading: "downloading"
        // All bytes may be here but not yet in their place: `rankfs evict` would not find the picture.
        case .stored: tree.cache.storedSize(of: picture) == nil ? "downloading" : "stored"
        case .failed: "failed"
        }
    }

    /// The text `received/total` in bytes, with `?` for a total that is not known yet.
    private func progress(of picture: PictureID, size: Int64?) -> String {
        let (received, total): (Int64, Int64?) =
            switch tree.cache.state(of: picture) {
            case .absent, .queued, .failed: (0, size)
            case .downloading(let received, let total): (received, total ?? size)
            case .stored(let length): (length, length)
            }
        return "\(received)/\(total.map(String.init) ?? "?")"
    }

    /// Answers with a value, cut at a character to the length that Linux accepts.
    private static func give(_ value: String, _ reply: ExtendedAttributeReply) {
        let bytes = Array(value.utf8.prefix(TreeLimits.longestAttribute + 1))[...]
        reply.value(Array(bytes.beginning(ofBytes: TreeLimits.longestAttribute)))
    }
}
