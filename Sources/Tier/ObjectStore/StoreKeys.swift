import Rankings

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

    /// Reads the keys of a profile; nil if it has none.
    package init?(profile: KeyProfile) { self.init { profile[$0] } }

    /// Reads the environment variables that programs for such stores share.
    package init?(variables: [String: String]) { self.init { variables[$0.uppercased()] } }

    /// Reads the values of the names that profiles and variables have in common.
    private init?(_ value: (String) -> String?) {
        guard let keyID = value("aws_access_key_id"), let secret = value("aws_secret_access_key") else { return nil }
        self.init(keyID: keyID, secret: secret, sessionToken: value("aws_session_token"))
    }

    package var description: String { "the key \(keyID)" }

    package var customMirror: Mirror { Mirror(self, children: ["keyID": keyID]) }

    /// The most bytes of a part; a session token has some thousand, and no bound that Amazon states.
    private static let longest = 16 << 10

    private static func isPlain(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= longest && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }
}

// MARK: - Profile

/// A profile of a file such as `~/.aws/credentials` or `~/.aws/config`: lines `name = value` below a heading.
///
/// Source: AWS SDKs and Tools Reference Guide, "Shared config and credentials files". The printed form contains no value.
package struct KeyProfile: Sendable, CustomStringConvertible, CustomReflectable {
    /// The heading without `profile`; empty for lines above the first heading.
    package let name: String
    private var values: [String: String] = [:]

    /// Reads all profiles of a file.
    package static func all(in bytes: [UInt8]) -> [KeyProfile] {
        var profiles = [KeyProfile(name: "")]
        for line in bytes.split(whereSeparator: { $0 == 10 || $0 == 13 }) {
            let text = trimmed(String(decoding: line, as: UTF8.self))
            if text.hasPrefix("["), text.hasSuffix("]") {
                let words = text.dropFirst().dropLast().split(whereSeparator: { $0 == " " || $0 == "\t" })
                profiles.append(KeyProfile(name: String((words.first == "profile" ? words.last : words.first) ?? "")))
                continue
            }
            let parts = text.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, !text.hasPrefix("#"), !text.hasPrefix(";") else { continue }
            let name = trimmed(parts[0]).lowercased()
            // The first value of a name counts, as for names of profiles.
            if profiles[profiles.count - 1].values[name] == nil {
                profiles[profiles.count - 1].values[name] = trimmed(parts[1])
            }
        }
        return profiles
    }

    /// The value of a name in lower case.
    package subscript(name: String) -> String? { values[name] }

    package var description: String { "the profile \(name)" }

    package var customMirror: Mirror { Mirror(self, children: ["name": name]) }

    private init(name: String) { self.name = name }

    private static func trimmed(_ text: some StringProtocol) -> String {
        String(text.trimmed { $0 == " " || $0 == "\t" })
    }
}
