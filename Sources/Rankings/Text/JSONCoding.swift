/// A value that machines share as JSON.
package protocol JSONCoded: Sendable {
    /// Decodes a value; nil for JSON of another kind.
    init?(coded json: JSON)
    /// The value as JSON; null for none.
    var coded: JSON { get }
}

/// An object with members that are listed once, for both directions.
package protocol JSONRecord: JSONCoded {
    /// A record of which decoding sets every member.
    static var blank: Self { get }
    /// The members, in the order of their names.
    static var members: [JSONField<Self>] { get }
}

/// A member of a record; one without a value is left out.
package struct JSONField<Record: Sendable>: Sendable {
    package let name: String
    fileprivate let value: @Sendable (Record) -> JSON
    fileprivate let set: @Sendable (inout Record, JSON) -> Bool

    /// Makes the field of a property.
    package init<Value: JSONCoded>(_ name: String, _ property: any WritableKeyPath<Record, Value> & Sendable) {
        self.name = name
        value = { $0[keyPath: property].coded }
        set = { record, json in
            guard let value = Value(coded: json) else { return false }
            record[keyPath: property] = value
            return true
        }
    }
}

extension JSONRecord {
    package init?(coded json: JSON) {
        guard case .object = json else { return nil }
        var record = Self.blank
        for field in Self.members { guard field.set(&record, json[field.name]) else { return nil } }
        self = record
    }

    package var coded: JSON {
        .members(
            Self.members.map { field in
                let value = field.value(self)
                return (field.name, value.isNull ? nil : value)
            })
    }
}

// MARK: - Values

extension JSON: JSONCoded {
    package init?(coded json: JSON) { self = json }
    package var coded: JSON { self }

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
}

extension JSON.Member: JSONCoded {
    package init?(coded json: JSON) {
        guard let name = String(coded: json["name"]), json.members.contains(where: { $0.name == "value" }) else {
            return nil
        }
        self.init(name: name, value: json["value"])
    }

    package var coded: JSON { .members([("name", .string(name)), ("value", value)]) }
}

extension Bool: JSONCoded {
    package init?(coded json: JSON) {
        guard case .bool(let value) = json else { return nil }
        self = value
    }

    package var coded: JSON { .bool(self) }
}

extension String: JSONCoded {
    package init?(coded json: JSON) {
        guard case .string(let value) = json else { return nil }
        self = value
    }

    package var coded: JSON { .string(self) }
}

extension Int64: JSONCoded {
    package init?(coded json: JSON) {
        if case .string = json { return nil }
        guard let number = json.number else { return nil }
        self = number
    }

    package var coded: JSON { .integer(self) }
}

extension Int: JSONCoded {
    package init?(coded json: JSON) {
        guard let number = Int64(coded: json) else { return nil }
        self.init(exactly: number)
    }

    package var coded: JSON { .integer(Int64(self)) }
}

extension JSONCoded where Self: RawRepresentable, RawValue: JSONCoded {
    package init?(coded json: JSON) {
        guard let value = RawValue(coded: json) else { return nil }
        self.init(rawValue: value)
    }

    package var coded: JSON { rawValue.coded }
}

extension Optional: JSONCoded where Wrapped: JSONCoded {
    package init?(coded json: JSON) {
        let value = Wrapped(coded: json)
        guard value != nil || json.isNull else { return nil }
        self = value
    }

    package var coded: JSON { self?.coded ?? .null }
}

extension Array: JSONCoded where Element: JSONCoded {
    package init?(coded json: JSON) {
        let elements = json.elements.compactMap(Element.init(coded:))
        guard case .array(let all) = json, elements.count == all.count else { return nil }
        self = elements
    }

    package var coded: JSON { .array(map(\.coded)) }
}
