/// The hosts from which a service's pictures may come: addresses on any other are not believed.
package struct PictureHosts: Sendable {
    private let hosts: Set<String>
    /// What addresses without a host belong to.
    private let home: String
    /// Scheme and host that take the place of every address's, without a trailing slash.
    private let replacement: String?

    /// - Parameters:
    ///   - hosts: In lower case.
    ///   - home: The host of addresses that name none.
    ///   - replacement: Scheme and host in the place of every address's.
    package init(_ hosts: Set<String>, home: String, replacement: String? = nil) {
        self.hosts = hosts
        self.home = home
        self.replacement = replacement
    }

    /// Host and path of an address in an answer: `cdn.example.org/original/1.jpg`.
    ///
    /// `https:`, `http:` and no scheme are all the same, since requests are always sent with TLS.
    ///
    /// - Returns: Nil for anything else, and for a host that is not listed.
    package func place(_ address: String) -> String? {
        guard address.utf8.count <= BooruLimits.addressBytes else { return nil }
        let place: String
        if let replacement, address.hasPrefix(replacement + "/") {
            place = home + address.dropFirst(replacement.count)
        } else if address.hasPrefix("//") {
            place = String(address.dropFirst(2))
        } else if address.hasPrefix("/") {
            place = home + address
        } else {
            let scheme = address.prefix { $0 != ":" }
            guard ["http", "https"].contains(scheme.lowercased()), address.dropFirst(scheme.count).hasPrefix("://")
            else { return nil }
            place = String(address.dropFirst(scheme.count + 3))
        }
        let host = place.prefix { $0 != "/" }
        // The same to a server; a reference has a meaning of its own for the character.
        let path = place.dropFirst(host.count).split(separator: "*", omittingEmptySubsequences: false)
        let known = host.lowercased() + path.joined(separator: "%2A")
        return isPlace(known) ? known : nil
    }

    /// Whether a text is what `place(_:)` returns: a listed host, and a plain path that leads nowhere else.
    package func isPlace(_ text: String) -> Bool {
        let host = text.prefix { $0 != "/" }
        let path = text.dropFirst(host.count)
        return hosts.contains(String(host)) && path.utf8.count > 1 && text.utf8.count <= BooruLimits.addressBytes
            && path.utf8.allSatisfy(Self.isPathByte)
            && !path.split(separator: "/").contains { $0 == "." || $0 == ".." }
    }

    /// The address that is asked.
    package func address(of place: String) -> String {
        guard let replacement else { return "https://" + place }
        return replacement + place.drop { $0 != "/" }
    }

    /// What may stand in a path (RFC 3986, section 3.3): neither a query nor a fragment follows it.
    private static func isPathByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x00...0x20, 0x7F...0xFF, UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "*"), UInt8(ascii: "\\"),
            UInt8(ascii: "\""),
            UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"),
            UInt8(ascii: "|"), UInt8(ascii: "}"):
            false
        default: true
        }
    }
}
