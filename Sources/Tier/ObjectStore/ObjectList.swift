package import Rankings
internal import CExpat
internal import HTTP

/// A part of the list of a store's objects.
package struct ObjectList: Hashable, Sendable {
    /// An object in the list.
    package struct Entry: Hashable, Sendable {
        package var key: ObjectKey
        /// The length in bytes.
        package var size: Int64
        /// The time of writing by the store's clock, in Unix seconds; nil if the store does not state it.
        package var written: Int64?
    }

    package var entries: [Entry] = []
    /// The lengths of the objects with keys that rankfs never writes.
    package var others: [Int64] = []
    /// The token for the next part; nil after the last part.
    package var next: String?
}

extension ObjectStore {
    /// The most bytes of a part of the list: a thousand keys of 1024 bytes with the XML around them.
    private static let longestList: Int64 = 4 << 20

    /// Requests a part of the list of objects: 1000 at most.
    ///
    /// - Parameters:
    ///   - beginning: The common beginning of the keys, which may end within a name; nil for all below the prefix.
    ///   - token: The token from the part before.
    ///   - deadline: The time at which the request fails.
    /// - Returns: The part, in the order of keys.
    /// - Throws: The reason why the store did not answer with a list.
    package func list(
        beginning: ObjectKey? = nil, after token: String? = nil, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> ObjectList {
        let answer = try await send(
            request(
                .get, place.listURL(beginning: beginning, after: token), limit: Self.longestList, deadline: deadline))
        guard answer.head.status == 200 else { throw Failure(status: answer.head.status, body: answer.body) }
        guard let found = ObjectListReader.read(answer.body) else {
            throw .unreadable("its list of objects cannot be understood")
        }
        guard found.goesOn != true || found.next != nil else {
            throw .unreadable("its list of objects goes on, and it does not say from where")
        }
        var list = ObjectList(next: found.goesOn == false ? nil : found.next)
        for entry in found.entries {
            if let key = place.key(listed: entry.key) {
                list.entries.append(ObjectList.Entry(key: key, size: entry.size, written: entry.written))
            } else {
                list.others.append(entry.size)
            }
        }
        return list
    }
}

/// Parser of the answer to ListObjectsV2 (Amazon S3 API Reference).
final class ObjectListReader {
    private var entries: [(key: String, size: Int64, written: Int64?)] = []
    private var next: String?
    private var goesOn: Bool?
    private var path: [String] = []
    private var text: [UInt8] = []
    private var key: String?
    private var size: Int64?
    private var written: Int64?

    /// The most bytes of a text; a longer text is no key.
    private static let longestText = 4096

    /// Parses an answer; nil for an answer that is no list.
    ///
    /// `goesOn` is nil if the answer does not state whether it is the last part.
    static func read(
        _ bytes: [UInt8]
    ) -> (entries: [(key: String, size: Int64, written: Int64?)], next: String?, goesOn: Bool?)? {
        guard let parser = unsafe XML_ParserCreate("UTF-8") else { return nil }
        defer { unsafe XML_ParserFree(parser) }
        let reader = ObjectListReader()
        // The parser calls back within this block only.
        let isWhole = withExtendedLifetime(reader) {
            unsafe XML_SetUserData(parser, Unmanaged.passUnretained(reader).toOpaque())
            unsafe XML_SetElementHandler(parser, listElementBegan, listElementEnded)
            unsafe XML_SetCharacterDataHandler(parser, listText)
            unsafe XML_SetStartDoctypeDeclHandler(parser, listDoctype)
            return unsafe bytes.withUnsafeBytes { bytes in
                unsafe XML_Parse(parser, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count), 1)
                    == XML_STATUS_OK
            }
        }
        guard isWhole, reader.isList, !reader.hasDoctype else { return nil }
        if reader.isEncoded {
            for index in reader.entries.indices { reader.entries[index].key = decoded(reader.entries[index].key) }
        }
        return (reader.entries, reader.next, reader.goesOn)
    }

    /// Whether keys have `%XX` for bytes that XML cannot hold, as requested by `encoding-type`.
    private var isEncoded = false

    private static func decoded(_ text: String) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private var isList = false
    /// Whether the answer has a document type, which no store sends: its entities could expand a short answer into a huge one.
    fileprivate var hasDoctype = false

    func began(_ name: String) {
        if path.isEmpty { isList = name == "ListBucketResult" }
        path.append(name)
        text = []
    }

    func ended() {
        let value = String(decoding: text, as: UTF8.self)
        switch path.dropFirst() {
        case ["Contents", "Key"]: key = value
        case ["Contents", "Size"]: size = Int64(value)
        case ["Contents", "LastModified"]: written = Timestamp.seconds(value)
        case ["Contents"]:
            if let key, let size, size >= 0 { entries.append((key, size, written)) }
            (key, size, written) = (nil, nil, nil)
        case ["IsTruncated"] where value == "true" || value == "false": goesOn = value == "true"
        case ["EncodingType"]: isEncoded = value == "url"
        case ["NextContinuationToken"] where !value.isEmpty: next = value
        default: break
        }
        if !path.isEmpty { path.removeLast() }
        text = []
    }

    func add(_ bytes: UnsafeRawBufferPointer) {
        if !hasDoctype, text.count + bytes.count <= Self.longestText { unsafe text.append(contentsOf: bytes) }
    }
}

// Called by expat within XML_Parse; the context is the reader, which `read` keeps alive.

private func listElementBegan(
    _ context: UnsafeMutableRawPointer?, _ name: UnsafePointer<XML_Char>?,
    _ attributes: UnsafeMutablePointer<UnsafePointer<XML_Char>?>?
) {
    guard let context = unsafe context, let name = unsafe name else { return }
    unsafe Unmanaged<ObjectListReader>.fromOpaque(context).takeUnretainedValue().began(String(cString: name))
}

private func listElementEnded(_ context: UnsafeMutableRawPointer?, _ name: UnsafePointer<XML_Char>?) {
    guard let context = unsafe context else { return }
    unsafe Unmanaged<ObjectListReader>.fromOpaque(context).takeUnretainedValue().ended()
}

private func listDoctype(
    _ context: UnsafeMutableRawPointer?, _ name: UnsafePointer<XML_Char>?, _ system: UnsafePointer<XML_Char>?,
    _ publicName: UnsafePointer<XML_Char>?, _ hasSubset: Int32
) {
    guard let context = unsafe context else { return }
    // `read` keeps the reader alive.
    unsafe Unmanaged<ObjectListReader>.fromOpaque(context).takeUnretainedValue().hasDoctype = true
}

private func listText(_ context: UnsafeMutableRawPointer?, _ bytes: UnsafePointer<XML_Char>?, _ count: Int32) {
    // `read` keeps the reader alive.
    guard let context = unsafe context, count > 0 else { return }
    unsafe Unmanaged<ObjectListReader>.fromOpaque(context).takeUnretainedValue()
        .add(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
}
