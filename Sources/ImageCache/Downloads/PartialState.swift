/// What is known of an unfinished download, kept beside its file so that a daemon that was killed goes on by Range.
///
/// The bytes themselves are not synced while they come. Killing the daemon loses none of them; a power cut might, so a
/// partial file of another boot is not trusted.
struct PartialState: Equatable, Sendable {
    /// Bytes a state takes on disk, written at once; within one sector it is either the old or the new one.
    static let size = 512
    /// `RANKFSD1`.
    static let magic: UInt64 = 0x3144_5346_4B4E_4152
    /// Ranges kept; a download that has more forgets the last ones and asks for their bytes again.
    static let mostRanges = 12
    /// A longer validator is not kept; dates have 29 bytes.
    static let longestValidator = 100
    /// A state is written again after this many bytes: what a kill can cost.
    static let interval: Int64 = 256 << 10

    /// `PictureID.key`.
    var key: String
    var total: Int64?
    /// What goes into `If-Range`.
    var validator: String?
    /// `/proc/sys/kernel/random/boot_id` when it was written.
    var boot: String
    var present: RangeSet

    var encoded: [UInt8] {
        var writer = ByteWriter()
        writer.write(Self.magic)
        writer.write(total ?? -1)
        writer.write(key)
        writer.write(validator.map { $0.utf8.count <= Self.longestValidator ? $0 : "" } ?? "")
        writer.write(boot)
        let ranges = present.ranges.prefix(Self.mostRanges)
        writer.write(Int64(ranges.count))
        for range in ranges {
            writer.write(range.lowerBound)
            writer.write(range.upperBound)
        }
        return writer.sealed(length: Self.size)
    }

    init(key: String, total: Int64?, validator: String?, boot: String, present: RangeSet) {
        self.key = key
        self.total = total
        self.validator = validator
        self.boot = boot
        self.present = present
    }

    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.size, var reader = ByteReader(sealed: bytes), reader.readNumber() == Self.magic,
            let total = reader.readSigned(), let key = reader.readText(), let validator = reader.readText(),
            let boot = reader.readText(), let count = reader.readSigned(), (0...Int64(Self.mostRanges)).contains(count)
        else { return nil }
        var present = RangeSet()
        for _ in 0..<count {
            guard let lower = reader.readSigned(), let upper = reader.readSigned(), lower >= 0, lower <= upper else {
                return nil
            }
            present.insert(lower..<upper)
        }
        self.init(
            key: key, total: total < 0 ? nil : total, validator: validator.isEmpty ? nil : validator, boot: boot,
            present: present)
    }
}
