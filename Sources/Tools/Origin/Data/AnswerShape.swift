import Rankings

/// Objects as the service answers them, from `shapes.json`: what varies stands there as `$name`.
enum AnswerShape {
    private static let all = JSON(PackageResources.shapes_json) ?? .null

    /// The shape of a name with values for what varies.
    static func filled(_ name: String, _ values: [String: JSONText] = [:]) -> JSONText {
        filled(all[name], values)
    }

    /// Its members alone.
    static func members(_ name: String, _ values: [String: JSONText] = [:]) -> Members {
        all[name].members.map { ($0.name, filled($0.value, values)) }
    }

    private static func filled(_ shape: JSON, _ values: [String: JSONText]) -> JSONText {
        switch shape {
        case .string(let text) where text.contains("$"):
            if let value = values[String(text.dropFirst())], text.hasPrefix("$") { return value }
            return .text(
                values.reduce(text) { text, value in
                    guard case .text(let part) = value.value else { return text }
                    return text.replacing("$\(value.key)", with: part)
                })
        case .array(let elements): return .list(elements.map { filled($0, values) })
        case .object(let members): return .object(members.map { ($0.name, filled($0.value, values)) })
        default: return JSONText(shape)
        }
    }
}
