package import Rankings
internal import CExpat
internal import HTTP
internal import Sourcing

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
            unsafe XML_SetElementHandler(
                parser,
                { context, name, _ in
                    if let name = unsafe name { unsafe ObjectListReader.of(context)?.began(String(cString: name)) }
                }, { context, _ in unsafe ObjectListReader.of(context)?.ended() })
            unsafe XML_SetCharacterDataHandler(parser) { context, text, count in
                unsafe ObjectListReader.of(context)?.add(UnsafeRawBufferPointer(start: text, count: Int(count)))
            }
            unsafe XML_SetStartDoctypeDeclHandler(parser) { context, _, _, _, _ in
                unsafe ObjectListReader.of(context)?.hasDoctype = true
            }
            return unsafe bytes.withUnsafeBytes { bytes in
                unsafe XML_Parse(parser, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count), 1)
                    == XML_STATUS_OK
            }
        }
        guard isWhole, reader.isList, !reader.hasDoctype else { return nil }
        if reader.isEncoded {
            for index in reader.entries.indices {
                let key = reader.entries[index].key.map { $0 == "+" ? " " : $0 }
                reader.entries[index].key = PercentCoding.decode(String(key))
            }
        }
        return (reader.entries, reader.next, reader.goesOn)
    }

    /// The reader to which expat calls back within XML_Parse; `read` keeps it alive.
    private static func of(_ context: UnsafeMutableRawPointer?) -> ObjectListReader? {
        unsafe context.map { unsafe Unmanaged<ObjectListReader>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Whether keys have `%XX` for bytes that XML cannot hold, as requested by `encoding-type`.
    private var isEncoded = false

    private var isList = false
    /// Whether the answer has a document type, which no store sends: its entities could expand a short answer into a huge one.
    private var hasDoctype = false

    private func began(_ name: String) {
        if path.isEmpty { isList = name == "ListBucketResult" }
        path.append(name)
        text = []
    }

    private func ended() {
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

    private func add(_ bytes: UnsafeRawBufferPointer) {
        if !hasDoctype, text.count + bytes.count <= Self.longestText { unsafe text.append(contentsOf: bytes) }
    }
}
