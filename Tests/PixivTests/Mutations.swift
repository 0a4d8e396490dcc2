import Foundation
import Rankings
import Testing

/// What a field may turn into; values that JSON writers produce, and some that only a slip does.
let replacements: [(name: String, json: String)] = [
    ("null", "null"), ("false", "false"), ("true", "true"), ("[]", "[]"), ("{}", "{}"), ("\"\"", "\"\""), ("0", "0"),
    ("-1", "-1"),
    ("text", "\"x\""), ("number as text", "\"12345678901234567890\""), ("largest", "9223372036854775807"),
    ("overflow", "1e400"), ("fraction", "0.5"), ("NaN", "NaN"), ("surrogate", "\"\\ud800\""),
    ("nested", "[[[[{\"a\":[]}]]]]"),
    ("placeholder", "\"https://s.pximg.net/common/images/limit_unviewable_s.png\""),
    ("huge text", "\"" + String(repeating: "あ", count: 25_000) + "\""), ("control", "\"\\u0000\\u202e/../\""),
    ("long list", "[" + String(repeating: "1,", count: 200) + "1]"),
]

/// JSON of an object with one member replaced, or left out for nil.
func mutated(_ object: [String: Any], _ field: String, _ json: String?) throws -> String {
    let members = try object.sorted { $0.key < $1.key }.compactMap { name, value -> String? in
        let text = name == field ? json : String(decoding: try bytes(value), as: UTF8.self)
        return text.map { "\"\(name)\":\($0)" }
    }
    return "{\(members.joined(separator: ","))}"
}

/// Checks that nothing of a work goes beyond what its readers expect.
func expectBounded(_ works: [Work], _ place: Comment) {
    for work in works {
        #expect(work.id.rawValue > 0 && work.author.rawValue >= 0, place)
        #expect(work.title.utf8.count <= 4096 && work.authorName.utf8.count <= 4096, place)
        #expect(work.tags.count <= 64 && (0...1_000_000).contains(work.width), place)
        #expect((0...1_000_000).contains(work.height) && (1...1000).contains(work.pageCount), place)
        #expect((work.views ?? 0) >= 0 && (work.ratings ?? 0) >= 0, place)
        #expect((work.withheld == nil) != work.picture.isEmpty, place)
    }
}

/// Every field of an object gone wrong in every way, one at a time.
///
/// - Parameters:
///   - object: The object.
///   - check: Gets the JSON of the object, the field and a description of what happened to it.
/// - Throws: What `check` throws.
func eachMutation(of object: [String: Any], check: (String, String, Comment) throws -> Void) throws {
    for field in object.keys.sorted() {
        for (name, json) in replacements {
            try check(try mutated(object, field, json), field, "\(field) \(name)")
        }
        try check(try mutated(object, field, nil), field, "\(field) missing")
    }
}

/// A JSON string of ten million bytes.
let hugeText = "\"" + String(repeating: "<a&", count: 3_333_333) + "\""
