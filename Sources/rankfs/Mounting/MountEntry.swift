/// One line of `/proc/self/mountinfo` (proc(5)).
struct MountEntry: Hashable, Sendable {
    var mountPoint: String
    var type: String
    var source: String

    /// The file system type of rankfs mounts.
    static let ownType = "fuse.rankfs"

    var isOwn: Bool { type == Self.ownType }

    /// The entries of a table, in its order: of several mounts on one path the last is on top.
    static func parse(_ table: String) -> [MountEntry] {
        table.split(separator: "\n").compactMap(MountEntry.init(line:))
    }

    private init?(line: Substring) {
        let fields = line.split(separator: " ", omittingEmptySubsequences: false)
        // The fifth field is the mount point; behind a lone `-` come type and source.
        guard fields.count > 6, let separator = fields[6...].firstIndex(of: "-"), separator + 2 < fields.count else {
            return nil
        }
        mountPoint = Self.unescaped(fields[4])
        type = String(fields[separator + 1])
        source = Self.unescaped(fields[separator + 2])
    }

    /// Undoes `\040` and the like.
    private static func unescaped(_ field: Substring) -> String {
        let bytes = Array(field.utf8)
        var result: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] == 92, index + 3 < bytes.count, let value = octal(bytes[(index + 1)...(index + 3)]) {
                result.append(value)
                index += 4
            } else {
                result.append(bytes[index])
                index += 1
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func octal(_ digits: ArraySlice<UInt8>) -> UInt8? {
        var value = 0
        for digit in digits {
            guard (48...55).contains(digit) else { return nil }
            value = value * 8 + Int(digit - 48)
        }
        return UInt8(exactly: value)
    }

    /// Every mount that this process sees; empty if the table cannot be read.
    static func all() -> [MountEntry] {
        // A machine with ten thousand mounts has a table of 2 MB.
        guard let bytes = try? Files.read("/proc/self/mountinfo", limit: 16 << 20) else { return [] }
        return parse(String(decoding: bytes, as: UTF8.self))
    }
}
