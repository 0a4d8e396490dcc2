import ImageHost
import Rankings

/// Finds out which format originals have, and which of them the image host cannot give.
///
/// Where no listing tells the format, the image host says 404 to all but one of a few names; asking it costs the service's API
/// nothing and tells the size besides. Where the listing tells both, nobody is asked. A few originals answer 500 for good: the
/// rendition that mounts usually show stands in for them.
struct OriginalResolver: Sendable {
    let source: any RankingSource
    let host: ImageHost
    let timeout: AnswerLimit
    /// The size of an original that is known already, in bytes.
    let stored: @Sendable (PictureID) async -> Int64?
    /// Told each size as it comes, so that a second try goes on where the first one ended.
    let learnt: @Sendable (Int64, PictureID) -> Void
    /// Told the works whose originals cannot be had.
    let missing: @Sendable (WorkID) -> Void
    /// Told how many questions were asked: to the image host, to the service.
    let count: @Sendable (_ host: Int, _ service: Int) -> Void

    /// Each work's first page, in the same order.
    func originals(of works: [ListedWork]) async throws(SourceError) -> [ListedPicture] {
        try await all(works.count) { place in await outcome(of: works[place]) }
    }

    /// A work's first page: the original if it can be had, else the rendition that stands in.
    func original(of listed: ListedWork) async throws(SourceError) -> ListedPicture {
        let standIn = ListedPicture(listed, rendition: .regular, of: source)
        guard listed.work.withheld == nil else { return standIn }
        for reference in source.originalCandidates(of: listed.work) {
            guard let found = try await look(reference, page: 0, listed) else { continue }
            return found
        }
        // A name that none of the usual ones is.
        let references: [String]
        do throws(SourceError) {
            count(0, 1)
            references = try await source.originals(of: listed.work.id, deadline: timeout.deadline)
        } catch .notFound {
            references = []
        } catch .needsSignIn {
            references = []
        }
        if let reference = references.first, let found = try await look(reference, page: 0, listed) { return found }
        missing(listed.work.id)
        return standIn
    }

    /// All pages of a work whose references the service told.
    func pages(_ references: [String], of listed: ListedWork) async throws(SourceError) -> [ListedPicture] {
        try await all(references.count) { page in await outcome(of: references[page], page: page, listed) }
    }

    // MARK: -

    // Results in place of typed errors: as a generic closure's they came out garbled from optimised builds of Swift 6.3.

    private func outcome(of listed: ListedWork) async -> Result<ListedPicture, SourceError> {
        do throws(SourceError) { return .success(try await original(of: listed)) } catch { return .failure(error) }
    }

    private func outcome(
        of reference: String, page: Int, _ listed: ListedWork
    ) async -> Result<ListedPicture, SourceError> {
        do throws(SourceError) {
            if var known = picture(reference, page: page, listed), let size = await stored(known.id) {
                known.size = size
                return .success(known)
            }
            if let found = try await look(reference, page: page, listed) { return .success(found) }
        } catch { return .failure(error) }
        // Told by the service and unknown to its own image host: shown, so that the next reader asks again.
        return .success(picture(reference, page: page, listed) ?? standIn(listed, page: page))
    }

    /// The original under a reference with its size; nil if the host does not have it under that name.
    private func look(
        _ reference: String, page: Int, _ listed: ListedWork
    ) async throws(SourceError) -> ListedPicture? {
        guard var picture = picture(reference, page: page, listed),
            let location = source.location(
                of: listed.work.id, picture: reference, page: page, rendition: .original)
        else { return nil }
        if let size = location.size {
            picture.size = size
            return picture
        }
        count(1, 0)
        let (answer, status) = await host.head(of: location, within: timeout.duration)
        switch answer {
        case .size(let size):
            picture.size = size
            learnt(size, picture.id)
            return picture
        case .notTold: return picture
        case .failed(.notFound): return nil
        case .failed where status == 500:
            // For good: the client has asked more than once by now.
            missing(listed.work.id)
            return standIn(listed, page: page)
        case .failed(let error): throw error
        }
    }

    private func picture(_ reference: String, page: Int, _ listed: ListedWork) -> ListedPicture? {
        source.location(of: listed.work.id, picture: reference, page: page, rendition: .original).map {
            ListedPicture(
                listed, page: page, rendition: .original, reference: reference, fileExtension: $0.fileExtension)
        }
    }

    private func standIn(_ listed: ListedWork, page: Int) -> ListedPicture {
        var standIn = ListedPicture(listed, rendition: .regular, of: source)
        standIn.page = page
        if page > 0 { standIn.size = 0 }
        return standIn
    }

    /// What was answered about one of several.
    private struct Outcome: Sendable {
        let place: Int
        let picture: Result<ListedPicture, SourceError>
    }

    /// Asks about each of several at once, and gives the answers in order; the transport decides how many go together.
    private func all(
        _ count: Int, _ ask: @escaping @Sendable (Int) async -> Result<ListedPicture, SourceError>
    ) async throws(SourceError) -> [ListedPicture] {
        let outcomes = await withTaskGroup(of: Outcome.self) { group in
            for place in 0..<count { group.addTask { Outcome(place: place, picture: await ask(place)) } }
            var outcomes: [Outcome] = []
            for await outcome in group {
                outcomes.append(outcome)
                // One failure is the whole page's: what the others would still ask is of no use.
                if case .failure = outcome.picture {
                    group.cancelAll()
                    return [outcome]
                }
            }
            return outcomes.sorted { $0.place < $1.place }
        }
        var pictures: [ListedPicture] = []
        for outcome in outcomes { pictures.append(try outcome.picture.get()) }
        return pictures
    }
}
