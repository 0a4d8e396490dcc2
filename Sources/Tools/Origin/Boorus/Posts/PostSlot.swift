/// A place of a post: a day of its site, counted from the first, and the place among the day's posts in the order of upload.
///
/// Everything about a post follows from it, and it from the post's number.
struct PostSlot: Hashable, Sendable {
    let day: Int
    let number: Int

    init(day: Int, number: Int) {
        self.day = day
        self.number = number
    }

    /// The place of a post's number; nil for one that no post can have.
    init?(id: Int64, site: ServedSite) {
        guard id > 0, id < Self.mostID else { return nil }
        let place = Int(id) - 1
        self.init(day: place / site.stride, number: place % site.stride)
        guard number < site.posts(onDay: day) else { return nil }
    }

    /// The post's number.
    func id(_ site: ServedSite) -> Int64 {
        Int64(day) * Int64(site.stride) + Int64(number) + 1
    }

    /// Far beyond the posts of this century.
    private static let mostID: Int64 = 1 << 31
}
