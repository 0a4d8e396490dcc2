internal import HTTP

/// What a store knows a user by.
///
/// What it prints as tells no secret.
package struct StoreKeys: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    /// Names the key; it is sent.
    package let keyID: String
    let secret: String
    /// Sent with keys that hold for some hours only.
    let sessionToken: String?

    /// - Returns: Nil unless both are texts that can stand in a header.
    package init?(keyID: String, secret: String, sessionToken: String? = nil) {
        guard [keyID, secret, sessionToken ?? "-"].allSatisfy(Self.isPlain) else { return nil }
        self.keyID = keyID
        self.secret = secret
        self.sessionToken = sessionToken
    }

    /// Reads the first profile of a file such as `~/.aws/credentials` (AWS SDKs and Tools Reference Guide, "Shared config and
    /// credentials files"): lines `name = value`, headings and comments.
    package init?(file bytes: [UInt8]) {
        var values: [String: String] = [:]
        for line in bytes.split(whereSeparator: { $0 == 10 || $0 == 13 }) {
            let parts = String(decoding: line, as: UTF8.self).split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { continue }
            let (name, value) = (Self.trimmed(parts[0]).lowercased(), Self.trimmed(parts[1]))
            // Another profile's come later.
            if values[name] == nil { values[name] = value }
        }
        guard let keyID = values["aws_access_key_id"], let secret = values["aws_secret_access_key"] else { return nil }
        self.init(keyID: keyID, secret: secret, sessionToken: values["aws_session_token"])
    }

    /// Reads the variables that programs for such stores have in common.
    package init?(variables: [String: String]) {
        guard let keyID = variables["AWS_ACCESS_KEY_ID"], let secret = variables["AWS_SECRET_ACCESS_KEY"] else {
            return nil
        }
        self.init(keyID: keyID, secret: secret, sessionToken: variables["AWS_SESSION_TOKEN"])
    }

    package var description: String { "the key \(keyID)" }

    package var customMirror: Mirror { Mirror(self, children: ["keyID": keyID]) }

    /// Signs requests for a region.
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
