extension JSON {
    /// The encoded form of a value, with sorted names: numbers, texts, truth values, lists, and objects with names.
    ///
    /// - Throws: `EncodingError` for anything else: a number beyond `Int64`, or a superclass.
    package init(encoding value: some Encodable) throws {
        let node = Node()
        try node.fill(with: value)
        self = node.value
    }
}

/// A value under construction; shared, because containers are handed out before they are filled.
private final class Node {
    private var scalar = JSON.null
    private var elements: [Node]?
    private var members: [(name: String, node: Node)]?

    /// The value encoded so far.
    var value: JSON {
        if let elements { return .array(elements.map(\.value)) }
        guard let members else { return scalar }
        return .object(members.sorted { $0.name < $1.name }.map { JSON.Member(name: $0.name, value: $0.node.value) })
    }

    func becomeList() { if elements == nil { elements = [] } }

    func becomeObject() { if members == nil { members = [] } }

    /// Appends a new element to this list.
    func element() -> Node {
        let node = Node()
        elements?.append(node)
        return node
    }

    var count: Int { elements?.count ?? 0 }

    /// Appends a new member to this object.
    func member(_ name: String) -> Node {
        let node = Node()
        members?.append((name, node))
        return node
    }

    func fill(with value: some Encodable, path: [any CodingKey] = []) throws {
        switch value {
        case let value as Bool: scalar = .bool(value)
        case let value as String: scalar = .string(value)
        case .array(let elements) as JSON:
            becomeList()
            for value in elements { try element().fill(with: value) }
        case .object(let members) as JSON:
            becomeObject()
            for entry in members { try member(entry.name).fill(with: entry.value) }
        case let value as JSON: scalar = value
        case let value as any BinaryFloatingPoint: scalar = .real(Double(value))
        case let value as any BinaryInteger:
            guard let number = Int64(exactly: value) else {
                throw EncodingError.invalidValue(value, .init(codingPath: path, debugDescription: "beyond 64 bits"))
            }
            scalar = .integer(number)
        default: try value.encode(to: NodeEncoder(node: self, codingPath: path))
        }
    }
}

private struct NodeEncoder: Encoder, SingleValueEncodingContainer {
    let node: Node
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        node.becomeObject()
        return KeyedEncodingContainer(Members<Key>(node: node, codingPath: codingPath))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        node.becomeList()
        return Elements(node: node, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    func encodeNil() {}

    // Serves every type that the protocol lists.
    func encode<Value: Encodable>(_ value: Value) throws { try node.fill(with: value, path: codingPath) }
}

private struct Members<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let node: Node
    let codingPath: [any CodingKey]

    func encodeNil(forKey key: Key) { _ = node.member(key.stringValue) }

    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        try node.member(key.stringValue).fill(with: value, path: codingPath + [key])
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> { encoder(key).container(keyedBy: type) }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { encoder(key).unkeyedContainer() }

    func superEncoder() -> any Encoder {
        NodeEncoder(node: node.member("super"), codingPath: codingPath)
    }

    func superEncoder(forKey key: Key) -> any Encoder { encoder(key) }

    private func encoder(_ key: Key) -> NodeEncoder {
        NodeEncoder(node: node.member(key.stringValue), codingPath: codingPath + [key])
    }
}

private struct Elements: UnkeyedEncodingContainer {
    let node: Node
    let codingPath: [any CodingKey]
    var count: Int { node.count }

    func encodeNil() { _ = node.element() }

    func encode<Value: Encodable>(_ value: Value) throws {
        try node.element().fill(with: value, path: codingPath)
    }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        superEncoder().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { superEncoder().unkeyedContainer() }

    func superEncoder() -> any Encoder {
        NodeEncoder(node: node.element(), codingPath: codingPath)
    }
}

extension JSON: Encodable {
    /// Encodes the value as a text: only encoders of other formats call this.
    package func encode(to encoder: any Encoder) throws { try line.encode(to: encoder) }
}
