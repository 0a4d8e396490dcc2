import Rankings
import Sourcing

/// One file of a post: its place, and its facts from the listing.
package struct PostFile: Hashable, Sendable {
    /// Host and path (`PictureHosts.place`).
    package var place: String
    /// The extension without a dot; one of `PostFormat.all`.
    package var fileExtension: String
    /// The length in bytes; nil if unknown.
    package var size: Int64?

    /// Makes a file.
    ///
    /// - Parameters:
    ///   - place: Host and path.
    ///   - fileExtension: One of `PostFormat.all`.
    ///   - size: The length in bytes; an impossible length counts as unknown.
    package init(place: String, fileExtension: String, size: Int64? = nil) {
        self.place = place
        self.fileExtension = fileExtension
        self.size = size.flatMap { (1...PictureLimits.largest).contains($0) ? $0 : nil }
    }
}

/// The formats that posts may have.
package enum PostFormat {
    package static let all: Set<String> = ["jpg", "png", "gif", "webp", "avif", "mp4", "webm", "zip"]
    /// The formats that picture viewers show directly.
    package static let pictures: Set<String> = ["jpg", "png", "gif", "webp", "avif"]
    /// The formats of animations; a GIF may be still.
    package static let animations: Set<String> = ["mp4", "webm", "zip"]
    /// The format that no program plays any more.
    package static let flash = "swf"

    /// The extension in lower case, `jpg` for `jpeg`; nil if there is none.
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

/// The usable files of a post; a post has none without the digest and size that prove the original's bytes.
package struct PostFiles: Hashable, Sendable {
    /// The original, with a size.
    package let original: PostFile
    /// The original's digest: 32 lower-case hexadecimal digits.
    package let md5: String
    /// The screen-sized rendition, where the service made one.
    package var sample: PostFile?
    /// The still picture of a file that is no picture.
    package var still: PostFile?
    /// A preview.
    package var small: PostFile?

    /// The files of a post; nil without the original's size or a valid digest.
    package init?(original: PostFile, md5: String?) {
        guard original.size != nil, let md5 = md5?.lowercased(), md5.isMD5 else { return nil }
        self.original = original
        self.md5 = md5
    }

    /// The screen-sized picture: the sample, the original of a small picture, or the still of an animation.
    package var regular: PostFile? {
        if let sample { return sample }
        return PostFormat.pictures.contains(original.fileExtension) ? original : still ?? small
    }
}

// MARK: - Picture hosts

/// The hosts from which a service's pictures are accepted; addresses on any other host are refused.
package struct PictureHosts: Sendable {
    /// In lower case.
    let hosts: Set<String>
    /// The host of addresses without a host.
    let home: String
    /// Scheme and host that replace those of every address, without a trailing slash.
    var replacement: String?

    /// Host and path of an address in an answer: `cdn.example.org/original/1.jpg`.
    ///
    /// `https:`, `http:` and no scheme are equivalent, since requests are always sent with TLS.
    ///
    /// - Returns: Nil for any other text, and for a host that is not listed.
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
        // `%2A` is equivalent for a server; references use the asterisk as a mark of their own.
        let path = place.dropFirst(host.count).split(separator: "*", omittingEmptySubsequences: false)
        let known = host.lowercased() + path.joined(separator: "%2A")
        return isPlace(known) ? known : nil
    }

    /// Whether a text has the form that `place(_:)` returns: a listed host, and a plain path without `.` and `..`.
    package func isPlace(_ text: String) -> Bool {
        let host = text.prefix { $0 != "/" }
        let path = text.dropFirst(host.count)
        return hosts.contains(String(host)) && path.utf8.count > 1 && text.utf8.count <= BooruLimits.addressBytes
            && path.utf8.allSatisfy(Self.isPathByte)
            && !path.split(separator: "/").contains { $0 == "." || $0 == ".." }
    }

    /// The file at an address of an answer, in a format that picture viewers show; nil for anything else.
    func picture(_ address: JSON, _ fileExtension: String? = nil, size: Int64? = nil) -> PostFile? {
        guard let address = address.words, let place = place(address),
            let fileExtension = fileExtension ?? PostFormat.ofAddress(address),
            PostFormat.pictures.contains(fileExtension)
        else { return nil }
        return PostFile(place: place, fileExtension: fileExtension, size: size)
    }

    /// The address to which a request is sent.
    package func address(of place: String) -> String {
        guard let replacement else { return "https://" + place }
        return replacement + place.drop { $0 != "/" }
    }

    /// Whether a byte may stand in a path (RFC 3986, section 3.3); neither a query nor a fragment follows a path.
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
