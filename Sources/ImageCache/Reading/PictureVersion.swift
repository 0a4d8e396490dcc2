internal import HTTP

/// Which bytes something holds of a picture that may change at the source.
///
/// Only equality that can be proved counts: the same download or file, or the same name of a version (ETag,
/// Last-Modified: RFC 9110 section 8.8) at the same length. Known in this process only, as are the kernel's pages.
package struct PictureVersion: Sendable {
    /// Names the download that brought the bytes, or the stored file.
    let token: UInt64
    /// A hash of validator and length; 0 if the source names no versions.
    var tag: UInt64 = 0

    /// Whether bytes of both may be put together.
    package func isSame(as other: PictureVersion) -> Bool {
        token == other.token || tag != 0 && tag == other.tag
    }

    static func tag(_ validator: String, length: Int64) -> UInt64 {
        ByteHash.of(Array("\(length) \(validator)".utf8))
    }
}

extension Download {
    /// What its bytes are, once an answer has told.
    var version: PictureVersion {
        var version = PictureVersion(token: token)
        if let validator, let total { version.tag = PictureVersion.tag(validator, length: total) }
        return version
    }
}
