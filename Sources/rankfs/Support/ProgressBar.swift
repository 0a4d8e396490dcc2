/// A bar between brackets, drawn with characters that every terminal has.
enum ProgressBar {
    /// What a bar is about, by colour: as in the pictures' own browser, blue is read and green is fetched ahead.
    ///
    /// The bright blue, since the plain one is hard to see on black.
    enum Colour: String, Sendable {
        case blue = "\u{1B}[94m"
        case green = "\u{1B}[32m"
    }

    /// Ends every colour.
    static let plain = "\u{1B}[0m"

    /// The bar.
    ///
    /// - Parameters:
    ///   - fraction: What is done, 0 to 1; nil if nobody knows, drawn as a bar of waves.
    ///   - columns: Of the whole, brackets included; at least 3.
    ///   - colour: Of what is done; nil for none.
    /// - Returns: Text of that many columns.
    static func text(_ fraction: Double?, columns: Int, colour: Colour?) -> String {
        let room = max(1, columns - 2)
        let filled = fraction.map { Int(min(1, max(0, $0)) * Double(room)) } ?? room
        let done = String(repeating: fraction == nil ? "~" : "#", count: filled)
        let rest = String(repeating: "-", count: room - filled)
        return colour.map { "[\($0.rawValue)\(done)\(plain)\(rest)]" } ?? "[\(done)\(rest)]"
    }
}
