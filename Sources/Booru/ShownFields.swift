package import Rankings
import Sourcing

extension JSON {
    /// A value that may be shown as it is: a number, flag, or text of a sane length; null for anything else.
    package var plain: JSON {
        switch self {
        case .string: words.map { .string($0) } ?? .null
        case .integer, .real, .bool: self
        case .null, .array, .object: .null
        }
    }
}

extension [(name: String, value: JSON)] {
    /// Those that tell something, as members of an object.
    package var shown: [JSON.Member] {
        filter { !$0.value.isNull && $0.value != .array([]) && $0.value != .object([]) }
            .map { JSON.Member(name: $0.name, value: $0.value) }
    }
}
