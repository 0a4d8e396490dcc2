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
