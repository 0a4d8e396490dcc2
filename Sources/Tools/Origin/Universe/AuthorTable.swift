import Rankings

/// Who drew what, in both directions, without storing it.
///
/// A bijection scatters the slots of all rankings; neighbours in the scattered order share an author. So the author of
/// a slot and the slots of an author are both computed, and an author's page lists every ranked work of theirs.
struct AuthorTable: Sendable {
    private let seed: UInt64

    init(seed: UInt64) {
        self.seed = seed
    }

    /// The author of a slot.
    func author(of slot: Slot) -> UserID {
        switch slot {
        case .special(let author, _):
            return UserID(rawValue: SpecialAuthor.all[author].id)
        case .ranking:
            let place = scatter(slot.index ?? 0)
            let block = place >> Self.blockBits
            let low = place & (1 << Self.blockBits - 1)
            let sub = low >> (Self.blockBits - splitBits(block))
            return UserID(rawValue: Self.base + Int64(block << Self.maximumSplitBits | sub))
        }
    }

    /// All slots of an author, also those of days to come; nil if there is no such author.
    func slots(of user: UserID) -> [Slot]? {
        if let special = SpecialAuthor.all.firstIndex(where: { $0.id == user.rawValue }) {
            return (0..<SpecialAuthor.all[special].works).map { .special(author: special, work: $0) }
        }
        let number = user.rawValue - Self.base
        guard number >= 0, number < 1 << (Slot.bits - Self.blockBits + Self.maximumSplitBits) else { return nil }
        let block = Int(number) >> Self.maximumSplitBits
        let sub = Int(number) & (1 << Self.maximumSplitBits - 1)
        let split = splitBits(block)
        guard sub < 1 << split else { return nil }
        let width = 1 << (Self.blockBits - split)
        return (0..<width).map { Slot(index: gather(block << Self.blockBits | sub * width + $0)) }
    }

    // MARK: -

    private static let base: Int64 = 100_000
    /// 256 slots in a block, of which about one in five holds a published work.
    private static let blockBits = 8
    /// A block belongs to 1 to 16 authors: some draw fifty ranked works, some two.
    private static let maximumSplitBits = 4
    private static let mask = 1 << Slot.bits - 1
    private static let multiplier = 0x2c1_b3c7  // odd: invertible modulo a power of two
    private static let inverse = invert(multiplier)
    private static let rounds = 3
    /// At least half of `Slot.bits`, so that x ^ x >> shift undoes itself.
    private static let shift = 14

    private func splitBits(_ block: Int) -> Int {
        var chance = Chance(seed, 0xa1, UInt64(block))
        return chance.below(Self.maximumSplitBits + 1)
    }

    private func scatter(_ index: Int) -> Int {
        var value = index ^ Int(seed & UInt64(Self.mask))
        for _ in 0..<Self.rounds {
            value = value &* Self.multiplier & Self.mask
            value ^= value >> Self.shift
        }
        return value
    }

    private func gather(_ place: Int) -> Int {
        var value = place
        for _ in 0..<Self.rounds {
            value ^= value >> Self.shift
            value = value &* Self.inverse & Self.mask
        }
        return value ^ Int(seed & UInt64(Self.mask))
    }

    /// Newton's iteration doubles the correct low bits each time.
    private static func invert(_ odd: Int) -> Int {
        var result = odd
        for _ in 0..<5 {
            result = result &* (2 &- odd &* result)
        }
        return result & mask
    }
}
