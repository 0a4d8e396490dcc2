import Testing

@testable import Rankings

@Suite("InodeNumber")
struct InodeNumberTests {
    @Test("numbers are the same for ever")
    func pinned() {
        #expect(InodeNumber.of("") == 0xefd0_1f60_ba99_2926)
        #expect(InodeNumber.of("ranking/daily/2024-05-01/97973029_p0") == 0xd881_3ec8_07b8_e5a9)
        #expect(InodeNumber.of("users/9153585") == 0x122a_67d2_68de_fd56)
        #expect(InodeNumber.of("絵") == 0x88c2_d122_cd27_54be)
    }

    @Test("a hundred thousand neighbouring entries get different numbers, spread over all bits")
    func spread() {
        var numbers: Set<UInt64> = []
        var ones = [Int](repeating: 0, count: 64)
        let count = 100_000
        for work in 0..<count {
            let number = InodeNumber.of("ranking/daily/2024-05-01/\(97_000_000 + work)_p0")
            #expect(number >= InodeNumber.smallest && number != .max)
            numbers.insert(number)
            for bit in 0..<64 where number >> UInt64(bit) & 1 == 1 { ones[bit] += 1 }
        }
        #expect(numbers.count == count)
        // Half of them, within ten standard deviations.
        #expect(ones.allSatisfy { abs($0 - count / 2) < 1600 })
    }

    @Test("numbers of a directory with an order grow in that order")
    func ordered() {
        let day = "ranking/daily/2024-05-01"
        func ranked(_ rank: Int, _ page: Int, _ upload: Int = 1) -> UInt64 {
            InodeNumber.of("\(day)/\(5 + rank)_p\(page)_\(upload)", in: day, order: .rank(rank, page: page))
        }
        let ranks = (1...5000).flatMap { rank in (0..<3).map { ranked(rank, $0) } }
        #expect(ranks == ranks.sorted() && Set(ranks).count == ranks.count)
        let far = stride(from: 8000, to: 73_000, by: 256).map { ranked($0, 0) }
        #expect(far == far.sorted(), "a board's month is in order by the hundred")
        #expect(Set((1...50_000).map { ranked($0, 0) }).count > 49_990, "tables move the few that meet")
        #expect(ranked(7, 0, 1) != ranked(7, 0, 2), "another upload")
        #expect(ranked(7, 0) == 11_075_578_542_439_256_631, "the same for ever")
        let works = stride(from: 200_000_000 as Int64, to: 90_000_000, by: -99_991).flatMap { id in
            (0..<2).map { page in
                InodeNumber.of(
                    "users/1/\(id)_p\(page)_1", in: "users/1", order: .newestFirst(WorkID(rawValue: id), page: page))
            }
        }
        #expect(works == works.sorted() && Set(works).count == works.count)
        let many = stride(from: 900_005_000 as Int64, to: 900_000_000, by: -1).map { id in
            InodeNumber.of("search/,/\(id)_p0_1", in: "search/,", order: .newestFirst(WorkID(rawValue: id), page: 0))
        }
        #expect(many == many.sorted() && Set(many).count == many.count, "beyond 2^28")
        let days = (13000..<22000).map { ordinal in
            InodeNumber.of("d\(ordinal)", in: "ranking/daily", order: .day(Day(ordinal: ordinal)))
        }
        #expect(days == days.sorted() && Set(days).count == days.count)
        for order in [
            InodeOrder.rank(.max, page: .max), .newestFirst(WorkID(rawValue: .max), page: -1), .rank(-1, page: 0),
        ] {
            #expect(InodeNumber.of("a", in: "b", order: order) >= InodeNumber.smallest)
            #expect(InodeNumber.of("a", in: "b", order: order) >> 56 == InodeNumber.of("b") >> 56)
        }
    }

    @Test("reserved numbers are moved, others stay")
    func reserved() {
        for hash in [0, 1, 4095, UInt64.max] {
            let number = InodeNumber.kept(hash)
            #expect(number >= 4096 && number != .max)
            #expect(InodeNumber.kept(hash) == number)
        }
        #expect(Set((0..<4096).map { InodeNumber.kept($0) }).count == 4096)
        for hash in [4096, UInt64.max - 1, 1 << 63] { #expect(InodeNumber.kept(hash) == hash) }
    }

    @Test("different spellings of a letter are different entries")
    func bytes() {
        #expect(InodeNumber.of("\u{E9}") != InodeNumber.of("e\u{301}"))
    }
}
