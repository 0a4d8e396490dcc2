import HTTP
import Sourcing
import Rankings
internal import Synchronization

/// Finds the format of originals, and the originals that the image host cannot deliver.
///
/// Where no listing contains the format, the image host answers 404 for all but one of a few names; a request to it costs the
/// service's API nothing and yields the size as well. Where the listing contains both, no request is sent. A few originals
/// answer 500 permanently, or are refused: the rendition that mounts usually show stands in for them once the host has answered
/// another original since, for a host in trouble answers 500 to all.
///
/// ## Concurrency
///
/// Any thread may call; takes a lock for microseconds.
final class Originals: Sendable {
    /// The most works without originals that are remembered; beyond this number a work is reported again.
    static let missingBound = 4096

    private let context: CatalogContext
    private let host: ImageHost
    /// Works reported to have no original.
    private let missing = Mutex<Set<WorkID>>([])
    /// The requests for originals since the start: to the image host, and to the service.
    let asked = Mutex((host: 0, service: 0))
    /// The number of originals that the host had, and what that was when each one that it does not deliver was first requested.
    private let answered = Mutex((count: 0, before: [PictureID: Int]()))

    init(_ context: CatalogContext, host: ImageHost) {
        self.context = context
        self.host = host
    }

    /// The first page of each work, in the same order.
    func originals(of works: [ListedWork]) async throws(Failure) -> [ListedPicture] {
        try await all(works.count, standIn: { [self] in standIn(works[$0], page: 0) }) { [self] place in
            await Result { () async throws(Failure) in try await find(works[place]) }
        }
    }

    /// A work's first page: the original if it is available, else the rendition that stands in.
    func original(of listed: ListedWork) async throws(Failure) -> ListedPicture {
        try await originals(of: [listed])[0]
    }

    private func find(_ listed: ListedWork) async throws(Failure) -> ListedPicture {
        let standIn = ListedPicture(listed, rendition: .regular, of: context.source)
        guard listed.work.withheld == nil else { return standIn }
        for reference in context.source.originalCandidates(of: listed.work) {
            guard let found = try await look(reference, page: 0, listed) else { continue }
            return found
        }
        // The name is none of the usual ones.
        let references: [String]
        do throws(Failure) {
            asked.withLock { $0.service += 1 }
            references = try await context.source.originals(of: listed.work.id, deadline: context.deadline())
        } catch .notFound {
            references = []
        } catch .needsSignIn {
            references = []
        }
        if let reference = references.first, let found = try await look(reference, page: 0, listed) { return found }
        noteMissing(listed.work.id)
        return standIn
    }

    /// All pages of a work, from the references that the service returned.
    ///
    /// An empty reference is of a page without a usable address: the rendition stands in for it.
    func pages(_ references: [String], of listed: ListedWork) async throws(Failure) -> [ListedPicture] {
        if references.contains("") { noteMissing(listed.work.id) }
        return try await all(references.count, standIn: { [self] in standIn(listed, page: $0) }) { [self] page in
            await Result { () async throws(Failure) in try await find(references[page], page: page, listed) }
        }
    }

    // MARK: -

    private func find(_ reference: String, page: Int, _ listed: ListedWork) async throws(Failure) -> ListedPicture {
        if var known = picture(reference, page: page, listed), let size = await context.storedSize(of: known.id) {
            known.size = size
            return known
        }
        // If the service named the page, but its image host does not have it, it is shown, so that the next reader repeats the
        // request.
        return try await look(reference, page: page, listed) ?? picture(reference, page: page, listed)
            ?? standIn(listed, page: page)
    }

