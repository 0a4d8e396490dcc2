package import Rankings

/// The fields of one kind of object in a service's answers: those that are decoded, and those that are known and ignored.
package struct FieldList: Sendable {
    /// The type that a field is decoded as.
    package enum Kind: Sendable {
        case number
        case text
        case list
        case object
        /// A number, or `false` for none.
        case numberOrFalse
        /// An object, or null for none.
        case objectOrNull
        /// True or false.
        case flag
        /// A number, also with a fraction, or null for none.
        case numberOrNull
        /// A text, or null for none.
        case textOrNull

        /// Returns whether a value is of this kind for the decoders, which accept numbers and strings of digits alike.
        package func holds(_ value: JSON) -> Bool {
            switch self {
            case .number: value.number != nil
            case .text: if case .string = value { true } else { false }
            case .list: if case .array = value { true } else { false }
            case .object: if case .object = value { true } else { false }
            case .numberOrFalse: value.number != nil || value == .bool(false)
            case .objectOrNull: value.isNull || !value.members.isEmpty
            case .flag: value.flag != nil
            case .numberOrNull: if case .real = value { true } else { value.isNull || value.number != nil }
            case .textOrNull: if case .string = value { true } else { value.isNull }
            }
        }
    }

    package let decoded: [(name: String, kind: Kind)]
    package let passedOver: Set<String>

    /// - Parameters:
    ///   - decoded: The fields that are decoded, or shown unchanged.
    ///   - passedOver: The fields that are known and ignored on purpose.
    package init(decoded: [(name: String, kind: Kind)], passedOver: Set<String>) {
        self.decoded = decoded
        self.passedOver = passedOver
    }

    /// The names of all known fields.
    package var known: Set<String> { passedOver.union(decoded.map(\.name)) }

    /// Compares objects of a service with the list.
    ///
    /// - Parameters:
    ///   - name: The name of the assumption.
    ///   - objects: The objects of one kind.
    /// - Returns: Changed if a decoded field is missing or of another kind in any of them; new fields are named, and change
    ///   nothing. Unknown without objects.
    package func compare(_ name: String, with objects: [JSON]) -> Assumption {
        guard !objects.isEmpty else { return Assumption(name, .unknown, "there is none") }
        var remarks: [String] = []
        for (field, kind) in decoded {
            let missing = objects.count { object in !object.members.contains { $0.name == field } }
            let others = objects.count { object in
                object.members.contains { $0.name == field } && !kind.holds(object[field])
            }
            if missing > 0 { remarks.append("\(field) is missing\(Self.share(missing, objects.count))") }
            if others > 0 { remarks.append("\(field) is of another kind\(Self.share(others, objects.count))") }
        }
        let new = Set(objects.flatMap { $0.members.map(\.name) }).subtracting(known)
        let holds = remarks.isEmpty
        if holds { remarks.append("all \(decoded.count) that are decoded are there") }
        if !new.isEmpty { remarks.append("new: \(Self.shown(new))") }
        return Assumption(name, holds: holds, remarks.joined(separator: "; "))
    }

    private static func share(_ count: Int, _ all: Int) -> String {
        all == 1 ? "" : " in \(count) of \(all)"
    }

    /// The number of new fields that are named.
    private static let mostNamed = 12
    /// The number of letters shown of a field's name: names of fields are short words.
    private static let longestName = 40

    private static func shown(_ names: Set<String>) -> String {
        let plain = names.filter { name in
            name.utf8.count <= longestName
                && name.utf8.allSatisfy { $0.isLetter || $0 == UInt8(ascii: "_") }
        }
        let rest = names.count - min(plain.count, mostNamed)
        return (plain.sorted().prefix(mostNamed) + (rest > 0 ? ["\(rest) more"] : [])).joined(separator: ", ")
    }
}

// MARK: - Texts and bounds

extension JSON {
    /// The text, cut between scalars to at most the length of a title.
    package var shortText: String? {
        guard let text, text.utf8.count > AnswerBounds.titleBytes else { return text }
        return String(decoding: Array(text.utf8)[...].beginning(ofBytes: AnswerBounds.titleBytes), as: UTF8.self)
    }

    /// The same text; nil if it is empty, as it is where the service leaves a value out.
    package var words: String? {
        shortText.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// A number of things; nil for a number outside of the plausible range.
    package var count: Int? {
        number(in: AnswerBounds.counts).map { Int($0) }
    }

    /// The pixels of an edge; 0 for a number outside of the plausible range.
    package var pixels: Int { Int(number(in: AnswerBounds.pixels) ?? 0) }

    /// Whether the value is an array, which may be empty, or one with holes.
    package var isArray: Bool {
        if case .array = self { true } else { !elements.isEmpty }
    }
}

/// Bounds of the values accepted in any answer, each with its reason.
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

/// Quotations of a service's words in this program's texts.
package enum ForeignText {
    /// Returns a foreign text, short and without control characters, for an error text.
    package static func quoted(_ text: String) -> String {
        let scalars = text.unicodeScalars.lazy.filter { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: false
            default: true
            }
        }
        return "“\(String(String.UnicodeScalarView(scalars.prefix(AnswerBounds.quotedCharacters))))”"
    }

    /// Returns an error text without what it quotes: services repeat what they are asked for.
    package static func unquoted(_ text: String) -> String {
        let scalars = text.unicodeScalars
        guard let start = scalars.firstIndex(of: "“"), let end = scalars.lastIndex(of: "”") else { return text }
        return String(scalars[...start]) + "…" + String(scalars[end...])
    }
}
