/// A JSON value without an expected type: services mix numbers with strings, and `false` or `[]` with objects.
///
/// Access to a missing value yields null, nil or nothing, never an error, so that each caller decides which values it needs.
package enum JSON: Sendable, Hashable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// Any other number, including those that no `Int64` holds.
    case real(Double)
    case string(String)
    case array([JSON])
    case object([Member])

    /// A name in an object with its value.
    package struct Member: Sendable, Hashable {
        package let name: String
        package let value: JSON

        /// A name with a value.
        package init(name: String, value: JSON) {
            self.name = name
            self.value = value
        }
    }

    /// An object of these members, in this order; those without a value are left out.
    package static func members(_ members: [(name: String, value: JSON?)]) -> JSON {
        .object(members.compactMap { member in member.value.map { Member(name: member.name, value: $0) } })
    }

    /// The first member with a name; null in anything but an object that has one.
    package subscript(name: String) -> JSON {
        guard case .object(let members) = self else { return .null }
        return members.first { $0.name == name }?.value ?? .null
    }

    /// The elements of an array; empty for anything else but an object with numbers for names.
    ///
    /// PHP writes an array with a hole as `{"0":…,"2":…}`: its values are the elements, in the order of the numbers.
    package var elements: [JSON] {
        if case .array(let elements) = self { return elements }
        let places = members.compactMap { member in Int(member.name).map { (number: $0, value: member.value) } }
        return places.count == members.count ? places.sorted { $0.number < $1.number }.map(\.value) : []
    }

    /// The members of an object; empty for anything else, including the `[]` that services send for an empty object.
    package var members: [Member] {
        if case .object(let members) = self { members } else { [] }
    }

    /// A string, or a whole number as a string.
    package var text: String? {
        switch self {
        case .string(let text): text
        case .integer(let number): String(number)
        default: nil
        }
    }

    /// A whole number, or a string that spells one.
    package var number: Int64? {
        switch self {
        case .integer(let number): number
        case .real(let number): Int64(exactly: number)
        case .string(let text): Int64(text)
        default: nil
        }
    }

    /// A truth value, also as a number or string.
    package var flag: Bool? {
        switch self {
        case .bool(let flag): flag
        case .integer(let number): number != 0
        case .string("true"), .string("1"): true
        case .string("false"), .string("0"): false
        default: nil
        }
    }

    /// Whether the value is null or missing.
    package var isNull: Bool {
        self == .null
    }

    /// A whole number within bounds; nil outside of them.
    package func number(in bounds: ClosedRange<Int64>) -> Int64? {
        number.flatMap { bounds.contains($0) ? $0 : nil }
    }
}
