/// A value to bind to a parameter of a statement.
package enum SQLValue: Hashable, Sendable {
    case null
    case integer(Int64)
    case text(String)
    case blob([UInt8])

    /// An integer, or null for nil.
    package static func optional(_ value: Int64?) -> SQLValue {
        value.map(SQLValue.integer) ?? .null
    }

    /// A text, or null for nil.
    package static func optional(_ value: String?) -> SQLValue {
        value.map(SQLValue.text) ?? .null
    }

    /// An integer of the machine's width.
    package static func integer(_ value: Int) -> SQLValue {
        .integer(Int64(value))
    }

    /// 1 or 0.
    package static func flag(_ value: Bool) -> SQLValue {
        .integer(value ? Int64(1) : 0)
    }
}

extension SQLValue: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral, ExpressibleByNilLiteral {
    package init(integerLiteral value: Int64) {
        self = .integer(value)
    }

    package init(stringLiteral value: String) {
        self = .text(value)
    }

    package init(nilLiteral: ()) {
        self = .null
    }
}
