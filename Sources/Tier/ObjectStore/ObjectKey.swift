internal import HTTP

/// The name of an object in a bucket, made of characters that need no escaping in an address.
///
/// libcurl before 8 signs other characters wrongly (curl's changes of 8.0 to 8.3), and stores differ in the characters they accept.
package struct ObjectKey: Hashable, Sendable, CustomStringConvertible {
    /// The most bytes of a key in S3 (Amazon S3 User Guide, "Object key naming guidelines").
    private static let longest = 1024

    package let text: String

    /// Joins parts with `/`.
    ///
    /// - Returns: Nil if a part is empty, consists of dots alone, or has a character other than `A-Z a-z 0-9 - _ .`.
    package init?(_ parts: some Sequence<String>) {
        let parts = Array(parts)
        guard !parts.isEmpty, parts.allSatisfy(Self.isPlain) else { return nil }
        text = parts.joined(separator: "/")
        guard text.utf8.count <= Self.longest else { return nil }
    }

    /// Reads a key with `/` between its parts.
    package init?(_ text: String) {
        self.init(text.split(separator: "/", omittingEmptySubsequences: false).map(String.init))
    }

    package var description: String { text }

    private static func isPlain(_ part: String) -> Bool {
        !part.isEmpty && part.contains { $0 != "." }
            && part.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }
}

// MARK: - Store keys

/// The credentials of a user at a store.
///
/// The printed form contains no secret.
package struct StoreKeys: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    /// The identifier of the key; it is sent.
    package let keyID: String
    let secret: String
    /// The token that accompanies keys valid for some hours only.
    let sessionToken: String?

    /// Makes credentials.
    ///
    /// - Returns: Nil unless all parts are texts that can stand in a header.
    package init?(keyID: String, secret: String, sessionToken: String? = nil) {
        guard [keyID, secret, sessionToken ?? "-"].allSatisfy(Self.isPlain) else { return nil }
        self.keyID = keyID
        self.secret = secret
        self.sessionToken = sessionToken
    }

    /// Reads the first profile of a file such as `~/.aws/credentials`: lines `name = value`, headings and comments.
    ///
    /// Source: AWS SDKs and Tools Reference Guide, "Shared config and credentials files".
    package init?(file bytes: [UInt8]) {
        var values: [String: String] = [:]
        for line in bytes.split(whereSeparator: { $0 == 10 || $0 == 13 }) {
            let parts = String(decoding: line, as: UTF8.self).split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { continue }
            let (name, value) = (Self.trimmed(parts[0]).lowercased(), Self.trimmed(parts[1]))
            // The values of further profiles come later.
            if values[name] == nil { values[name] = value }
        }
        guard let keyID = values["aws_access_key_id"], let secret = values["aws_secret_access_key"] else { return nil }
        self.init(keyID: keyID, secret: secret, sessionToken: values["aws_session_token"])
    }

    /// Reads the environment variables that programs for such stores share.
    package init?(variables: [String: String]) {
        guard let keyID = variables["AWS_ACCESS_KEY_ID"], let secret = variables["AWS_SECRET_ACCESS_KEY"] else {
            return nil
        }
        self.init(keyID: keyID, secret: secret, sessionToken: variables["AWS_SESSION_TOKEN"])
    }

    package var description: String { "the key \(keyID)" }

    package var customMirror: Mirror { Mirror(self, children: ["keyID": keyID]) }

    /// Makes the signature of requests for a region.
    func signature(for region: String) -> RequestSignature {
        RequestSignature(region: region, keyID: keyID, secret: secret)
    }

    private static func isPlain(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 4096 && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    private static func trimmed(_ text: some StringProtocol) -> String {
        let text = text.drop { $0 == " " || $0 == "\t" }
        return String(
            text[..<(text.lastIndex { $0 != " " && $0 != "\t" }.map { text.index(after: $0) } ?? text.startIndex)])
    }
}
