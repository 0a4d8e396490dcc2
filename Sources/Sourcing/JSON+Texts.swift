import Rankings

extension JSON {
    /// A text of at most the length of a title; longer ones are cut between scalars.
    var shortText: String? {
        guard let text, text.utf8.count > PixivLimits.titleBytes else { return text }
        var bytes = 0
        let scalars = text.unicodeScalars.prefix { scalar in
            bytes += UTF8.width(scalar)
            return bytes <= PixivLimits.titleBytes
        }
        return String(scalars)
    }

    /// The same unless it is empty, as it is for what is not told.
    var words: String? {
        shortText.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// How many there are of something; nil for what cannot be.
    var count: Int? {
        number(in: PixivLimits.counts).map { Int($0) }
    }

    var isArray: Bool {
        if case .array = self { true } else { false }
    }
}
