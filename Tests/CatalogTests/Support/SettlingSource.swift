import Rankings
import TestSupport

extension SourceDescription {
    /// A service like pixiv whose days are asked for again after a week, and then every thirty days.
    static var settling: SourceDescription {
        let other = likePixiv
        return SourceDescription(
            name: other.name, title: other.title,
            calendar: RankingCalendar(
                delay: other.calendar.delay, change: .settles(after: 7 * 86_400, then: 30 * 86_400),
                secondsAhead: other.calendar.secondsAhead),
            rankings: other.rankings, listings: other.listings, abilities: other.abilities,
            renditions: other.renditions,
            fileExtensions: other.fileExtensions, paging: other.paging, tellsSizes: other.tellsSizes,
            access: other.access, webPage: other.webPage)
    }
}
