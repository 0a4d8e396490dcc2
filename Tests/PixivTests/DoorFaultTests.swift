import Foundation
import Rankings
import TestSupport
import Testing

@testable import Pixiv

@Suite("Answers that fail, over each door")
struct DoorFaultTests {
    private static let page = "<html><body>Please wait</body></html>"
    private static let refusal = #"{"error":true,"message":"不正なリクエストです。","body":[]}"#

    /// Answers that are no list and no word of the service that there is none.
    private static let faults: [(status: Int, body: String)] =
        [400, 401, 403, 404, 410, 418, 429, 451, 500, 502, 503].map { ($0, page) }
        + [400, 401, 403, 410, 418, 429, 500, 503].map { ($0, refusal) }
        + [400, 401, 403, 410, 429, 503].map { ($0, "") }
        + [
            "", page, "null", "5", "\"x\"", "[]", "{}", "[[]]", refusal, "{\"error\":true}", "{\"body\":null}",
            "{\"error\":true,\"message\":\"\",\"body\":[]}",
        ].map { (200, $0) }
        + ["null", "\"x\"", "\"\"", "0", "5", "true", "{}", "[null]", "[5]", "[\"x\"]", "[{}]", "[[]]", "{\"x\":[]}"]
        .map {
            (200, "{\"error\":false,\"message\":\"\",\"body\":\($0)}")
        }

    @Test("is never an empty directory, never the end, and never gone", arguments: Door.all)
    func failed(door: Door) async throws {
        let good = try Door.envelope(door.body())
        let cut = [good.count / 2, good.count - 1].map { (200, String(good.prefix($0))) }
        for (status, body) in Self.faults + cut {
            for page in [1, 2] {
                guard case .failure(let error) = await door.open(body, status: status, page: page) else {
                    Issue.record("\(status) \(body.prefix(60)) is page \(page)")
                    continue
                }
                #expect(!saysThatThereIsNone(error), "\(status) \(body.prefix(60)), page \(page): \(error)")
            }
        }
    }

    @Test("only the service's own word is that there is none", arguments: Door.all)
    func gone(door: Door) async throws {
        let words = #"{"error":true,"message":"","body":[]}"#
        #expect(await door.open(words, status: 404) == .failure(.notFound))
        guard case .success(let page) = await door.open(try Door.envelope(door.body())) else {
            Issue.record("the recorded answer is none")
            return
        }
        #expect(page.showsSomething && page.unreadable == 0)
    }

    /// The names that decoders read on the way to works, and of these what they cannot do without.
    private static let read: Set<String> = [
        "page", "series", "ids", "isLastPage", "thumbnails", "illust", "illusts", "nextIds", "data", "detail", "tiles",
        "works", "total", "public", "illustManga", "manga", "lastPage", "users", "id", "url", "workId", "order", "type",
        "tag", "period", "userId", "isAdContainer",
    ]

    /// The value without what no decoder needs, but with the numbers that are names.
    private static func pruned(_ value: Any) -> Any? {
        switch value {
        case let object as [String: Any]:
            object.filter { read.contains($0.key) || Int($0.key) != nil }.prefix(20).reduce(into: [String: Any]()) {
                $0[$1.key] = pruned($1.value)
            }
        case let list as [Any]: list.prefix(2).compactMap(pruned)
        default: value
        }
    }

    private static let replacements = [
        "null", "[]", "{}", "\"\"", "\"x\"", "0", "false", "[null]", "[{}]", "{\"x\":{}}",
    ]

    @Test("with a part of another form is something or an error", arguments: Door.all)
    func otherForms(door: Door) async throws {
        let body = try #require(try Self.pruned(door.body()))
        for path in Self.paths(in: body) {
            for json in Self.replacements + [""] {
                let isEmptied = json == "[]" && door.lists.contains(path.joined(separator: "."))
                if isEmptied || json.isEmpty && path.last == "*" { continue }
                let value =
                    json.isEmpty
                    ? nil : try JSONSerialization.jsonObject(with: Data(json.utf8), options: .fragmentsAllowed)
                guard let changed = Self.changed(body, path[...], to: value) else { continue }
                let name: Comment = "\(path.joined(separator: ".")) is \(json.isEmpty ? "missing" : json)"
                switch await door.open(try Door.envelope(changed)) {
                case .success(let page):
                    // All works of a page may be withheld, which says nothing about the next one.
                    let isWithheld = page.hasNext && path.starts(with: ["thumbnails", "illust"])
                    #expect(page.showsSomething || isWithheld, name)
                case .failure(let error): #expect(!saysThatThereIsNone(error), "\(name): \(error)")
                }
            }
        }
    }

    /// The paths to all parts of a value; `*` stands for all elements of a list at once.
    private static func paths(in value: Any) -> [[String]] {
        var found: [[String]] = [[]]
        if let object = value as? [String: Any] {
            for (name, inner) in object.sorted(by: { $0.key < $1.key }) {
                found += paths(in: inner).map { [name] + $0 }
            }
        } else if let first = (value as? [Any])?.first {
            found += paths(in: first).map { ["*"] + $0 }
        }
        return found
    }

    /// The value with another one at a path, or with none for nil.
    private static func changed(_ value: Any, _ path: ArraySlice<String>, to new: Any?) -> Any? {
        guard let name = path.first else { return new }
        if let list = value as? [Any] { return list.compactMap { changed($0, path.dropFirst(), to: new) } }
        guard var object = value as? [String: Any] else { return value }
        object[name] = object[name].flatMap { changed($0, path.dropFirst(), to: new) }
        return object
    }

    @Test("spelt otherwise is the same list", arguments: Door.all)
    func otherSpellings(door: Door) async throws {
        let body = try door.body()
        let page = try await door.open(Door.envelope(body)).get()
        let spellings: [(String, (Any) -> Any)] = [
            ("numbers as texts", { ($0 as? Int).map { String($0) } ?? $0 }),
            (
                "texts of digits as numbers",
                { ($0 as? String).flatMap { text in Int(text).flatMap { "\($0)" == text ? $0 : nil } } ?? $0 }
            ),
            ("new fields", { ($0 as? [String: Any])?.merging(["new": ["a": []], "": 1]) { old, _ in old } ?? $0 }),
            ("[] for {}", { ($0 as? [String: Any])?.isEmpty == true ? [Any]() : $0 }),
            ("null for empty", { ($0 as? String)?.isEmpty == true ? NSNull() : $0 }),
        ]
        for (name, spelling) in spellings {
            let told = try await door.open(Door.envelope(Self.spelt(body, spelling))).get()
            #expect(told == page, "\(name)")
        }
    }

    private static func spelt(_ value: Any, _ change: (Any) -> Any) -> Any {
        switch value {
        case let object as [String: Any]: change(object.mapValues { spelt($0, change) })
        case let list as [Any]: change(list.map { spelt($0, change) })
        // Foundation takes truth values for numbers.
        case let number as NSNumber where String(cString: number.objCType) == "c": value
        default: change(value)
        }
    }
}
