package import HTTP

/// What goes with an object besides its bytes.
package struct ObjectDescription: Hashable, Sendable {
    package var mediaType: String
    /// Bytes of the object, told apart from what the store counts.
    package var length: Int64
    /// XXH3 of all bytes, 16 hexadecimal digits.
    package var hash: String
    /// The key that it was written under: a copy under another one is not what it says.
    package var key: String

    package init(mediaType: String, length: Int64, hash: String, key: ObjectKey) {
        self.init(mediaType: mediaType, length: length, hash: hash, key: key.text)
    }

    private init(mediaType: String, length: Int64, hash: String, key: String) {
        self.mediaType = mediaType
        self.length = length
        self.hash = hash
        self.key = key
    }

    /// Reads it back; nil for an object that somebody else wrote.
    package init?(_ head: HTTPAnswer) {
        let prefix = ObjectStore.metadataPrefix
        guard let length = head[prefix + "length"].flatMap({ Int64($0) }), length >= 0,
            let hash = head[prefix + "hash"],
            hash.utf8.count == 16, let key = head[prefix + "key"]
        else { return nil }
        self.init(mediaType: head.contentType ?? "", length: length, hash: hash, key: key)
    }

    var headers: [String] {
        [("length", "\(length)"), ("hash", hash), ("key", key)].map { "\(ObjectStore.metadataPrefix)\($0): \($1)" }
    }
}

/// An object as a store gave it.
package struct StoredObject: Sendable {
    package let bytes: [UInt8]
    package let etag: String?
    /// Nil for one that somebody else wrote.
    package let description: ObjectDescription?
    /// For how many seconds it has been there, by the store's clock; nil if the store does not tell.
    package let age: Int64?

    init(_ answer: HTTPResponse) {
        bytes = answer.body
        etag = answer.head.etag
        description = ObjectDescription(answer.head)
        age = answer.head.age
    }
}
