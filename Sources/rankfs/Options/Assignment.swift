import Rankings

/// A name with its value, as a file, the environment or the command line gives them.
struct Assignment: Hashable, Sendable {
    var name: String
    var value: String
    var place: OptionPlace

    /// Applies the assignment to settings, by its definition in the option table.
    func apply(to settings: inout Settings, context: OptionContext) throws(ProgramError) {
        guard let definition = OptionTable.definition(named: name) else {
            throw ProgramError(place.status, place.prefix + OptionTable.complaint(unknown: name))
        }
        if definition.mayNameUser, place == .commandLine, value.contains("@") {
            throw ProgramError(
                place.status,
                "\(definition.name) may not name a user on the command line, where every process can read it; "
                    + "put it into the configuration file.")
        }
        do {
            try definition.set(&settings, value, context)
        } catch {
            let shown = definition.mayHoldSecret ? "" : " \"\(LogText.escaped(value, limit: Self.longestShown))\""
            throw ProgramError(
                place.status, "\(place.prefix)\(definition.name)\(shown) is not understood: give \(error.cause).")
        }
    }

    /// Bytes of a wrong value that an error text repeats.
    private static let longestShown = 80
}

/// The place where an option was given; a later case wins over an earlier one.
enum OptionPlace: Hashable, Sendable {
    case file(path: String, line: Int)
    case environment(variable: String)
    case commandLine

    /// The beginning of an error text: `rankfs.conf:3: `.
    var prefix: String {
        switch self {
        case .file(let path, let line): "\(path):\(line): "
        case .environment(let variable): "\(variable): "
        case .commandLine: ""
        }
    }

    /// The exit status for a mistake in this place.
    var status: ExitStatus {
        self == .commandLine ? .usage : .configuration
    }
}

extension OptionTable {
    /// The error text for an option that does not exist: one sentence, with the nearest known name as the remedy.
    static func complaint(unknown name: String) -> String {
        guard !name.isEmpty else { return "an option has no name in front of its =; write NAME=VALUE." }
        let shown = LogText.escaped(name, limit: 80)
        let name = OptionTable.normalised(name)
        let known = OptionTable.all.map(\.name) + OptionTable.passedOn + OptionTable.ownership
        guard let nearest = nearest(to: name, among: known) else {
            return "option \(shown) is unknown; `rankfs help mount` lists all."
        }
        guard nearest != name else {
            let form = OptionTable.offered.contains("\(name)=") ? "\(name)=VALUE" : name
            return "option \(shown) belongs behind -o, written `-o \(form)`."
        }
        return "option \(shown) is unknown; did you mean \(nearest)?"
    }

    /// The known name with the fewest edits, if these are few: by default one for up to three letters, two for up to eight, else a
    /// third of its length.
    static func nearest(
        to name: String, among known: [String], edits: (_ length: Int) -> Int = { $0 <= 3 ? 1 : max(2, $0 / 3) }
    ) -> String? {
        // Longer names cannot be near any known name; the bound keeps the table of distances small.
        guard name.utf8.count <= 64 else { return nil }
        let ranked = known.map { ($0, distance(Array(name.utf8), Array($0.utf8))) }
        guard let best = ranked.min(by: { $0.1 < $1.1 }), best.1 <= edits(best.0.utf8.count) else { return nil }
        return best.0
    }

    /// Levenshtein's distance.
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var row = Array(0...right.count)
        for (i, leftByte) in left.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, rightByte) in right.enumerated() {
                let above = row[j + 1]
                row[j + 1] = min(above + 1, row[j] + 1, diagonal + (leftByte == rightByte ? 0 : 1))
                diagonal = above
            }
        }
        return row[right.count]
    }
}

// MARK: - Configuration file

extension Assignment {
    /// Bytes of a configuration file; larger ones are mistakes.
    static let longestFile = 64 << 10

    /// The assignments of a configuration file, `key = value` lines, and for each wrong line a sentence with its number; blank lines count
    /// for nothing, a `#` begins a comment at the start of a line or after a blank, and a value that begins and ends with `"` loses both.
    static func all(in text: String, path: String) -> [Result<Assignment, ProgramError>] {
        // Some editors begin a file with a byte order mark.
        let plain = String(text.unicodeScalars.drop { $0 == "\u{FEFF}" })
        let lines = plain.split(omittingEmptySubsequences: false) { $0.isNewline }
        return lines.enumerated().compactMap { index, line in
            let content = withoutComment(line).trimmed(\.isWhitespace)
            guard !content.isEmpty else { return nil }
            return Result { () throws(ProgramError) in
                try assignment(content, at: .file(path: path, line: index + 1))
            }
        }
    }

    /// The assignment of a line that is neither blank nor a comment.
    private static func assignment(_ content: Substring, at place: OptionPlace) throws(ProgramError) -> Assignment {
        func mistake(_ sentence: String) -> ProgramError { .configuration(place.prefix + sentence) }
        let name = String(content.prefix { $0 != "=" }.trimmed(\.isWhitespace))
        guard content.contains("="), !name.isEmpty else { throw mistake("expected `key = value`.") }
        guard OptionTable.definition(named: name) != nil else { throw mistake(OptionTable.complaint(unknown: name)) }
        guard let value = withoutQuotes(content.drop { $0 != "=" }.dropFirst().trimmed(\.isWhitespace)) else {
            throw mistake("the quote does not end; a # after a blank begins a comment.")
        }
        return Assignment(name: name, value: value, place: place)
    }

    private static func withoutComment(_ line: Substring) -> Substring {
        var previousIsBlank = true
        for index in line.indices {
            if line[index] == "#", previousIsBlank { return line[..<index] }
            previousIsBlank = line[index].isWhitespace
        }
        return line
    }

    /// A value as other such files write it, in quotes, is what is between them; nil if the quote does not end.
    static func withoutQuotes(_ value: Substring) -> String? {
        // By scalars: a value may begin with one that joins the quote.
        let scalars = value.unicodeScalars
        guard scalars.first == "\"" else { return String(value) }
        if scalars.count >= 2, scalars.last == "\"" { return String(scalars.dropFirst().dropLast()) }
        return scalars.count { $0 == "\"" } % 2 == 0 ? String(value) : nil
    }
}
