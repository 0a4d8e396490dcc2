import FoundationEssentials

/// JSON of a process that may be anybody's, with every number within bounds: no sum, product or date overflows with them.
enum BoundedJSON: Codable {
    case null
    case bool(Bool)
    case integer(Int64)
    case real(Double)
    case text(String)
    case list([BoundedJSON])
    case object([String: BoundedJSON])

    /// A petabyte, or the seconds of 35 million years: thousands of these fit into 64 bits.
    private static let most: Int64 = 1 << 50

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(min(max(value, -Self.most), Self.most))
        } else if let value = try? container.decode(Double.self) {
            self = .real(min(max(value, -Double(Self.most)), Double(Self.most)))
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode([BoundedJSON].self) {
            self = .list(value)
        } else {
            self = .object(try container.decode([String: BoundedJSON].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .real(let value): try container.encode(value)
        case .text(let value): try container.encode(value)
        case .list(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}
