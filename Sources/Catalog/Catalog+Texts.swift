package import Rankings
import SQLite
internal import Synchronization

/// Full records, profiles and animations: asked for when something needs them, stored, and served offline.
extension Catalog {
    /// The full record of a work as JSON, asked for once.
    ///
    /// - Parameters:
    ///   - work: The work.
    ///   - pages: The file names of its pages.
    /// - Returns: The text, the same until the listing of the work is.
    /// - Throws: What the source says, if nothing is stored.
    package func details(of work: WorkID, pages: [String]) async throws(CatalogError) -> StoredText {
        try await text(.details(work), seconds: nil) { [self] deadline async throws(SourceError) in
            let details = try await source.details(of: work, deadline: deadline)
            return details.json(pages: pages, webPage: source.webPage(of: work))
        }
    }

    /// Whether the full record of a work is stored.
    package func hasDetails(of work: WorkID) async -> Bool {
        await outbox.flush()
        let found = try? await store.read { connection throws(DatabaseError) in
            try Rows.text(.details(work), in: connection)
        }
        return found.flatMap { $0 } != nil
    }

    /// The frames of an animation and where its archive is.
    package func animation(of work: WorkID) async throws(CatalogError) -> AnimationRecord {
        let isWhole: @Sendable (String) -> Bool = { Self.animation($0) != nil }
        let text = try await text(.animation(work), seconds: nil, accepts: isWhole) {
            [self] deadline async throws(SourceError) in
            Self.text(of: try await source.animation(of: work, deadline: deadline))
        }.text
        guard let animation = Self.animation(text) else {
            throw .source(.unreadable("the frames of work \(work.rawValue) make no sense"))
        }
        return animation
    }

    /// The profile of an author as JSON, asked for again after some hours.
    package func profile(of author: UserID) async throws(CatalogError) -> StoredText {
        try await text(.profile(author), seconds: Freshness.authorSeconds) {
            [self] deadline async throws(SourceError) in
            try await askProfile(of: author, deadline: deadline).json
        }
    }

    /// The source's reference to an author's picture; nil for an author without one.
    package func avatar(of author: UserID) async throws(CatalogError) -> String? {
        let reference = try await text(.avatar(author), seconds: Freshness.authorSeconds) {
            [self] deadline async throws(SourceError) in
            try await askProfile(of: author, deadline: deadline).avatar
        }.text
        return reference.isEmpty ? nil : reference
    }

    /// One answer tells both texts, and both are kept whichever was asked for.
    private func askProfile(
        of author: UserID, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> (json: String, avatar: String) {
        let profile = try await source.profile(of: author, deadline: deadline)
        let (json, avatar) = (profile.json(webPage: source.webPage(of: author)), profile.avatar ?? "")
        outbox.add([
            .text(.profile(author), StoredText(json, now: now)),
            .text(.avatar(author), StoredText(avatar, now: now)),
        ])
        return (json, avatar)
    }

    /// A work's newest record, whatever listed it; nil if it was never listed.
    package func storedWork(_ work: WorkID) async -> Work? {
        await outbox.flush()
        return try? await store.read { connection throws(DatabaseError) in try Rows.work(work, in: connection) }
    }

    /// The author of listed works who alone has this name; nil if none or several have it.
    package func author(named name: String) async -> UserID? {
        await outbox.flush()
        let authors = try? await store.read { connection throws(DatabaseError) in
            try Rows.authors(named: name, in: connection)
        }
        return authors?.count == 1 ? authors?.first : nil
    }

    // MARK: -

    func keep(_ animation: AnimationRecord, of work: WorkID) {
        outbox.add([.text(.animation(work), StoredText(Self.text(of: animation), now: now))])
    }

    /// A stored text, or one that is asked for; what is stored serves while the service does not answer.
    ///
    /// - Parameters:
    ///   - key: What it is about.
    ///   - seconds: For how long it is not asked for again; nil for ever.
    ///   - accepts: Whether a stored text can be used.
    ///   - ask: Asks the source.
    /// - Returns: The text with its times.
    /// - Throws: What the source says, if nothing is stored.
    private func text(
        _ key: TextKey, seconds: Int64?, accepts: @escaping @Sendable (String) -> Bool = { _ in true },
        ask: @escaping @Sendable (ContinuousClock.Instant) async throws(SourceError) -> String
    ) async throws(CatalogError) -> StoredText {
        try await textFlights.value(for: key) { [self] in
            await outbox.flush()
            let found = try? await store.read { connection throws(DatabaseError) in
                try Rows.text(key, in: connection)
            }
            let stored = found.flatMap { accepts($0.text) ? $0 : nil }
            if let stored, holds(stored, key, seconds: seconds) { return .success(stored) }
            let patience = stored == nil ? configuration.timeout : min(configuration.timeout, Self.refreshPatience)
            do throws(SourceError) {
                var text = StoredText(try await ask(limit(patience).deadline), now: now)
                known.withLock { $0.textFailed[key] = nil }
                outbox.add([.text(key, text)])
                if let stored, stored.text == text.text { text.changed = stored.changed }
                return .success(text)
            } catch {
                if let stored {
                    known.withLock { [now] in $0.textFailed[key] = now }
                    return .success(stored)
                }
                return .failure(CatalogError(listing: error))
            }
        }
    }

    /// Whether a stored text is served without asking.
    private func holds(_ stored: StoredText, _ key: TextKey, seconds: Int64?) -> Bool {
        guard let seconds, !Freshness.holds(since: stored.fetched, seconds: seconds, now: now) else { return true }
        guard let failed = known.withLock({ $0.textFailed[key] }) else { return false }
        // A network that swallows everything would else be waited for at each look.
        return Freshness.holds(since: failed, seconds: Freshness.lateSeconds, now: now)
    }

    /// An animation as lines: the archive's reference, then name and delay of each frame.
    static func text(of animation: AnimationRecord) -> String {
        animation.archive + "\n" + animation.frames.map { "\($0.file) \($0.delay)\n" }.joined()
    }

    static func animation(_ text: String) -> AnimationRecord? {
        var lines = text.split(separator: "\n")[...]
        guard let archive = lines.popFirst() else { return nil }
        var frames: [AnimationRecord.Frame] = []
        for line in lines {
            // A frame less would be another animation. Names may hold blanks.
            guard let blank = line.lastIndex(of: " "), blank > line.startIndex,
                let delay = Int(line[line.index(after: blank)...])
            else { return nil }
            frames.append(AnimationRecord.Frame(file: String(line[..<blank]), delay: delay))
        }
        return frames.isEmpty ? nil : AnimationRecord(archive: String(archive), frames: frames)
    }
}
