import Rankings

/// One file of a post: where it is, and what the listing tells of it.
package struct PostFile: Hashable, Sendable {
    /// Host and path (`PictureHosts.place`).
    package var place: String
    /// Without a dot; one of `PostFormat.all`.
    package var fileExtension: String
    /// Bytes; nil if not told.
    package var size: Int64?

    /// - Parameters:
    ///   - place: Host and path.
    ///   - fileExtension: One of `PostFormat.all`.
    ///   - size: Bytes; what no file has counts as not told.
    package init(place: String, fileExtension: String, size: Int64? = nil) {
        self.place = place
        self.fileExtension = fileExtension
        self.size = size.flatMap { (1...PictureLimits.largest).contains($0) ? $0 : nil }
    }
}

/// The formats that posts may have.
package enum PostFormat {
    package static let all: Set<String> = ["jpg", "png", "gif", "webp", "avif", "mp4", "webm", "zip"]
    /// Those that show at once what a picture viewer can.
    package static let pictures: Set<String> = ["jpg", "png", "gif", "webp", "avif"]
    /// Those that move; a GIF may stand still.
    package static let animations: Set<String> = ["mp4", "webm", "zip"]
    /// What no program plays any more.
    package static let flash = "swf"

    /// The extension as files here have it: lower case, `jpg` for `jpeg`; nil if there is none.
    package static func plain(_ text: String) -> String? {
        let lower = text.lowercased()
        guard (1...5).contains(lower.utf8.count) else { return nil }
        return lower == "jpeg" ? "jpg" : lower
    }

    /// The extension of an address's last part; nil if it has none.
    package static func ofAddress(_ address: String) -> String? {
        let name = address.split(separator: "/").last ?? ""
        guard let dot = name.lastIndex(of: ".") else { return nil }
        return plain(String(name[name.index(after: dot)...]))
    }
}

/// All files of a post that are of use here; there are none without what proves the original's bytes.
package struct PostFiles: Hashable, Sendable {
    /// Its size is told.
    package let original: PostFile
    /// The original's digest: 32 lower-case hexadecimal digits.
    package let md5: String
    /// What fills a screen, where something was made for it.
    package var sample: PostFile?
    /// A still that stands in for what is no picture.
    package var still: PostFile?
    /// A preview.
    package var small: PostFile?

    /// The files of a post; nil if the original's size is not told, or if its digest is none.
    package init?(
        original: PostFile, md5: String?, sample: PostFile? = nil, still: PostFile? = nil, small: PostFile? = nil
    ) {
        guard original.size != nil, let md5 = md5?.lowercased(), Self.isDigest(md5) else { return nil }
        self.original = original
        self.md5 = md5
        self.sample = sample
        self.still = still
        self.small = small
    }

    /// What fills a screen: the sample, the original of a small picture, or the still of what moves.
    package var regular: PostFile? {
        if let sample { return sample }
        return PostFormat.pictures.contains(original.fileExtension) ? original : still ?? small
    }

    static func isDigest(_ text: String) -> Bool {
        text.utf8.count == 32
            && text.utf8.allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            }
    }
}

// MARK: - Picture hosts

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