    /// The original under a reference with its size; nil if the host does not have it under that name.
    private func look(
        _ reference: String, page: Int, _ listed: ListedWork
    ) async throws(Failure) -> ListedPicture? {
        guard var picture = picture(reference, page: page, listed),
            let location = context.source.location(
                of: listed.work.id, picture: reference, page: page, rendition: .original)
        else { return nil }
        if let size = location.size {
            picture.size = size
            return picture
        }
        asked.withLock { $0.host += 1 }
        let before = answered.withLock(\.count)
        let (answer, status) = await host.head(of: location, within: context.configuration.timeout)
        switch answer {
        case .size(let size):
            answered.withLock { $0.count += 1 }
            picture.size = size
            context.outbox.add([.toldSize(size, picture.id)])
            return picture
        case .notTold:
            answered.withLock { $0.count += 1 }
            return picture
        case .failed(.notFound): return nil
        case .failed(let error):
            // The client has repeated the request that was answered with 500.
            if status == 500 || status == 403 { noteRefused(standIn(listed, page: page).id, before) }
            throw error
        }
    }

    /// Records an original that the host does not deliver, and the originals that it had delivered before the request.
    private func noteRefused(_ picture: PictureID, _ before: Int) {
        answered.withLock { answered in
            if answered.before.count >= Self.missingBound { answered.before = [:] }
            answered.before[picture] = answered.before[picture] ?? before
        }
    }

    /// Whether the host has delivered another original since it did not deliver this one, or beside it; nil if it was not asked in
    /// vain.
    private func isAlone(_ picture: PictureID, beside start: Int) -> Bool? {
        answered.withLock { answered in answered.before[picture].map { min($0, start) < answered.count } }
    }

    private func picture(_ reference: String, page: Int, _ listed: ListedWork) -> ListedPicture? {
        context.source.location(of: listed.work.id, picture: reference, page: page, rendition: .original).map {
            ListedPicture(
                listed: listed, page: page, rendition: .original, reference: reference, fileExtension: $0.fileExtension)
        }
    }

    private func standIn(_ listed: ListedWork, page: Int) -> ListedPicture {
        var standIn = ListedPicture(listed, rendition: .regular, of: context.source)
        standIn.page = page
        if page > 0 { standIn.size = 0 }
        return standIn
    }

    /// The outcome for one of several pictures.
    private typealias Outcome = (place: Int, picture: Result<ListedPicture, Failure>)

    /// Requests several pictures at once and returns them in order; the transport decides how many requests run together.
    ///
    /// - Parameters:
    ///   - count: The number of pictures.
    ///   - standIn: Returns the rendition that takes the place of an original that the host does not deliver.
    ///   - ask: Requests one picture.
    /// - Returns: The pictures in their order.
    /// - Throws: The first failure that is not of one picture alone.
    private func all(
        _ count: Int, standIn: (Int) -> ListedPicture,
        _ ask: @escaping @Sendable (Int) async -> Result<ListedPicture, Failure>
    ) async throws(Failure) -> [ListedPicture] {
        let start = answered.withLock(\.count)
        let outcomes = await withTaskGroup(of: Outcome.self) { group in
            for place in 0..<count { group.addTask { (place, await ask(place)) } }
            var outcomes: [Outcome] = []
            for await outcome in group {
                outcomes.append(outcome)
                // Any other failure is the host's: it fails the whole page, so the other requests are of no use.
                if case .failure = outcome.picture, isAlone(standIn(outcome.place).id, beside: start) == nil {
                    group.cancelAll()
                    return [outcome]
                }
            }
            return outcomes.sorted { $0.place < $1.place }
        }
        var pictures: [ListedPicture] = []
        for outcome in outcomes {
            let standIn = standIn(outcome.place)
            if case .failure = outcome.picture, isAlone(standIn.id, beside: start) == true {
                noteMissing(standIn.listed.work.id)
                pictures.append(standIn)
            } else {
                pictures.append(try outcome.picture.get())
            }
        }
        return pictures
    }

    private func noteMissing(_ work: WorkID) {
        let isFirst = missing.withLock { missing in
            if missing.count >= Self.missingBound { missing = [] }
            return missing.insert(work).inserted
        }
        if isFirst { context.report(.originalMissing(work)) }
    }
}
