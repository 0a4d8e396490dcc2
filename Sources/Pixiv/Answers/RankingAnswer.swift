package import Rankings
import Sourcing
import System

extension ListAnswers {
    /// Decodes one page of `ranking.php`, entry by entry.
    ///
    /// - Parameters:
    ///   - root: The whole answer.
    ///   - mode: The requested ranking.
    ///   - day: The requested day; nil if the newest day was requested.
    ///   - page: The number of the requested page, from 1.
    /// - Returns: The page; unreadable entries are left out and counted.
    /// - Throws: `Failure`, also if the answer belongs to another request.
    package static func ranking(
        of root: JSON, mode: RankingMode, day: Day?, page: Int
    ) throws(Failure) -> ListingPage {
        if let message = Envelope.error(in: root) { throw error(message, page: page) }
        let contents = root["contents"].elements
        guard root["contents"].isArray else {
            throw .unreadable("The answer of pixiv's ranking has no list of entries; pixiv may have changed it.")
        }
        // Otherwise works of every kind would be stored permanently under the name of one kind.
        let (name, content) = PixivRankings.query(of: mode)
        let isOther = root["mode"].text.map { $0 != name } ?? false
        let isOtherContent = root["content"].text.map { $0 != (content ?? "all") } ?? false
        if isOther || isOtherContent {
            throw PixivSource.facts.needsSignIn(mode)
                ? .needsSignIn : .unreadable("pixiv answered with another ranking than \(mode.rawValue).")
        }
        let total = root["rank_total"].number(in: 0...PixivLimits.ranks.upperBound).map { Int($0) }
        guard let first = contents.first else {
            let before = (page - 1) * PixivLimits.entriesPerPage
            guard total ?? 0 <= before, root["next"].number ?? 0 <= Int64(page) else {
                throw .unreadable("pixiv shows no entries of a ranking where it counts some; asking again later helps.")
            }
            throw noRanking(page: page)
        }
        guard let served = root["date"].text.flatMap({ Day(compact: $0) }) ?? day else {
            throw .unreadable("pixiv's ranking does not tell its day; pixiv may have changed it.")
        }
        // For a day without a ranking yet the service may fall back to an older day.
        if let day, served != day { throw .notPublished }
        if let echo = root["page"].number, echo != Int64(page) {
            throw .unreadable("pixiv answered with page \(echo) of a ranking in place of page \(page).")
        }
        let (entries, unreadable) = entries(contents)
        guard !entries.isEmpty else {
            let names = first.members.prefix(3).map(\.name).joined(separator: ", ")
            throw .unreadable(
                "None of \(contents.count) entries could be understood; they begin with \(ForeignText.quoted(names)).")
        }
        return ListingPage(
            entries: entries, day: served, total: total,
            hasNext: hasNext(root["next"], page: page, total: total), unreadable: unreadable)
    }

    /// The error for status 404 and for an empty list: a page after the last, or a day without a ranking.
    package static func noRanking(page: Int) -> Failure {
        page > 1 ? .pastTheEnd : .notPublished
    }

    private static func error(_ message: String, page: Int) -> Failure {
        // The message means "outside the counted range of rankings"; it was seen with status 404.
        message.contains("範囲外")
            ? noRanking(page: page) : .unreadable("pixiv refused to tell a ranking: \(ForeignText.quoted(message)).")
    }

    /// The entries in rank order; a repeated entry is dropped, a second entry of the same rank counts as unreadable.
    private static func entries(_ contents: [JSON]) -> (kept: [ListedWork], unreadable: Int) {
        var kept: [Int: ListedWork] = [:]
        var unreadable = 0
        for entry in contents {
            guard let work = WorkAnswers.ranked(entry), let rank = work.rank else {
                unreadable += 1
                continue
            }
            if let earlier = kept[rank] {
                unreadable += earlier.work.id == work.work.id ? 0 : 1
            } else {
                kept[rank] = work
            }
        }
        return (kept.sorted { $0.key < $1.key }.map(\.value), unreadable)
    }

    /// Whether a page follows: `next` is a page number or false; without `next` the total decides.
    private static func hasNext(_ next: JSON, page: Int, total: Int?) -> Bool {
        if let number = next.number { return number > Int64(page) }
        if next.flag != nil { return false }
        return total.map { $0 > page * PixivLimits.entriesPerPage } ?? false
    }
}
