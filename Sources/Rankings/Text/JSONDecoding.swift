extension JSON {
    /// A petabyte in bytes, or the seconds of 35 million years: thousands of such numbers fit into 64 bits.
    private static let most: Int64 = 1 << 50

    /// The value with every number within bounds, so that no sum, product or date overflows.
    package var bounded: JSON {
        switch self {
        case .integer(let value): .integer(min(max(value, -Self.most), Self.most))
        case .real(let value): .real(min(max(value, -Double(Self.most)), Double(Self.most)))
        case .array(let elements): .array(elements.map(\.bounded))
        case .object(let members): .object(members.map { Member(name: $0.name, value: $0.value.bounded) })
        case .null, .bool, .string: self
        }
    }

    /// The value decoded as a type, with member names as declared.
    ///
    /// - Throws: `DecodingError` where a value is missing or of another kind.
    package func decoded<Value: Decodable>(as type: Value.Type) throws -> Value {
        try ValueDecoder(json: self, codingPath: []).decode(type)
    }

    /// The first member with a name, even if null; nil in anything but an object that has one.
    fileprivate func member(_ name: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }
}

/// Types that correspond to a single JSON value.
private protocol JSONScalar {
    init?(_ json: JSON)
}

extension Bool: JSONScalar {
    fileprivate init?(_ json: JSON) {
        guard case .bool(let value) = json else { return nil }
        self = value
    }
}

extension String: JSONScalar {
    fileprivate init?(_ json: JSON) {
        guard case .string(let value) = json else { return nil }
        self = value
    }
}

extension Double: JSONScalar {
    fileprivate init?(_ json: JSON) {
        switch json {
        case .integer(let value): self = Double(value)
        case .real(let value): self = value
        default: return nil
        }
    }
}

extension JSONScalar where Self: FixedWidthInteger {
    fileprivate init?(_ json: JSON) {
        switch json {
        case .integer(let value): self.init(exactly: value)
        case .real(let value): self.init(exactly: value)
        default: return nil
        }
    }
}

extension Float: JSONScalar {
    fileprivate init?(_ json: JSON) {
        guard let value = Double(json) else { return nil }
        self = Float(value)
    }
}

extension Int: JSONScalar {}
extension Int8: JSONScalar {}
extension Int16: JSONScalar {}
extension Int32: JSONScalar {}
extension Int64: JSONScalar {}
extension UInt: JSONScalar {}
extension UInt8: JSONScalar {}
extension UInt16: JSONScalar {}
extension UInt32: JSONScalar {}
extension UInt64: JSONScalar {}

extension JSON: JSONScalar {
    fileprivate init?(_ json: JSON) { self = json }
}

extension JSON: Decodable {
    /// Parses a text: only decoders of other formats call this.
    package init(from decoder: any Decoder) throws { self = try JSONReader.read(Array(String(from: decoder).utf8)) }
}

private struct ValueDecoder: Decoder, SingleValueDecodingContainer {
    let json: JSON
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object = json else { throw mismatch(type, "an object") }
        return KeyedDecodingContainer(MemberDecoder<Key>(decoder: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let elements) = json else { throw mismatch([Any].self, "a list") }
        return ElementDecoder(elements: elements, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    func decodeNil() -> Bool { json.isNull }

    // Serves every type that the protocol lists, as do the methods below.
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        guard let scalar = type as? any JSONScalar.Type else { return try Value(from: self) }
        guard let value = scalar.init(json) as? Value else { throw mismatch(type, "\(type)") }
        return value
    }

    fileprivate func mismatch(_ type: Any.Type, _ wanted: String) -> DecodingError {
        .typeMismatch(type, .init(codingPath: codingPath, debugDescription: "\(wanted) was expected"))
    }
}

private struct MemberDecoder<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: ValueDecoder
    var codingPath: [any CodingKey] { decoder.codingPath }
    var allKeys: [Key] { decoder.json.members.compactMap { Key(stringValue: $0.name) } }

    func contains(_ key: Key) -> Bool { find(key) != nil }

    func decodeNil(forKey key: Key) throws -> Bool { try value(key).isNull }

    // Faster paths for most members: the generic method searches for each name three times and examines the kind of the type.

    func decode(_ type: String.Type, forKey key: Key) throws -> String { try scalar(key) }
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try scalar(key) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try scalar(key) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try scalar(key) }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? { try optional(key) }
    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try optional(key) }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try optional(key) }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try optional(key) }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try member(key).decode(type)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> { try member(key).container(keyedBy: type) }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try member(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { decoder }

    func superDecoder(forKey key: Key) throws -> any Decoder { try member(key) }

    private func find(_ key: Key) -> JSON? { decoder.json.member(key.stringValue) }

    private func value(_ key: Key) throws -> JSON {
        guard let value = find(key) else {
            throw DecodingError.keyNotFound(key, .init(codingPath: codingPath, debugDescription: "it is missing"))
        }
        return value
    }

    private func member(_ key: Key) throws -> ValueDecoder {
        ValueDecoder(json: try value(key), codingPath: codingPath + [key])
    }

    private func scalar<Scalar: JSONScalar>(_ key: Key) throws -> Scalar {
        guard let scalar = Scalar(try value(key)) else { throw try member(key).mismatch(Scalar.self, "\(Scalar.self)") }
        return scalar
    }

    private func optional<Scalar: JSONScalar>(_ key: Key) throws -> Scalar? {
        guard let value = find(key), !value.isNull else { return nil }
        return try scalar(key)
    }
}

private struct ElementDecoder: UnkeyedDecodingContainer {
    let elements: [JSON]
    let codingPath: [any CodingKey]
    private(set) var currentIndex = 0
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    mutating func decodeNil() throws -> Bool {
        let isNull = try element().decodeNil()
        if isNull { currentIndex += 1 }
        return isNull
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let value = try element().decode(type)
        currentIndex += 1
        return value
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> { try next().container(keyedBy: type) }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { try next().unkeyedContainer() }

    mutating func superDecoder() throws -> any Decoder { try next() }

    private mutating func next() throws -> ValueDecoder {
        defer { currentIndex += 1 }
        return try element()
    }

    private func element() throws -> ValueDecoder {
        guard !isAtEnd else {
            throw DecodingError.valueNotFound(
                JSON.self, .init(codingPath: codingPath, debugDescription: "the list is too short"))
        }
        return ValueDecoder(json: elements[currentIndex], codingPath: codingPath)
    }
}
