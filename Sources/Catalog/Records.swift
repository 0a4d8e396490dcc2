package import Rankings
import System

/// Full records, profiles and animations: requested when they are needed, stored, and served offline.
///
/// ## Concurrency
///
/// Any thread may call; all methods may wait for the database, and for the service where their comments say so.
package final class Records: Sendable {
    private let context: CatalogContext
    /// The requests under way.
    let flights = SharedTasks<TextKey, StoredText>()
    /// The keys of stored texts that the service did not answer for.
    private let unanswered = Pauses<TextKey>(seconds: Freshness.lateSeconds)

    init(_ context: CatalogContext) {
        self.context = context
    }

    // MARK: - Works

    /// The full record of a work as JSON, requested once.
    ///
    /// - Parameters:
    ///   - work: The work.
    ///   - pages: The file names of its pages.
    /// - Returns: The text, unchanged for as long as the listing of the work is unchanged.
    /// - Throws: The error of the source, if nothing is stored.
    package func details(of work: WorkID, pages: [String]) async throws(Failure) -> StoredText {
        try await text(.details(work), seconds: nil) { [source = context.source] deadline async throws(Failure) in
            try await source.details(of: work, deadline: deadline).json(pages: pages, webPage: source.webPage(of: work))
        }
    }

    /// Keeps the full record of a work that was requested elsewhere.
    ///
    /// - Parameters:
    ///   - details: The record.
    ///   - work: The work.
    ///   - pages: The file names of its pages.
    func keep(_ details: WorkDetails, of work: WorkID, pages: [String]) {
        let text = details.json(pages: pages, webPage: context.source.webPage(of: work))
        context.outbox.add([.text(.details(work), StoredText(text, now: context.now))])
    }

    /// Whether the full record of a work is stored.
    package func hasDetails(of work: WorkID) async -> Bool {
        await stored(.details(work)) != nil
    }

    /// The newest record of a work from any listing; nil if the work was never listed.
    package func listedWork(_ work: WorkID) async -> Work? {
        try? await context.read { connection throws(DatabaseError) in try Rows.work(work, in: connection) }
    }

    /// The frames of an animation and the reference to its archive.
    package func animation(of work: WorkID) async throws(Failure) -> AnimationRecord {
        let isWhole: @Sendable (String) -> Bool = { AnimationRecord(stored: $0) != nil }
        let source = context.source
        let text = try await text(.animation(work), seconds: nil, accepts: isWhole) {
            deadline async throws(Failure) in
            try await source.animation(of: work, deadline: deadline).storedText
        }.text
        guard let animation = AnimationRecord(stored: text) else {
            throw .unreadable("the frames of work \(work.rawValue) make no sense")
        }
        return animation
    }

    /// Keeps the frames of an animation that were requested elsewhere.
    func keep(_ animation: AnimationRecord, of work: WorkID) {
        context.outbox.add([.text(.animation(work), StoredText(animation.storedText, now: context.now))])
    }

    // MARK: - Authors

    /// The profile of an author as JSON, requested again after some hours.
    package func profile(of author: UserID) async throws(Failure) -> StoredText {
        try await text(.profile(author), seconds: Freshness.profileSeconds) {
            [self] deadline async throws(Failure) in
            try await askProfile(of: author, deadline: deadline).json
        }
    }

    /// The source's reference to an author's picture; empty for an author without one.
    package func avatar(of author: UserID) async throws(Failure) -> StoredText {
        try await text(.avatar(author), seconds: Freshness.profileSeconds) {
            [self] deadline async throws(Failure) in
            try await askProfile(of: author, deadline: deadline).avatar
        }
    }

    /// The only author of listed works with this name; nil if no author or several have it.
    package func author(named name: String) async -> UserID? {
        let authors = try? await context.read { connection throws(DatabaseError) in
            try Rows.authors(named: name, in: connection)
        }
        return authors?.count == 1 ? authors?.first : nil
    }

    /// Requests a profile; one answer yields both texts, and both are kept whichever is needed.
    private func askProfile(
        of author: UserID, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> (json: String, avatar: String) {
        let profile = try await context.source.profile(of: author, deadline: deadline)
        let (json, avatar) = (
            profile.json(webPage: context.source.description.authorPage(author)), profile.avatar ?? ""
        )
        let now = context.now
        context.outbox.add([
            .text(.profile(author), StoredText(json, now: now)),
            .text(.avatar(author), StoredText(avatar, now: now)),
        ])
        return (json, avatar)
    }

    // MARK: -

    private func stored(_ key: TextKey) async -> StoredText? {
        let found = try? await context.read { connection throws(DatabaseError) in try Rows.text(key, in: connection) }
        return found.flatMap { $0 }
    }

    /// A stored text, or a requested one; the stored text serves while the service does not answer.
    ///
    /// - Parameters:
    ///   - key: The subject of the text.
    ///   - seconds: The seconds during which the text is fresh; nil for ever.
    ///   - accepts: Whether a stored text can be used.
    ///   - ask: Sends the request to the source.
    /// - Returns: The text with its times.
    /// - Throws: The error of the source, if nothing is stored.
    private func text(
        _ key: TextKey, seconds: Int64?, accepts: @escaping @Sendable (String) -> Bool = { _ in true },
        ask: @escaping @Sendable (ContinuousClock.Instant) async throws(Failure) -> String
    ) async throws(Failure) -> StoredText {
        try await flights.value(for: key) { [self] in
            let stored = await stored(key).flatMap { accepts($0.text) ? $0 : nil }
            if let stored, holds(stored, key, seconds: seconds) { return .success(stored) }
            do throws(Failure) {
                let deadline = context.deadline(isComparison: stored != nil)
                let signIn = context.source.signIn
                var answer: String
                do throws(Failure) { answer = try await ask(deadline) } catch {
                    // The session has turned out to be over: it may be shown anonymously.
                    guard error == .needsSignIn, context.source.signIn != signIn else { throw error }
                    answer = try await ask(deadline)
                }
                var text = StoredText(answer, now: context.now)
                unanswered.end(key)
                context.outbox.add([.text(key, text)])
                if let stored, stored.text == text.text { text.changed = stored.changed }
                return .success(text)
            } catch {
                if let stored {
                    unanswered.begin(key, after: error, now: context.now)
                    return .success(stored)
                }
                return .failure(error.ofListing)
            }
        }
    }

    /// Whether a stored text is served without a request.
    private func holds(_ stored: StoredText, _ key: TextKey, seconds: Int64?) -> Bool {
        let now = context.now
        guard let seconds, !Freshness.holds(since: stored.fetched, seconds: seconds, now: now) else { return true }
        // Otherwise each read would wait for a network that swallows every packet.
        return unanswered.holds(key, now: now)
    }
}

// MARK: - Animation text

extension AnimationRecord {
    /// An animation as lines: the archive's reference, then name and delay of each frame.
    var storedText: String {
        archive + "\n" + frames.map { "\($0.file) \($0.delay)\n" }.joined()
    }

    /// Parses the lines; nil for lines that are not an animation.
    init?(stored text: String) {
        var lines = text.split(separator: "\n")[...]
        guard let archive = lines.popFirst() else { return nil }
        var frames: [Frame] = []
        for line in lines {
            // An animation with a frame less would be a different one. Names may contain blanks.
            guard let blank = line.lastIndex(of: " "), blank > line.startIndex,
                let delay = Int(line[line.index(after: blank)...])
            else { return nil }
            frames.append(Frame(file: String(line[..<blank]), delay: delay))
        }
        guard !frames.isEmpty else { return nil }
        self.init(archive: String(archive), frames: frames)
    }
}
