package import HTTP
package import Rankings
import System

/// Recorded answers of a service in a form that can be published: their structure, without anything personal.
///
/// A text is kept only where it cannot be about a person: names of fields, dates, digests, numbers that identify no person, and
/// words of the source's own vocabulary. Every other word is replaced, by the same replacement in all answers of a recording. The
/// characters between words stay, so that the cause of a decoding failure is still in the recording. Of a web page, only the
/// names of its tags and the marks of a front are kept; of any other body, its length, beginning and end.
package struct AnswerRecording: Sendable {
    /// The hosts that addresses may name, in lower case.
    private let hosts: Set<String>
    /// The words of the service's own addresses.
    private let vocabulary: Set<String>
    private var words: [String: Int] = [:]
    private var people: [Int64: Int64] = [:]

    /// - Parameters:
    ///   - description: The description of the service; its hosts and formats are not secret.
    ///   - vocabulary: The words of the service's addresses.
    package init(_ description: SourceDescription, vocabulary: Set<String>) {
        hosts = description.access.hosts
        self.vocabulary = vocabulary.union(description.fileExtensions)
    }

    /// Returns the recorded form of a request and its answer, as a document.
    ///
    /// - Parameters:
    ///   - request: The request as it was sent. Its method, range, path and query are kept, and none of its headers.
    ///   - result: The answer, or the error that the request ended with.
    /// - Returns: The document.
    package mutating func document(of request: HTTPRequest, _ result: Result<HTTPResponse, Failure>) -> JSON {
        let target = request.url.drop { $0 != ":" }.dropFirst(3).drop { $0 != "/" }
        let asked: [(String, JSON?)] = [
            ("method", .string(request.method.rawValue)), ("target", .string(address(String(target)))),
            ("range", request.range.map { .string("\($0.first)-\($0.last.map(String.init) ?? "")") }),
        ]
        switch result {
        case .failure(let error): return .members(asked + [("failure", .string(error.briefly))])
        case .success(let response):
            let headers = Self.headers.compactMap { name in response.head[name].map { (name, $0) } }
            let told: [(String, JSON?)] = [
                ("status", .integer(Int64(response.head.status))), ("protocol", .string(response.head.version)),
                ("headers", .members(headers.map { ($0.0, .string(Self.isPlain($0.1) ? $0.1 : masked($0.1))) })),
                ("body", body(response)),
            ]
            return .members(asked + told)
        }
    }

    /// The headers that describe the answer alone.
    private static let headers = [
        "content-type", "content-length", "content-range", "accept-ranges", "last-modified", "cache-control", "date",
        "age", "retry-after", "server", "cf-mitigated",
    ]

    /// Returns whether a header's value is short ASCII text without an `@`: `text/html; charset=utf-8`, `bytes 0-65535/891947`.
    private static func isPlain(_ text: String) -> Bool {
        text.utf8.count <= 80 && text.utf8.allSatisfy { (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "@") }
    }

    private mutating func body(_ response: HTTPResponse) -> JSON {
        let bytes = response.body
        if let json = try? JSONReader.read(bytes) { return redacted(json) }
        guard response.head.isText else {
            return .members([
                ("bytes", .integer(Int64(bytes.count))), ("begins", .string(SHA256.hex(bytes.prefix(Self.edge)))),
                ("ends", .string(SHA256.hex(bytes.suffix(Self.edge)))),
            ])
        }
        let text = String(decoding: bytes, as: UTF8.self)
        return .members([
            ("bytes", .integer(Int64(bytes.count))), ("tags", .string(Self.tags(of: text))),
            ("marks", .array(FrontPage.marks(in: text).map { .string($0) })),
        ])
    }

    /// The number of bytes recorded from both ends of a body that is not text: they identify the format and its end.
    private static let edge = 16
    /// The number of characters recorded of a page's tags.
    private static let longestPage = 4096

    /// Returns the names of a page's tags in sequence: `html head title /title`.
    private static func tags(of page: String) -> String {
        let names = page.split(separator: "<").dropFirst().compactMap { part -> String? in
            let name = part.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "/") }
            return name.isEmpty || name.utf8.count > 12 ? nil : name.lowercased()
        }
        return String(names.joined(separator: " ").prefix(longestPage))
    }

    // MARK: - JSON

    /// Returns the same value with all personal texts and numbers replaced.
    package mutating func redacted(_ value: JSON) -> JSON { redacted(value, of: "", isTop: true) }

    private mutating func redacted(_ value: JSON, of field: String, isTop: Bool = false) -> JSON {
        switch value {
        case .string(let text): .string(self.text(text, of: field, isTop: isTop))
        case .integer(let number): .integer(Self.isPersons(field) ? person(number) : number)
        case .array(let elements): .array(elements.map { redacted($0, of: field) })
        case .object(let members): .object(redacted(members, of: field, isTop: isTop))
        case .null, .bool, .real: value
        }
    }

    private mutating func redacted(_ members: [JSON.Member], of field: String, isTop: Bool) -> [JSON.Member] {
        // Two lists have the form of fields: the kinds of tags by name, and the translations of tags.
        let isKinds = field == Self.list && members.allSatisfy { $0.value.text != nil }
        let isList = isKinds || field == Self.translations
        return members.map { member in
            let name =
                if isList || !Self.isField(member.name) {
                    masked(member.name)
                } else if Self.isPersons(field), let number = Int64(member.name) {
                    String(person(number))
                } else { member.name }
            // The number in a person's own record identifies the person.
            let isOwnNumber = member.name == "id" && Self.isPersons(field)
            return JSON.Member(
                name: name,
                value: redacted(
                    member.value, of: isKinds ? "type" : isList ? "" : isOwnNumber ? field : member.name,
                    isTop: isTop && member.value.members.isEmpty))
        }
    }

    /// The field with tags that some services list by name.
    private static let list = "tags"
    /// The field with the names of tags in other languages.
    private static let translations = "tagTranslation"
    /// Parts of the names of fields with a number that identifies a person.
    private static let persons = ["user", "author", "creator", "uploader", "approver", "updater", "artist", "account"]
    /// Fields with a single word of the service's own as their value.
    private static let enumerations: Set<String> = [
        "illust_type", "mask_reason", "maskReason", "rating", "status", "file_ext", "mime_type", "type", "seriesType",
    ]
    /// The same for fields at the top of an answer.
    private static let topEnumerations: Set<String> = ["mode", "content"]
    /// Fields at the top of an answer that explain a refusal.
    private static let refusals: Set<String> = ["message", "error", "reason"]

    /// Returns whether a name can be that of a field, which the service chose: at most 40 ASCII letters, digits and underscores.
    private static func isField(_ name: String) -> Bool {
        name.utf8.count <= 40 && name.utf8.allSatisfy { isWordByte($0) }
    }

    /// The endings of the names of fields with a number of the service's own as text.
    private static let numbers = [
        "id", "ids", "count", "width", "height", "size", "page", "rank", "order", "level", "type", "style", "date",
        "total",
    ]

    private static func isNumber(_ field: String) -> Bool {
        let field = field.lowercased()
        return numbers.contains { field.hasSuffix($0) }
    }

    /// Returns whether a field holds a time or a size.
    private static func isMoment(_ field: String) -> Bool {
        let name = field.lowercased()
        return name.hasSuffix("_at") || ["date", "time", "size"].contains { name.contains($0) }
    }

    private static func isPersons(_ field: String) -> Bool {
        let field = field.lowercased()
        return persons.contains { field.contains($0) } && !field.hasSuffix("count")
    }

    private mutating func text(_ text: String, of field: String, isTop: Bool) -> String {
        if Self.isNumber(field), let number = Int64(text) {
            return Self.isPersons(field) ? String(person(number)) : text
        }
        if text.hasPrefix("https://") || text.hasPrefix("http://") { return address(text) }
        if Self.isMoment(field) && Self.isNumeric(text) || text.isMD5 { return text }
        let isWord = text.utf8.count <= 24 && text.utf8.allSatisfy { Self.isWordByte($0) || "/-".utf8.contains($0) }
        if isWord, Self.enumerations.contains(field) || isTop && Self.topEnumerations.contains(field) { return text }
        if isTop, Self.refusals.contains(field), !text.contains("@") {
            return String(text.map { $0.isNumber ? "0" : $0 })
        }
        return masked(text)
    }

    /// Returns whether a text consists of digits and the separators of dates, times and sizes.
    private static func isNumeric(_ text: String) -> Bool {
        text.utf8.count <= 40
            && text.unicodeScalars.allSatisfy { ("0"..."9").contains($0) || "-:+./ TZ".unicodeScalars.contains($0) }
    }

    // MARK: - Words

    private static func isWordByte(_ byte: UInt8) -> Bool {
        byte.isDigit || byte.isLetter || byte == UInt8(ascii: "_")
    }

    /// The first number that replaces a person's number: above all numbers that services have assigned.
    private static let nobody: Int64 = 990_000_001

    /// Returns the replacement of a person's number; 0, 1 and negative numbers identify no person and stay.
    private mutating func person(_ number: Int64) -> Int64 {
        guard number > 1 else { return number }
        let other = people[number] ?? Self.nobody + Int64(people.count)
        people[number] = other
        return other
    }

    /// Returns the replacement of a word, the same each time.
    private mutating func word(_ word: some StringProtocol) -> String {
        guard !word.isEmpty else { return "" }
        let number = words[String(word)] ?? words.count + 1
        words[String(word)] = number
        return "w\(number)"
    }

    /// Returns the text with its words replaced; characters that are neither letters nor digits stay.
    private mutating func masked(_ text: String, keeping: (Substring) -> Bool = { _ in false }) -> String {
        var masked = ""
        var rest = text.unicodeScalars[...]
        while let first = rest.first {
            let isWord = Self.isOfWord(first)
            let part = rest.prefix { Self.isOfWord($0) == isWord }
            let plain = Substring(part)
            masked += !isWord || keeping(plain) ? String(plain) : word(plain)
            rest = rest.dropFirst(part.count)
        }
        return masked
    }

    private static func isOfWord(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return isWordByte(UInt8(truncatingIfNeeded: scalar.value)) }
        // Decoders fail on blanks and on characters that change the direction of writing; any other character may be part of a
        // name.
        return !scalar.properties.isWhitespace && scalar.properties.generalCategory != .format
    }

    // MARK: - Addresses

    /// Returns an address without the tags of a work and without a person.
    ///
    /// Kept are a known host, and numbers, digests and words of the vocabulary.
    private mutating func address(_ text: String) -> String {
        let scheme = ["https://", "http://"].first { text.hasPrefix($0) } ?? ""
        let host = scheme.isEmpty ? "" : String(text.dropFirst(scheme.count).prefix { $0 != "/" && $0 != "?" })
        let path = PercentCoding.decode(String(text.dropFirst(scheme.count + host.count)))
        let vocabulary = vocabulary
        // The numbers in the address of a web page or of a user identify a person; those in the address of a picture do not.
        let isPicture = vocabulary.contains(String(path.split(separator: ".").last ?? ""))
        let isPersons = !scheme.isEmpty && !isPicture || path.contains("user")
        let isKnown = scheme.isEmpty || hosts.contains(host.lowercased())
        let shown = masked(path) { part in
            let pieces = part.split(separator: "_", omittingEmptySubsequences: false)
            return pieces.allSatisfy { piece in
                if piece.isMD5 { return isKnown }
                let isNumber = piece.utf8.allSatisfy { $0.isDigit || $0 == UInt8(ascii: "x") }
                let isPage = piece.hasPrefix("p") && piece.dropFirst().utf8.allSatisfy { $0.isDigit }
                return !isPersons && isKnown && (isNumber || isPage || vocabulary.contains(String(piece)))
            }
        }
        return scheme + (isKnown ? host : host.isEmpty ? "" : "\(word(host)).invalid") + shown
    }
}
