/// Finds positions by a hash: four bytes a slot, whatever the keys are, because the keys stay where they are.
///
/// A dictionary of names would double the memory of a listing. Open addressing with linear probing, at most three quarters full.
struct CompactIndex: Sendable {
    private static let empty = UInt32.max
    private static let smallest = 16

    private var slots: [UInt32] = []
    private(set) var count = 0

    /// The first position under this hash for which `matches` says yes.
    func first(hash: Int, where matches: (Int) -> Bool) -> Int? {
        guard !slots.isEmpty else { return nil }
        var slot = hash & (slots.count - 1)
        while slots[slot] != Self.empty {
            let position = Int(slots[slot])
            if matches(position) { return position }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    /// Adds a position; `hashOf` gives the hash of any position added so far, for when the table grows.
    mutating func insert(_ position: Int, hash: Int, hashOf: (Int) -> Int) {
        if (count + 1) * 4 > slots.count * 3 { grow(hashOf) }
        place(UInt32(position), hash: hash)
        count += 1
    }

    private mutating func place(_ position: UInt32, hash: Int) {
        var slot = hash & (slots.count - 1)
        while slots[slot] != Self.empty { slot = (slot + 1) & (slots.count - 1) }
        slots[slot] = position
    }

    private mutating func grow(_ hashOf: (Int) -> Int) {
        let old = slots
        slots = Array(repeating: Self.empty, count: max(Self.smallest, old.count * 2))
        for position in old where position != Self.empty { place(position, hash: hashOf(Int(position))) }
    }

    /// FNV-1a of bytes: names of one listing are not chosen to collide, and a collision only costs a comparison.
    static func hash(_ bytes: some Sequence<UInt8>) -> Int {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return Int(truncatingIfNeeded: hash ^ (hash >> 32))
    }

    /// A number's hash: the multiplication spreads neighbouring work numbers.
    static func hash(_ number: Int64) -> Int {
        let spread = UInt64(bitPattern: number) &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: spread >> 20)
    }
}
