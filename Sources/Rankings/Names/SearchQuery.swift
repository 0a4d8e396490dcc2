/// The words of a search and the options in its name: `words,since=2026-10,kind=ugoira`.
///
/// Only the tail of a name holds options: the parts after the last comma before which a part is no option. Everything else is
/// words, commas included.
package struct SearchQuery: Hashable, Sendable {
    /// The options, in the order in which the key of a search names them; each has values of its own.
    package enum Option: String, CaseIterable, Sendable {
        /// The kind of works: `illust`, `manga`, `ugoira`.
        case kind
        /// Where the words are looked for: whole tags (`tag`), title and caption (`text`).
        case match
        /// The first day of upload, or the first day of a month.
        case since
        /// The last day of upload, or the last day of a month.
        case until
        /// The least number of pixels of both sides.
        case size
        /// `landscape`, `portrait`, `square`.
        case shape

        fileprivate func takes(_ value: String) -> Bool {
            switch self {
            case .kind: ["illust", "manga", "ugoira"].contains(value)
            case .match: ["tag", "text"].contains(value)
            case .since, .until: SearchQuery.days(value) != nil
            case .size: Int(value).map { (1...99_999).contains($0) && String($0) == value } ?? false
            case .shape: ["landscape", "portrait", "square"].contains(value)
            }
        }
    }

    package private(set) var words: String
    private var values: [Option: String] = [:]

    /// Parses a name; options that the service does not have stay words.
    ///
    /// - Parameters:
    ///   - text: The name.
    ///   - known: The options of the service.
    package init(_ text: String, knowing known: Set<Option> = Set(Option.allCases)) {
        words = text
        var parts = text.split(separator: "," as Character, omittingEmptySubsequences: false)
        var values: [Option: String] = [:]
        while let part = parts.last?.split(separator: "=" as Character, omittingEmptySubsequences: false),
            part.count == 2,
            let option = Option(rawValue: String(part[0])), known.contains(option), values[option] == nil,
            option.takes(String(part[1]))
        {
            values[option] = String(part[1])
            parts.removeLast()
        }
        let rest = parts.joined(separator: ",")
        guard rest.contains(where: { !$0.isWhitespace }) else { return }
        (words, self.values) = (rest, values)
    }

    package subscript(_ option: Option) -> String? { values[option] }

    /// Whether there is no option.
    package var isPlain: Bool { values.isEmpty }

    /// The first day of upload; nil for any.
    package var since: Day? { values[.since].flatMap(Self.days)?.first }
    /// The last day of upload; nil for any.
    package var until: Day? { values[.until].flatMap(Self.days)?.last }

    /// The name in the one spelling that is a key.
    package var text: String {
        ([words] + Option.allCases.compactMap { option in values[option].map { "\(option.rawValue)=\($0)" } })
            .joined(separator: ",")
    }

    /// The days of `2026-10` or `2026-10-05`; nil for any other text.
    private static func days(_ text: String) -> (first: Day, last: Day)? {
        if let day = Day(text) { return (day, day) }
        guard text.utf8.count == 7, let first = Day("\(text)-01") else { return nil }
        // Every month has 28 days, and none has more than 31.
        return (28..<32).map { first.advanced(by: $0 - 1) }.last { $0.civil.month == first.civil.month }.map {
            (first, $0)
        }
    }
}
