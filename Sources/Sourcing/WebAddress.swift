package import Rankings

/// The parts of a web page's address, which may contain the number of a work (RFC 3986, section 3).
package struct WebAddress: Hashable, Sendable {
    /// The host in lower case.
    package let host: String
    /// The parts of the path, without empty ones.
    package let path: [String]
    /// The parameters by name; of several with the same name, the first.
    package let query: [String: String]

    /// The most bytes of an address.
    package static let longest = 2048

    /// Parses an address; nil for a text that is not a web address, or has a user or port.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.longest, text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else { return nil }
        let scheme = text.prefix { $0 != ":" }.lowercased()
        let rest = text.dropFirst(scheme.count)
        guard ["http", "https"].contains(scheme), rest.hasPrefix("://") else { return nil }
        let whole = rest.dropFirst(3).prefix { $0 != "#" }
        let authority = whole.prefix { $0 != "/" && $0 != "?" }
        guard !authority.isEmpty, authority.utf8.allSatisfy(Self.isHostByte) else { return nil }
        host = authority.lowercased()
        let local = whole.dropFirst(authority.count)
        path = local.prefix { $0 != "?" }.split(separator: "/").map(String.init)
        let pairs = local.drop { $0 != "?" }.dropFirst().split(separator: "&").map { pair in
            (String(pair.prefix { $0 != "=" }), String(pair.drop { $0 != "=" }.dropFirst()))
        }
        query = Dictionary(pairs) { first, _ in first }
    }

    /// Parses a work's number as web pages spell it: decimal digits without a leading zero; nil for any other text.
    package static func work(_ text: String) -> WorkID? {
        guard let first = text.utf8.first, first != UInt8(ascii: "0"), text.utf8.allSatisfy(\.isDigit) else {
            return nil
        }
        return Int64(text).map { WorkID(rawValue: $0) }
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        byte.isDigit || byte.isLetter || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
    }
}

// MARK: - Percent-encoding

/// Percent-encoding of URLs (RFC 3986, section 2).
package enum PercentCoding {
    /// The bytes that mean nothing in a URL.
    package static let unreserved = Set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)

    private static let digits = Array("0123456789ABCDEF".utf8)

    /// Encodes every byte that is not kept; by default no text can leave its place in a URL.
    package static func encode(_ text: String, keeping kept: Set<UInt8> = unreserved) -> String {
        var encoded: [UInt8] = []
        for byte in text.utf8 {
            if kept.contains(byte) {
                encoded.append(byte)
            } else {
                encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// Decodes a text; parts that are not an encoding stay, and broken UTF-8 becomes U+FFFD.
    package static func decode(_ text: String) -> String {
        var decoded: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            let pair = rest.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
            if byte == UInt8(ascii: "%"), pair.count == 2 {
                decoded.append(UInt8(pair[0] << 4 | pair[1]))
                rest = rest.dropFirst(2)
            } else {
                decoded.append(byte)
            }
        }
        return String(decoding: decoded, as: UTF8.self)
    }
}
