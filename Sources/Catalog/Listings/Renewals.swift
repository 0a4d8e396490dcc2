import HTTP
package import Rankings
import System
internal import Synchronization

/// Works that were uploaded again: their old addresses answer 404 for good, in every stored listing.
extension Listings {
    /// Requests the record of a work whose picture is gone, with the lowest priority and at most once a day: mostly the work is, too.
    ///
    /// If the work was uploaded again, stored listings show the new picture in the place of the old one, under the same name.
    ///
    /// - Parameters:
    ///   - picture: A picture that the image host says is gone.
    ///   - renewed: Called with the listings that show the new one.
    package func renew(_ picture: PictureID, _ renewed: @escaping @Sendable ([ListingKey]) async -> Void = { _ in }) {
        guard !renewals.holds(picture.work, now: now) else { return }
        renewals.begin(picture.work, now: now)
        context.background.run { [self] in
            let began = context.configuration.time.now()
            await RequestUrgency.$isBackground.withValue(true) {
                // Not the record that other machines have.
                await RequestUrgency.$renewal.withValue(began) { await ask(picture, renewed) }
            }
        }
    }

    private func ask(_ picture: PictureID, _ renewed: @Sendable ([ListingKey]) async -> Void) async {
        guard let work = try? await source.details(of: picture.work, deadline: context.deadline()).work,
            work.withheld == nil, work.uploaded != picture.uploaded
        else { return }
        var keys: [ListingKey] = []
        for key in await listings(of: work.id) where (try? await show(work, in: key)) == true { keys.append(key) }
        if !keys.isEmpty { await renewed(keys) }
    }

    /// Some of the stored listings that show a work, rankings first.
    func listings(of work: WorkID) async -> [ListingKey] {
        let variant = StoredVariant(view)
        let keys = try? await context.read { connection throws(DatabaseError) in
            try Rows.places(of: work, variant, in: connection)
        }
        return (keys ?? []).map(\.listing)
    }

    /// Shows a work's new picture in the place of its old one; false if there is none, or if its format needs another name.
    private func show(_ work: Work, in key: ListingKey) async throws(Failure) -> Bool {
        guard key.kind.showsPictures, let listing = await stored(key),
            let index = listing.index(of: work.id, page: 0),
            let entry = listing.entry(at: index), !entry.isWithheld, entry.picture.uploaded != work.uploaded
        else { return false }
        if key.isWork { return try await refreshed(listing, isRequested: true) !== listing }
        var listed = try await record(of: entry, in: listing)
        listed.work = work
        var picture =
            view.rendition == .original
            ? try await pageFactory.originals.original(of: listed)
            : ListedPicture(listed, rendition: view.rendition, of: source)
        guard entry.name.hasSuffix(".\(picture.fileExtension)") else { return false }
        (picture.name, picture.isRenewed) = (entry.name, true)
        let (table, paging) = listing.state.withLock { ($0.table, $0.paging) }
        let after = listing.pages.paging(from: paging.next, last: paging.isComplete ? paging.next - 1 : paging.last)
        return replace(listing, [picture], before: table, listing.pages, after) !== listing
    }
}
