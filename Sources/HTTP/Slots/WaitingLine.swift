/// Those who wait, by rank and then by number; whoever leaves, from wherever, is not searched for.
///
/// Each change costs the same however many wait, but for a number that comes out of turn.
struct WaitingLine {
    private struct Place: Equatable {
        var id: Int
        var rank: Int
        var number: Int
    }

    /// Places of one rank in order, with those that were left since.
    private struct Row {
        var places: [Place] = []
        /// Where the first of them is that was not looked at yet.
        var head = 0
    }

    /// Left places that are borne before a row is tidied up.
    private static let mostLeft = 64

    private var places: [Int: Place] = [:]
    private var rows: [Row]

    /// A line with ranks from 0, which goes first, up to this one, which is not among them.
    init(ranks: Int) {
        rows = Array(repeating: Row(), count: max(1, ranks))
    }

    var count: Int { places.count }
    var isEmpty: Bool { places.isEmpty }

    /// Everybody, in order.
    var ids: [Int] {
        places.values.sorted { ($0.rank, $0.number) < ($1.rank, $1.number) }.map(\.id)
    }

    /// Puts somebody in their place, before those of the same rank that have a greater number; who is there already moves.
    mutating func insert(_ id: Int, rank: Int, number: Int) {
        let rank = min(max(0, rank), rows.count - 1)
        let place = Place(id: id, rank: rank, number: number)
        places[id] = place
        if rows[rank].places.count - rows[rank].head > 2 * places.count + Self.mostLeft {
            rows[rank] = Row(places: rows[rank].places.filter { places[$0.id] == $0 && $0 != place })
        }
        // Nearly always the last place: look from the end.
        var index = rows[rank].places.count
        while index > rows[rank].head, rows[rank].places[index - 1].number > number { index -= 1 }
        rows[rank].places.insert(place, at: index)
    }

    /// Takes somebody out; false if they do not wait.
    @discardableResult
    mutating func remove(_ id: Int) -> Bool {
        places.removeValue(forKey: id) != nil
    }

    /// Who is next; nil if nobody waits.
    mutating func first() -> Int? {
        for rank in rows.indices {
            while rows[rank].head < rows[rank].places.count {
                let place = rows[rank].places[rows[rank].head]
                if places[place.id] == place { return place.id }
                rows[rank].head += 1
            }
            rows[rank] = Row()
        }
        return nil
    }
}
