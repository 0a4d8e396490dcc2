import Rankings

/// The pools of a board: a book of each day, under the day's number from 1, with posts of that day and the next.
extension Universe {
    /// One post in so many is in the books of its day and the day before.
    private var everyInBook: Int { service == .danbooru ? 6 : 1 }

    /// The posts of a book in its order, one of which does not exist, as an expunged post on Danbooru; nil for no book.
    func book(_ number: Int64, now: Int64) -> [Int64]? {
        let newest = newest(at: now).ordinal - service.firstDay.ordinal
        guard number > 0, number <= newest + 1 else { return nil }
        let day = Int(number) - 1
        let all = (day...day + 1).flatMap { self.posts(on: service.firstDay.advanced(by: $0), now: now) }
        let posts = all.filter { $0.slot.number % everyInBook == 0 }.map(\.id)
        let sorted = posts.sorted { Self.place($0) < Self.place($1) }
        return sorted.prefix(3) + [Slot(day: day, number: service.stride - 1).id(service)] + sorted.dropFirst(3)
    }

    /// The numbers of the books that contain a post.
    func books(of post: Post) -> [Int64] {
        guard post.slot.number % everyInBook == 0 else { return [] }
        return [post.slot.day + 1, post.slot.day].filter { $0 > 0 }.map(Int64.init)
    }

    /// The numbers of at most a hundred books with all the words in their names, the last one first.
    func books(named words: String, now: Int64) -> [Int64] {
        let words = words.lowercased().split { $0 == "_" || $0 == " " }
        let newest = newest(at: now).ordinal - service.firstDay.ordinal
        let all = (0...max(0, newest)).reversed().lazy.map { Int64($0 + 1) }
        return Array(
            all.filter { number in words.allSatisfy { self.name(ofBook: number).lowercased().contains($0) } }
                .prefix(100))
    }

    /// The record of a book, with its posts as Danbooru has them.
    func record(ofBook number: Int64, now: Int64) -> JSON? {
        guard let posts = book(number, now: now) else { return nil }
        let begin = service.begin(of: service.firstDay.advanced(by: Int(number) - 1)) * 1000
        var members: Members = [
            ("id", .integer(number)), ("name", .string(name(ofBook: number))),
            ("created_at", .string(Moment.rails(begin))),
            ("updated_at", .string(Moment.rails(begin))), ("description", "A book."),
            ("post_count", .int(posts.count)),
        ]
        guard service == .danbooru else { return .members(members + [("user_id", 1), ("is_public", true)]) }
        members += [
            ("is_active", true), ("is_deleted", false), ("category", "series"),
            ("post_ids", .array(posts.map { .integer($0) })),
        ]
        return .members(members)
    }

    private func name(ofBook number: Int64) -> String {
        "Book_of_\(service.firstDay.advanced(by: Int(number) - 1))"
    }

    /// The place of a post in orders that are those of no number: books, favourites.
    static func place(_ post: Int64) -> Int64 { post &* 2_654_435_761 % 1_000_003 }
}
