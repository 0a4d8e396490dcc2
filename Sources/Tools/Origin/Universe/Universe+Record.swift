import Rankings

extension Universe {
    /// The work of a slot, which must exist.
    func record(_ slot: Slot) -> WorkRecord {
        let id = slot.work
        var chance = Chance(seed, 0xc1, UInt64(bitPattern: id.rawValue))
        let author = authors.author(of: slot)
        let kind = kind(slot, &chance)
        let uploaded = uploadTime(slot, &chance)
        let format: ServedFormat = kind == .animation || !chance.oneIn(3) ? .jpg : .png
        let title = title(slot, &chance)
        let isOriginal = chance.oneIn(3)
        let kindTag = kind == .manga ? "漫画" : kind == .animation ? "うごイラ" : ""
        let pages = pages(kind: kind, format: format, &chance)
        let ratings = ratings(slot, &chance)
        var work = WorkRecord(
            id: id, title: title, author: author, authorName: name(of: author),
            tags: Titles.tags(&chance, kind: kindTag), kind: kind, pages: pages, uploaded: uploaded,
            displayed: chance.oneIn(Self.redatedEvery) ? JapanTime(seconds: uploaded.seconds - 86_400) : uploaded,
            hash: chance.oneIn(Self.hashedEvery) ? Self.hexDigits(&chance) : nil,
            hasPageMark: kind != .animation || uploaded.day > Self.pageMarksSince, format: format,
            views: ratings * chance.within(8...40), ratings: ratings, isOriginal: isOriginal,
            isMasked: isMasked(slot, &chance), series: series(kind: kind, author: author, id: id, &chance))
        if case .ranking(_, _, let rank) = slot { work.debut = rank }
        dress(&work, slot)
        return work
    }

    // MARK: -

    /// 6 of 103 recorded entries show another date than the upload's.
    private static let redatedEvery = 17
    /// Grew common in 2026.
    private static let hashedEvery = 10
    /// About three entries in a day, never among the first ten.
    private static let maskedEvery = 160
    private static let firstMasked = 10
    /// Strange titles: every twelfth rank, so that a day of 500 holds some forty of them.
    private static let strangeEvery = 12
    /// Older animations are stored as `<id>_master1200.jpg`.
    private static let pageMarksSince = Day(ordinal: 18_262)  // 2020-01-01

    private func kind(_ slot: Slot, _ chance: inout Chance) -> WorkKind {
        let draw = chance.below(100)
        if case .special(let author, let work) = slot {
            return work % SpecialAuthor.all[author].mangaEvery == SpecialAuthor.all[author].mangaEvery - 1
                ? .manga : .illustration
        }
        return draw < 80 ? .illustration : draw < 96 ? .manga : .animation
    }

    private func title(_ slot: Slot, _ chance: inout Chance) -> String {
        let ordinary = Titles.ordinary(&chance)
        switch slot {
        case .ranking(let day, let mode, let rank):
            guard rank % Self.strangeEvery == Self.strangeEvery - 2 else { return ordinary }
            return Titles.strange[(rank / Self.strangeEvery + day * 5 + mode) % Titles.strange.count]
        case .special(_, let work):
            guard work % Self.strangeEvery == Self.strangeEvery - 1 else { return ordinary }
            return Titles.strange[work / Self.strangeEvery % Titles.strange.count]
        }
    }

    /// A ranking shows works of the day before; special authors upload evenly over the years.
    private func uploadTime(_ slot: Slot, _ chance: inout Chance) -> JapanTime {
        let second = chance.below(86_400)
        switch slot {
        case .ranking(let day, _, _):
            return JapanTime(Self.firstDay.advanced(by: day - 1), secondOfDay: second)
        case .special(let author, let work):
            let span = 6400  // days: to spring 2025
            return JapanTime(
                Self.firstDay.advanced(by: work * span / SpecialAuthor.all[author].works), secondOfDay: second)
        }
    }

    private func pages(kind: WorkKind, format: ServedFormat, _ chance: inout Chance) -> [PixelSize] {
        let count: Int
        switch kind {
        case .animation: count = 1
        case .illustration: count = chance.below(4) > 0 ? 1 : chance.within(2...8)
        case .manga: count = chance.oneIn(12) ? chance.within(30...60) : chance.within(2...20)
        }
        let first = Self.pixels(format: format, &chance)
        return (0..<count).map { page in
            page == 0 || chance.below(4) > 0 ? first : Self.pixels(format: format, &chance)
        }
    }

    private static let shapes: [(Double, Double)] = [
        (1, 1.414), (1, 1.414), (1, 1.5), (1, 2.03), (1.414, 1), (1.778, 1), (1.778, 1), (1, 1), (1, 1.25), (2.4, 1),
    ]

    /// One to ten megapixels; PNGs at most four, which take long to compress.
    private static func pixels(format: ServedFormat, _ chance: inout Chance) -> PixelSize {
        let (width, height) = chance.pick(shapes)
        let megapixels = chance.between(1, format == .png ? 4 : 10)
        let scale = (megapixels * 1_000_000 / (width * height)).squareRoot()
        return PixelSize(width: Int(width * scale), height: Int(height * scale))
    }

    private func ratings(_ slot: Slot, _ chance: inout Chance) -> Int {
        guard case .ranking(_, _, let rank) = slot else { return chance.within(10...3000) }
        return 200 + (Self.ranks - min(rank, Self.ranks)) * chance.within(6...9)
    }

    private func isMasked(_ slot: Slot, _ chance: inout Chance) -> Bool {
        guard case .ranking(_, _, let rank) = slot, rank > Self.firstMasked else { return false }
        return chance.oneIn(Self.maskedEvery)
    }

    private func series(kind: WorkKind, author: UserID, id: WorkID, _ chance: inout Chance) -> WorkRecord.Series? {
        guard kind == .manga, chance.oneIn(2) else { return nil }
        let count = chance.within(2...180)
        return WorkRecord.Series(
            id: chance.within(1000...200_000), title: Titles.ordinary(&chance), count: count,
            order: chance.within(1...count),
            started: JapanTime(Self.firstDay.advanced(by: -1), secondOfDay: chance.below(86_400)))
    }

    /// 32 lower-case hexadecimal digits.
    static func hexDigits(_ chance: inout Chance) -> String {
        [chance.next(), chance.next()].map { number in
            let digits = String(number, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
