internal import ObjectStore
internal import Rankings

/// What an object is, as its key tells: one of the forms that rankfs writes, or somebody else's.
///
/// Whoever shares the bucket may have folders of the same names, so that the whole key has to fit.
enum ObjectKind: Hashable, Sendable {
    /// Of a service.
    case picture(String)
    case document(String)
    case lease

    /// Nil for a key that rankfs does not write.
    init?(_ key: ObjectKey) {
        let parts = key.text.split(separator: "/").map(String.init)
        switch parts.first {
        case "pictures" where Self.isPicture(parts): self = .picture(parts[1])
        case "documents" where Self.isDocument(parts): self = .document(parts[1])
        case "leases" where Self.isLease(Array(parts.dropFirst())): self = .lease
        default: return nil
        }
    }

    /// The folder of a work's pictures: so many that none of them has too many.
    static func folder(of work: WorkID) -> String {
        String((work.rawValue % 256 + 256) % 256, radix: 16)
    }

    private static func isPicture(_ parts: [String]) -> Bool {
        guard parts.count == 4, let picture = PictureID(key: parts[3]) else { return false }
        return parts[2] == folder(of: picture.work)
    }

    private static func isDocument(_ parts: [String]) -> Bool {
        switch (parts.count, parts.dropFirst(2).first) {
        case (5, "days"): Day(parts[4]) != nil
        case (4, "newest"): true
        case (4, "works"): isNumber(parts[3])
        case (4, "artists"): isHash(parts[3])
        case (4, "authors"):
            isNumber(parts[3])
                || isNumber(parts[3].dropLast(17)) && isHash(parts[3].suffix(17).dropFirst())
                    && parts[3].suffix(17).first == "-"
        default: false
        }
    }

    /// What is below `leases/`: the key that a lease is for, or an examination of the store.
    private static func isLease(_ parts: [String]) -> Bool {
        switch parts.first {
        case "pictures": isPicture(parts)
        case "documents": isDocument(parts)
        case "examination": parts.count == 2
        default: false
        }
    }

    private static func isNumber(_ text: some StringProtocol) -> Bool { Int64(text).map { "\($0)" == text } ?? false }

    /// As `XXH3.hex` writes it.
    private static func isHash(_ text: some StringProtocol) -> Bool {
        text.utf8.count == 16 && text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    }
}
