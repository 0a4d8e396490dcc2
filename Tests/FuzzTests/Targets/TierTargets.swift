import HTTP
import Rankings

@testable import Tier
@testable import Pixiv

/// What lies on an object store, which others write to.
extension FuzzTarget {
    static let tier: [FuzzTarget] = [
        FuzzTarget(name: "document", longest: 8192, seeds: []) { bytes in
            guard let parts = DocumentText.read("d", of: bytes).parts else { return }
            for part in parts.values {
                try hold(!part.line.utf8.contains(UInt8(ascii: "\n")), "a part has two lines")
                if let number = part.number { try hold(number.magnitude <= 1 << 50, "\(number) is not bounded") }
                try holdPage(part.value)
            }
            let written = DocumentText.bytes("d", parts)
            guard let again = DocumentText.read("d", of: written).parts else {
                throw BrokenProperty(description: "a document cannot be read again")
            }
            try hold(again.mapValues(\.line) == parts.mapValues(\.line), "parts are lost, or changed, by writing")
            try hold(again.mapValues(\.asked) == parts.mapValues(\.asked), "parts are of another time when written")
            try hold(DocumentText.bytes("d", again) == written, "a document has two texts")
        },
        FuzzTarget(name: "objects", longest: 8192, seeds: []) { bytes in
            let error = Failure(status: 400 + Int(bytes.first ?? 0), body: bytes).cause
            try hold(error.utf8.count < 200, "an error is too long: \(error)")
            try hold(error.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "an error breaks its line: \(error)")
            guard let answer = ObjectListReader.read(bytes) else { return }
            let text = String(decoding: bytes, as: UTF8.self)
            try hold(answer.entries.count <= text.utf8.count / 10, "objects were invented")
            try hold(answer.next != "", "the end is another part")
            guard let address = BucketAddress("s3://pool/p") else { return }
            let place = StorePlace(address, origin: "http://store", region: nil)
            for (name, size, _) in answer.entries {
                try hold(size >= 0, "a size is negative")
                guard let key = place.key(listed: name) else { continue }
                try hold(name == "p/\(key.text)", "\(name) has another name here")
                try hold(place.url(of: key) == "http://store/pool/\(name)", "\(name) is asked for elsewhere")
            }
            let next = place.listURL(beginning: nil, after: answer.next)
            try hold(next.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x23 }, "\(next) is no address")
        },
    ]

    /// What another machine says was a page of a ranking is one that nothing trips over.
    private static func holdPage(_ value: JSON) throws {
        guard let record = PageAnswer(coded: value)?.page else { return }
        let page = record.bounded(on: Day(ordinal: 738_000))
        try hold(page.entries.count == record.entries.count, "entries were lost or invented")
        try hold(page.unreadable >= 0 && (page.total ?? 0) >= 0, "a count is negative")
        for entry in page.entries {
            try hold((entry.rank ?? 1) > 0 && (entry.previousRank ?? 1) > 0, "a rank is not positive")
            try hold((0...1_000_000).contains(entry.work.width), "a width is out of bounds")
            try hold((0...1_000_000).contains(entry.work.height), "a height is out of bounds")
            try hold((0...10_000).contains(entry.work.pageCount), "a count of pages is out of bounds")
            try holdName(FileName.ranked(entry.rank ?? 1, title: entry.work.title, fileExtension: "jpg"))
            try holdName(FileName.author(entry.work.author, name: entry.work.authorName))
            if let path = PicturePath(reference: entry.work.picture) { try holdPath(path, page: 0) }
        }
    }
}
