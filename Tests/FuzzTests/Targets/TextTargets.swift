import Rankings
import Sourcing

@testable import Pixiv
@testable import RankFS

/// The words of strangers, and names that somebody looks up.
extension FuzzTarget {
    static let words: [FuzzTarget] = [
        FuzzTarget(name: "title", longest: 2048, seeds: []) { bytes in
            let title = String(decoding: bytes, as: UTF8.self)
            let name = FileName.ranked(7, title: title, fileExtension: "jpg")
            try holdName(name)
            let (begin, end) = (Array(name.utf8.prefix(4)), Array(name.utf8.suffix(4)))
            try hold(
                begin == Array("007-".utf8) && end == Array(".jpg".utf8), "\(name) has lost its rank or its ending")
            try hold(
                EntryName.pictureNumber(Array(name.utf8), leastDigits: 3, extensions: ["jpg", "png", "gif"]) == 7,
                "\(name) cannot be looked up")
            let stem = String(decoding: name.utf8.dropFirst(4).dropLast(4), as: UTF8.self)
            try hold(
                Array(FileName.ranked(7, title: stem, fileExtension: "jpg").utf8) == Array(name.utf8),
                "\(name) made once more is another name")
            try holdName(FileName.work(WorkID(rawValue: .max), title: title, fileExtension: "jpg"))
            try holdName(FileName.author(UserID(rawValue: .max), name: title))
            try holdName(FileName.ranked(.max, title: title, fileExtension: "jpg"))
        },
        FuzzTarget(name: "caption", longest: 8192, seeds: ["PixivTests/Payloads/ajax-illust"]) { bytes in
            let html = String(decoding: bytes, as: UTF8.self)
            for text in [PlainText.fromHTML(html), PlainText.lines(html)] {
                try hold(
                    text.unicodeScalars.allSatisfy {
                        $0 == "\n" || $0 == "\t" || $0.properties.generalCategory != .control
                    }, "a control character is left")
            }
            // A link repeats its target behind its text, and one letter (`/`) may stand for the service's address.
            let lines = PlainText.lines(html).unicodeScalars.count
            try hold(lines <= html.unicodeScalars.count, "text was invented")
            try hold(PercentCoding.decode(PercentCoding.encode(html)) == html, "percent-encoding loses something")
        },
        FuzzTarget(name: "name", longest: 512, seeds: []) { bytes in
            if let number = EntryName.pictureNumber(bytes, leastDigits: 3, extensions: ["jpg", "png", "gif"]) {
                try hold(number >= 0, "a negative number")
            }
            if let number = EntryName.number(bytes) {
                try hold(Array(String(number).utf8) == bytes, "an author has two names")
            }
            if let words = EntryName.searchWords(bytes) {
                try hold(Array(words.utf8) == bytes && words.utf8.count <= 200, "words that are not the name")
            }
            _ = EntryName.mayBeInWork(bytes, extensions: ["jpg", "png", "gif"])
            _ = EntryName.authorName(bytes)
            _ = SharedThumbnailsDirectory.isName(bytes)
            let text = String(decoding: bytes, as: UTF8.self)
            let query = SearchQuery(text)
            try hold(SearchQuery(query.text) == query, "a search is another one under its own key")
            if let day = Day(text) { try hold(day.description == text, "a day has two names") }
            if let day = Day(compact: text) { try hold(day.compact == text, "a day has two compact names") }
            if let seconds = Timestamp.seconds(text) {
                try hold(Timestamp.text(seconds).flatMap { Timestamp.seconds($0) } == seconds, "a moment moves")
            }
            for identity in [text, "\(text)/\(text)"] {
                let number = InodeNumber.of(identity)
                try hold(number >= InodeNumber.smallest && number != .max, "an inode number that is not to be used")
            }
        },
    ]

    /// What every file name promises.
    static func holdName(_ name: String) throws {
        let bytes = Array(name.utf8)
        try hold((1...FileName.longest).contains(bytes.count), "\(name) has \(bytes.count) bytes")
        try hold(!bytes.contains { $0 < 0x20 || $0 == 0x7F }, "\(name) has a control character")
        try hold(!bytes.contains { "/\\:*?\"<>|".utf8.contains($0) }, "\(name) has a character that is refused")
        try hold(String(validating: bytes, as: UTF8.self) != nil, "\(name) is no UTF-8")
        try hold(bytes.last != UInt8(ascii: ".") && bytes.last != UInt8(ascii: " "), "\(name) has a bad end")
    }
}
