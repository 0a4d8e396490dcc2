package import Rankings

/// What users of a catalog ask its parts, under the names that they know.
extension Catalog {
    package var view: ListingView { listings.view }
    package var storedListings: Set<ListingKey> { listings.keys }
    package var recentPictures: [RecentPicture] { recents.pictures }
    var outbox: Outbox { context.outbox }

    package func loadedListing(_ key: ListingKey) -> Listing? { listings.loaded(key) }
    package func listing(_ key: ListingKey) async throws(CatalogError) -> Listing { try await listings.open(key) }
    package func storedListing(_ key: ListingKey) async -> Listing? { await listings.stored(key) }
    package func isKnownAbsent(_ key: ListingKey) -> Bool { listings.isKnownAbsent(key) }
    package func isStored(_ key: ListingKey) -> Bool { listings.isStored(key) }
    package func listedAuthors() -> [UserID] { listings.authors }
    package func refresh(_ key: ListingKey) async throws(CatalogError) { try await listings.refresh(key) }
    @discardableResult
    package func forget(_ key: ListingKey) -> Bool { listings.forget(key) }
    package func dropListings() { listings.drop() }
    package func place(
        of picture: PictureID, where accepts: @Sendable (Listing, Int) -> Bool
    ) async -> (listing: Listing, index: Int)? { await listings.place(of: picture, where: accepts) }

    package func days(of mode: RankingMode) -> RankingDays { days.calendar(of: mode) }
    package func newestDay(of mode: RankingMode) async throws(CatalogError) -> Day { try await days.newest(of: mode) }
    package func rememberedNewestDay(of mode: RankingMode) -> RememberedDay? { days.rememberedNewest(of: mode) }
    package func newestPossible(of mode: RankingMode) -> Day { days.newestPossible(of: mode) }
    package func listedDays(of mode: RankingMode) -> [Day] { days.listed(of: mode) }
    package func storedDays(of mode: RankingMode) -> [Day] { days.stored(of: mode) }
    package func refreshNewestDay(of mode: RankingMode) async throws(CatalogError) -> Day {
        try await days.refreshNewest(of: mode)
    }

    package func setSize(_ size: Int64, of picture: PictureID) { sizes.set(size, of: picture) }
    package func forgetSize(of picture: PictureID) { sizes.forget(picture) }
    package func storedSize(of picture: PictureID) async -> Int64? { await sizes.stored(of: picture) }
    package func size(of picture: PictureID, at location: PictureLocation) async throws(CatalogError) -> Int64 {
        try await sizes.size(of: picture, at: location)
    }

    package func details(of work: WorkID, pages: [String]) async throws(CatalogError) -> StoredText {
        try await records.details(of: work, pages: pages)
    }
    package func hasDetails(of work: WorkID) async -> Bool { await records.hasDetails(of: work) }
    package func animation(of work: WorkID) async throws(CatalogError) -> AnimationRecord {
        try await records.animation(of: work)
    }
    package func profile(of author: UserID) async throws(CatalogError) -> StoredText {
        try await records.profile(of: author)
    }
    package func avatar(of author: UserID) async throws(CatalogError) -> String? {
        try await records.avatar(of: author)
    }
    package func storedWork(_ work: WorkID) async -> Work? { await records.listedWork(work) }
    package func author(named name: String) async -> UserID? { await records.author(named: name) }
    package func record(of entry: ListingEntry, in listing: Listing) async throws(CatalogError) -> ListedWork {
        try await records.record(of: entry, in: listing)
    }

    package func noteRecent(_ path: String) { recents.note(path) }
    package func noteAgain(_ path: String) { recents.noteAgain(path) }
    package func seenWorks() async -> [SeenWork] { await recents.seenWorks() }
}
