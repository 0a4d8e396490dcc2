import Rankings
import Synchronization

/// The works that searches find: those of the named authors and the rankings of the last week.
///
/// ## Concurrency
/// Called from any thread. The list of a day is made under the lock, once: some ten thousand records.
final class SearchIndex: Sendable {
    /// What searches look at.
    struct Entry: Sendable {
        let slot: Slot
        let id: WorkID
        let kind: WorkKind
        /// Places in the list's texts.
        let title: Int
        let tags: [Int]
        let isMasked: Bool
        let xRestrict: Int
        let aiType: Int
    }

    /// All works of a day, highest number first, and their titles and tags, each text once and in lower case: there are
    /// some hundreds only, so that a search compares few texts.
    struct List: Sendable {
        var entries: [Entry] = []
        var texts: [String] = []
        fileprivate var places: [String: Int] = [:]

        fileprivate mutating func place(of text: String) -> Int {
            let text = text.lowercased()
            if let place = places[text] { return place }
            places[text] = texts.count
            texts.append(text)
            return texts.count - 1
        }
    }

    private let kept = Mutex<(newest: Day, list: List)?>(nil)

    /// What there is to find on a day.
    func list(_ universe: Universe, newest: Day) -> List {
        kept.withLock { kept in
            if let kept, kept.newest == newest { return kept.list }
            let list = Self.collect(universe, newest: newest)
            kept = (newest, list)
            return list
        }
    }

    // MARK: -

    private static let days = 7
    private static let modes = ["daily", "daily_ai", "daily_r18"]

    private static func collect(_ universe: Universe, newest: Day) -> List {
        var slots: [Slot] = []
        for (index, author) in SpecialAuthor.all.enumerated() {
            slots += (0..<author.works).map { .special(author: index, work: $0) }
        }
        let last = newest.ordinal - Universe.firstDay.ordinal
        for day in max(0, last - days + 1)...max(0, last) {
            for name in modes {
                guard let mode = Universe.modes.firstIndex(of: name) else { continue }
                slots += (1...Universe.ranks(ofMode: mode)).map { .ranking(day: day, mode: mode, rank: $0) }
            }
        }
        var list = List()
        for slot in slots where universe.exists(slot, newest: newest) {
            let work = universe.record(slot)
            list.entries.append(
                Entry(
                    slot: slot, id: work.id, kind: work.kind, title: list.place(of: work.title),
                    tags: work.tags.map { list.place(of: $0) }, isMasked: work.isMasked, xRestrict: work.xRestrict,
                    aiType: work.aiType))
        }
        list.entries.sort { $0.id > $1.id }
        return list
    }
}
