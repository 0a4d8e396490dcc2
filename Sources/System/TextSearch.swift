/// The standard library's own searches for a text in another are part of its regular expressions, a megabyte of a static program.
/// These have the same signatures and come before them wherever `System` is imported.
extension BidirectionalCollection where Element: Comparable {
    /// The place of the first elements that are those of a part, in its order; nil if there are none.
    package func firstRange<Part: Collection>(of part: Part) -> Range<Index>? where Part.Element == Element {
        indices.first { self[$0...].starts(with: part) }.map { $0..<index($0, offsetBy: part.count) }
    }
}

extension StringProtocol {
    /// Whether a part is in this text, byte for byte.
    package func contains(_ part: String) -> Bool { Array(utf8).firstRange(of: part.utf8) != nil }
}
