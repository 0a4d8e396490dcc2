import Foundation
import Pixiv
import Rankings
import Testing

/// A recorded answer, as bytes and as Foundation reads it: two readers that share no code judge each other.
struct Payload {
    let bytes: [UInt8]
    /// As read by `JSONSerialization`.
    let root: [String: Any]

    init(_ path: String) throws {
        let url = try #require(Bundle.module.url(forResource: "Payloads/\(path)", withExtension: "json"))
        let data = try Data(contentsOf: url)
        bytes = Array(data)
        root = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    var json: JSON { get throws { try JSONReader.read(bytes) } }

    /// How often a text occurs in the bytes.
    func count(_ text: String) -> Int {
        String(decoding: bytes, as: UTF8.self).components(separatedBy: text).count - 1
    }

    static let daily = "web-ranking/CWHer-PixivCrawler-daily-all-20220501-p1"
    static let loggedIn = "web-ranking/LamGC-ContentGrabbingJi-daily-20200601-p2-one-entry-logged-in"

    static var all: [String] {
        get throws {
            let folder = try #require(Bundle.module.url(forResource: "Payloads", withExtension: nil))
            let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
            return files.filter { $0.hasSuffix(".json") }.map { String($0.dropLast(5)) }.sorted()
        }
    }
}

/// Bytes of a value that Foundation writes.
func bytes(_ object: Any) throws -> [UInt8] {
    Array(try JSONSerialization.data(withJSONObject: object, options: [.fragmentsAllowed]))
}

extension [String: Any] {
    /// What Foundation read at a path of names.
    func at(_ path: String...) -> Any? {
        path.reduce(self as Any?) { value, name in (value as? [String: Any])?[name] }
    }

    func text(_ name: String) -> String? { self[name] as? String }

    func int(_ name: String) -> Int? { (self[name] as? Int) ?? (self[name] as? String).flatMap { Int($0) } }
}

/// Seconds of the time in a picture's URL, found with Foundation's calendar.
func pathTime(_ url: String) throws -> Int64 {
    let parts = url.components(separatedBy: "/img/")[1].components(separatedBy: "/")
    let format = DateFormatter()
    format.locale = Locale(identifier: "en_US_POSIX")
    format.timeZone = TimeZone(identifier: "Asia/Tokyo")
    format.dateFormat = "yyyy/MM/dd/HH/mm/ss"
    return Int64(try #require(format.date(from: parts.prefix(6).joined(separator: "/"))).timeIntervalSince1970)
}

/// The compact part of a picture's URL, cut out as text.
func reference(_ url: String) -> String {
    url.components(separatedBy: "/img/")[1]
        .replacingOccurrences(of: "_(master|square|custom)1200\\.jpg$", with: "", options: .regularExpression)
}
