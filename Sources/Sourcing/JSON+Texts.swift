package import Rankings

extension JSON {
    /// A text of at most the length of a title; longer ones are cut between scalars.
    package var shortText: String? {
        guard let text, text.utf8.count > AnswerBounds.titleBytes else { return text }
        var bytes = 0
        let scalars = text.unicodeScalars.prefix { scalar in
            bytes += UTF8.width(scalar)
            return bytes <= AnswerBounds.titleBytes
        }
        return String(scalars)
    }

    /// The same unless it is empty, as it is for what is not told.
    package var words: String? {
        shortText.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// How many there are of something; nil for what cannot be.
    package var count: Int? {
        number(in: AnswerBounds.counts).map { Int($0) }
    }

    /// Whether it is an array, also an empty one.
    package var isArray: Bool {
        if case .array = self { true } else { false }
    }
}

/// Bounds of what is believed of any answer, each with its reason.
package enum AnswerBounds {
    /// Bytes of a title, name or tag; services allow 32 to 255 characters for one.
    package static let titleBytes = 4096
    /// Works, bookmarks, views; the largest service has 150 million works.
    package static let counts: ClosedRange<Int64> = 0...1_000_000_000
    /// Times in Unix seconds, to the end of the year 9999.
    package static let times: ClosedRange<Int64> = 0...253_402_300_799
    /// Pixels of an edge; services allow 20,000.
    package static let pixels: ClosedRange<Int64> = 0...1_000_000
    /// Characters of a service's own words in an error text.
    static let quotedCharacters = 120
}

/// The words of a service in a text of this program.
package enum ForeignText {
    /// A stranger's words, short and without control characters, for an error text.
    package static func quoted(_ text: String) -> String {
        let scalars = text.unicodeScalars.lazy.filter { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: false
            default: true
            }
        }
        return "“\(String(String.UnicodeScalarView(scalars.prefix(AnswerBounds.quotedCharacters))))”"
    }
}
