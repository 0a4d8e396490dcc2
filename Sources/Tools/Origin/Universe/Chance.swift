/// A stream of pseudorandom decisions that is a pure function of a key; the whole universe is made of them.
///
/// The generator is SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
struct Chance: Sendable {
    private var state: UInt64

    /// A stream for a seed and salts: the same ones always give the same decisions.
    init(_ seed: UInt64, _ salts: UInt64...) {
        state = seed
        for salt in salts {
            state = Self.mix(state ^ Self.mix(salt &+ Self.increment))
        }
    }

    /// A stream for a seed and a text: the same ones always give the same decisions.
    init(_ seed: UInt64, text: String) {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325  // FNV-1a, offset basis and prime
        for byte in text.utf8 {
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
        }
        self.init(seed, hash)
    }

    /// The first 64 bits.
    var first: UInt64 {
        var copy = self
        return copy.next()
    }

    /// The next 64 bits.
    mutating func next() -> UInt64 {
        state &+= Self.increment
        return Self.mix(state)
    }

    /// A number from 0 up to, but not including, `bound`.
    mutating func below(_ bound: Int) -> Int {
        Int(next() % UInt64(bound))
    }

    /// A number of the closed range.
    mutating func within(_ range: ClosedRange<Int>) -> Int {
        range.lowerBound + below(range.count)
    }

    /// A number from 0 up to, but not including, 1.
    mutating func unit() -> Double {
        Double(next() >> 11) / Double(1 << 53)
    }

    /// A number between two bounds.
    mutating func between(_ low: Double, _ high: Double) -> Double {
        low + unit() * (high - low)
    }

    /// True once in `bound` times.
    mutating func oneIn(_ bound: Int) -> Bool {
        below(bound) == 0
    }

    /// One element; the array must not be empty.
    mutating func pick<Element>(_ array: [Element]) -> Element {
        array[below(array.count)]
    }

    /// 32 lower-case hexadecimal digits.
    mutating func digits() -> String {
        next().padded(16, radix: 16) + next().padded(16, radix: 16)
    }

    /// The finaliser of SplitMix64: a bijection of 64 bits that mixes them well.
    static func mix(_ value: UInt64) -> UInt64 {
        var mixed = value
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    private static let increment: UInt64 = 0x9e37_79b9_7f4a_7c15
}
