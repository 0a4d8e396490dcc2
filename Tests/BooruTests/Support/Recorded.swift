import Foundation
import Rankings
import Testing

/// A recorded answer, as this package and as Foundation reads it: two readers that share no code judge each other.
struct Recorded {
    let name: String
    let json: JSON
    /// The posts, in order; empty for an error.
    let posts: [[String: Any]]
    /// The same posts as read here.
    let records: [JSON]

    init(_ path: String) throws {
        name = path
        let url = try #require(Bundle.module.url(forResource: "Payloads/\(path)", withExtension: "json"))
        let data = try Data(contentsOf: url)
        json = try JSONReader.read(Array(data))
        let root = try JSONSerialization.jsonObject(with: data)
        if let list = root as? [[String: Any]] {
            (posts, records) = (list, json.elements)
        } else if let list = (root as? [String: Any])?["posts"] as? [[String: Any]] {
            (posts, records) = (list, json["posts"].elements)
        } else if let post = root as? [String: Any], post["id"] != nil {
            (posts, records) = ([post], [json])
        } else {
            (posts, records) = ([], [])
        }
    }

    static func all(_ folder: String) throws -> [Recorded] {
        let url = try #require(Bundle.module.url(forResource: "Payloads/\(folder)", withExtension: nil))
        let files = try FileManager.default.contentsOfDirectory(atPath: url.path)
        return try files.sorted().map { try Recorded("\(folder)/\($0.replacingOccurrences(of: ".json", with: ""))") }
    }
}

extension [String: Any] {
    func text(_ name: String) -> String? { self[name] as? String }

    func int(_ name: String) -> Int? { self[name] as? Int }

    func object(_ name: String) -> [String: Any]? { self[name] as? [String: Any] }
}

/// Unix seconds of a text, found by Foundation.
func moment(_ text: String?) throws -> Int64 {
    let format = ISO8601DateFormatter()
    format.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
    return Int64(try #require(text.flatMap(format.date)).timeIntervalSince1970.rounded(.down))
}
