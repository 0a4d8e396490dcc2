package import HTTP
internal import System

/// The metadata stored with an object, by which its bytes are verified block by block as they arrive.
///
/// It is kept in headers, of which a store keeps 2 KB (Amazon S3 User Guide, "Working with object metadata").
package struct ObjectDescription: Hashable, Sendable {
    /// The length of the object in bytes, independent of the store's own count.
    package var length: Int64
    /// The digests of all blocks, one after the other (`BlockDigests`).
    package var blocks: [UInt8]
    /// The key under which the object was written; a copy under another key does not match its description.
    package var key: String
}

extension ObjectDescription {
    /// Describes bytes in memory.
    package init(of bytes: [UInt8], key: ObjectKey) {
        self.init(length: Int64(bytes.count), blocks: BlockDigests.digests(of: bytes), key: key.text)
    }

    /// Whether bytes are those described, and the key is theirs.
    package func holds(for bytes: [UInt8], key: ObjectKey) -> Bool {
        length == Int64(bytes.count) && self.key == key.text && blocks == BlockDigests.digests(of: bytes)
    }

    fileprivate init?(_ head: HTTPAnswer) {
        guard let length = head[Self.prefix + "length"].flatMap({ Int64($0) }), length >= 0,
            let blocks = head[Self.prefix + "blocks"], let key = head[Self.prefix + "key"],
            let digests = Self.bytes(blocks), digests.count == BlockDigests.bytes(forLength: length)
        else { return nil }
        self.init(length: length, blocks: digests, key: key)
    }

    /// The headers that store the description, and the media type of bytes of any kind.
    func headers(_ secret: ObjectSecret?) -> [String] {
        var fields = [("length", "\(length)"), ("blocks", SHA256.hex(blocks)), ("key", key)]
        if let proof = secret?.proof(of: self) { fields.append(("proof", proof)) }
        return fields.map { "\(Self.prefix)\($0): \($1)" } + ["Content-Type: application/octet-stream"]
    }

    /// Returns the ETag of an object of at least an age in seconds, which may be written anew; nil for any other one.
    ///
    /// Without the secret of its proof, which would be lost, an object stays as it is.
    static func tag(of head: HTTPAnswer, from age: Int64, _ secret: ObjectSecret?) -> String? {
        guard let found = head.age, found >= age, secret != nil || head[prefix + "proof"] == nil else { return nil }
        return head.etag
    }

    fileprivate static let prefix = "x-amz-meta-rankfs-"

    /// The bytes that a text of hexadecimal digits stands for; nil for any other text.
    private static func bytes(_ text: String) -> [UInt8]? {
        let digits = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}

/// The origin of an object, as its metadata show it.
package enum Provenance: Hashable, Sendable {
    /// A machine of this fleet wrote it.
    case ours(ObjectDescription)
    /// No machine with the fleet's secret wrote it under this key: it is not used, and replaced.
    case unproven
    /// Another program wrote it.
    case foreign

    /// Reads the metadata of an answer.
    ///
    /// - Parameters:
    ///   - head: The answer with the object.
    ///   - secret: The secret of the machines that share the store; nil where every writer is trusted.
    ///   - key: The key of the object; without a secret a description of another key is returned as it is.
    package init(_ head: HTTPAnswer, _ secret: ObjectSecret?, of key: ObjectKey) {
        let prefix = ObjectDescription.prefix
        guard let description = ObjectDescription(head) else {
            self = secret != nil ? .unproven : .foreign
            return
        }
        let isProven = secret.map { secret in
            guard description.key == key.text, let proof = head[prefix + "proof"],
                let right = secret.proof(of: description)
            else { return false }
            return SHA256.areEqual(proof, right)
        }
        self = isProven ?? true ? .ours(description) : .unproven
    }
}

// MARK: - Blocks

/// The digests of the blocks of an object: the first bytes of each one's SHA-256.
///
/// A block that has arrived is used before the next one comes. The size of a block follows from the object's length, so that the
/// digests of any object fit the headers; all but the last block have it.
package struct BlockDigests: Sendable {
    /// The bytes kept of a digest: no two known contents share 96 bits, and nobody finds another content for given ones.
    private static let kept = 12
    /// The most blocks of an object: with 24 hexadecimal digits each they leave room for the other headers.
    private static let most: Int64 = 48
    /// The size of a block, in bytes, unless there would be too many.
    package static let smallest: Int64 = 128 << 10

    /// The digests of the blocks that are complete.
    package private(set) var digests: [UInt8] = []
    private let length: Int64
    private let size: Int64
    private var current = SHA256()
    private var added: Int64 = 0

    /// Begins the digests of an object of a length.
    package init(length: Int64) {
        self.length = length
        size = Self.size(forLength: length)
    }

    /// The number of bytes of the complete blocks.
    package var complete: Int64 { min(Int64(digests.count / Self.kept) * size, length) }

    /// Appends bytes; those after the object's end are ignored.
    package mutating func add(_ bytes: UnsafeRawBufferPointer) {
        var taken = 0
        while taken < bytes.count, added < length {
            let room = min(size - added % size, length - added)
            let end = taken + Int(min(Int64(bytes.count - taken), room))
            unsafe current.add(UnsafeRawBufferPointer(rebasing: bytes[taken..<end]))
            added += Int64(end - taken)
            taken = end
            if added.isMultiple(of: size) || added == length {
                digests += current.bytes().prefix(Self.kept)
                current = SHA256()
            }
        }
    }

    /// Returns the digests of bytes in memory.
    static func digests(of bytes: [UInt8]) -> [UInt8] {
        var digests = BlockDigests(length: Int64(bytes.count))
        unsafe bytes.withUnsafeBytes { unsafe digests.add($0) }
        return digests.digests
    }

    /// Returns the number of bytes of all digests of an object of a length.
    static func bytes(forLength length: Int64) -> Int {
        let size = size(forLength: length)
        return Int(length / size + (length % size > 0 ? 1 : 0)) * kept
    }

    /// Returns the size of the blocks of an object of a length.
    static func size(forLength length: Int64) -> Int64 {
        var size = smallest
        while length / most >= size { size *= 2 }
        return size
    }
}

// MARK: - Secret

/// The secret of the machines that share a store: what one of them writes, the others recognise.
///
/// Whoever may write to the store but does not have the secret changes nothing that a machine with it shows. The printed form
/// does not contain it.
package struct ObjectSecret: Sendable, CustomStringConvertible, CustomReflectable {
    /// The least number of bytes: 128 bits.
    package static let shortest = 16
    /// The most bytes that are used.
    package static let longest = 4096

    private let bytes: [UInt8]

    /// Takes a secret; nil for one that is too short or too long.
    package init?(_ bytes: [UInt8]) {
        guard (Self.shortest...Self.longest).contains(bytes.count) else { return nil }
        self.bytes = bytes
    }

    /// Returns the proof of a description: HMAC-SHA256 of key, length and digests; nil if memory ran out.
    func proof(of description: ObjectDescription) -> String? {
        let text = ["rankfs object 1", description.key, "\(description.length)", SHA256.hex(description.blocks)]
        return SHA256.authenticate(Array(text.joined(separator: "\n").utf8), key: bytes).map(SHA256.hex)
    }

    package var description: String { "a secret" }

    package var customMirror: Mirror { Mirror(self, children: []) }
}
