/// A `Range` header of one part (RFC 9110, section 14).
enum ByteRange {
    /// What to do about a header for a body of some length.
    enum Decision: Equatable {
        /// No header, or one that may be ignored: several parts, other units, nonsense.
        case whole
        case part(Range<Int>)
        case unsatisfiable
    }

    /// Decides about a header's value.
    static func decide(_ header: String?, length: Int) -> Decision {
        guard let header, header.hasPrefix("bytes=") else { return .whole }
        let text = header.dropFirst("bytes=".count)
        guard let dash = text.firstIndex(of: "-"), !text.contains(",") else { return .whole }
        let first = text[..<dash]
        let last = text[text.index(after: dash)...]
        guard (first + last).utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return .whole }
        if first.isEmpty {
            guard let suffix = Int(last) else { return .whole }
            return suffix == 0 || length == 0 ? .unsatisfiable : .part(max(0, length - suffix)..<length)
        }
        guard let start = Int(first) else { return .whole }
        let end = last.isEmpty ? Int.max : Int(last) ?? Int.max
        guard end >= start else { return .whole }
        guard start < length else { return .unsatisfiable }
        return .part(start..<min(length, end == Int.max ? length : end + 1))
    }
}
