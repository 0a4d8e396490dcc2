/// Inode numbers as a pure function of an entry's identity, so that every mount gives the same numbers.
///
/// Backup programs (borg, restic, `tar -g`) read a file again if its inode number changed. The function is therefore fixed for
/// ever: FNV-1a over the identity's UTF-8 (its published 64-bit constants), then the finaliser of MurmurHash3, since FNV-1a
/// alone leaves the upper bits of short texts alike.
package enum InodeNumber {
    /// The smallest number of an entry; lower ones are free for directories with fixed numbers (1 is the root of a mount).
    package static let smallest: UInt64 = 4096

    /// The number of the entry with an identity such as `ranking/daily/2024-05-01/97973029_p0_1589900000`.
    ///
    /// The number is a 64-bit hash, never below `smallest` and never `UInt64.max`, which stands for "unknown" in places. Of a
    /// million entries, two share a number with a probability of 1 in 37 million.
    package static func of(_ identity: String) -> UInt64 {
        var hash = IdentityHash()
        hash.add(identity)
        return of(hash)
    }

    /// The number of the entry with an identity that was put together in parts.
    package static func of(_ identity: IdentityHash) -> UInt64 {
        kept(mixed(identity.value))
    }

    /// The number of an entry in a directory with an order; numbers grow in that order.
    ///
    /// cp(1) and others read a directory's files in the order of their inode numbers, hoping for the order of a disk; preloads
    /// should be the files that they read next. The number is the directory's hash, the place in the order, and the identity's
    /// hash, which distinguishes entries with the same place. Of a million pairs of entries with the same place in two
    /// directories that both exist, fewer than one share a number.
    ///
    /// - Parameters:
    ///   - identity: As for ``of(_:)``.
    ///   - directory: The identity of the directory.
    ///   - order: The place in the directory.
    /// - Returns: A number with the promises of ``of(_:)``.
    package static func of(_ identity: String, in directory: String, order: InodeOrder) -> UInt64 {
        place(of(identity), in: of(directory), order: order)
    }

    /// The same as ``of(_:in:order:)``, from numbers that are already known.
    ///
    /// - Parameters:
    ///   - own: The number of the entry's identity.
    ///   - directory: The number of the directory's identity.
    ///   - order: The place in the directory.
    /// - Returns: A number with the same promises.
    package static func place(_ own: UInt64, in directory: UInt64, order: InodeOrder) -> UInt64 {
        let (place, width) = order.bits
        let low = (64 - width) / 2
        let upper = (directory >> UInt64(width + low)) << UInt64(width + low)
        return kept(upper | (place << UInt64(low)) | (own & ((1 << UInt64(low)) - 1)))
    }

    /// Whether a number may belong to a directory with such an order, without its entries; wrong once in sixteen million.
    package static func mayBe(_ number: UInt64, in directory: String, order: InodeOrder) -> Bool {
        let (_, width) = order.bits
        let rest = UInt64(width + (64 - width) / 2)
        return number >> rest == of(directory) >> rest
    }

    /// Replaces the few reserved numbers by others; all other numbers stay.
    static func kept(_ hash: UInt64) -> UInt64 {
        var number = hash
        while number < smallest || number == .max {
            number = mixed(number ^ 0x9e37_79b9_7f4a_7c15)
        }
        return number
    }

    private static func mixed(_ hash: UInt64) -> UInt64 {
        var bits = hash
        bits ^= bits >> 33
        bits = bits &* 0xff51_afd7_ed55_8ccd
        bits ^= bits >> 33
        bits = bits &* 0xc4ce_b9fe_1a85_ec53
        bits ^= bits >> 33
        return bits
    }
}

/// A hash of an identity in parts, which avoids building the whole text: FNV-1a continues where it stopped.
package struct IdentityHash: Sendable {
    fileprivate private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

    /// The hash of the empty text.
    package init() {}

    /// Appends a text.
    package mutating func add(_ text: String) {
        for byte in text.utf8 { append(byte) }
    }

    /// Appends a number in decimal digits, as string interpolation prints it.
    package mutating func add(_ number: some FixedWidthInteger) {
        if number < 0 { append(UInt8(ascii: "-")) }
        var rest = UInt64(number.magnitude)
        var scale: UInt64 = 1
        while rest / scale >= 10 { scale *= 10 }
        while scale > 0 {
            append(UInt8(ascii: "0") + UInt8(rest / scale))
            rest %= scale
            scale /= 10
        }
    }

    private mutating func append(_ byte: UInt8) {
        value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
    }
}

// MARK: - Inode order

/// The place of an entry in the order of its directory, from facts of the entry that never change.
package enum InodeOrder: Hashable, Sendable {
    /// Pictures of a ranking.
    case rank(Int, page: Int)
    /// Pictures of a directory that begins with the newest work.
    case newestFirst(WorkID, page: Int)
    case day(Day)

    /// The place as a number of `width` bits; all places that do not fit are the last one.
    var bits: (place: UInt64, width: Int) {
        switch self {
        // Most rankings have 500 places. Some have tens of thousands, and no works with several pages: after the last place
        // that has pages of its own, 256 places share one.
        case .rank(let rank, let page) where rank < Self.lastRank: ((Self.bits(rank, 13) << 8) | Self.bits(page, 8), 21)
        case .rank(let rank, _): (UInt64(Self.lastRank << 8) | Self.bits((rank - Self.lastRank) >> 8, 8), 21)
        // Numbers of works will have passed 2^28 at some time in the 2030s: their order begins anew there.
        case .newestFirst(let work, let page):
            (((1 << 28) - 1 - UInt64(max(0, work.rawValue)) % (1 << 28)) << 8 | Self.bits(page, 8), 36)
        case .day(let day): (Self.bits(day.ordinal, 17), 17)
        }
    }

    private static let lastRank = (1 << 13) - 1

    private static func bits(_ value: Int, _ width: Int) -> UInt64 {
        UInt64(min(max(0, value), (1 << width) - 1))
    }
}
