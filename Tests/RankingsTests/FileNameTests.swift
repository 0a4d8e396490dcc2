import Foundation
import TestSupport
import Testing

@testable import Rankings

/// The title's part of a name.
private func stem(_ title: String) -> String {
    let name = FileName.ranked(1, title: title, fileExtension: "jpg")
    #expect(name.utf8.starts(with: "001-".utf8) && name.utf8.count <= FileName.longest)
    return String(String.UnicodeScalarView(name.unicodeScalars.dropFirst(4).dropLast(4)))
}

/// Compares bytes: `==` of strings takes two normalisations of one text for equal.
private func same(_ left: String, _ right: String) -> Bool {
    Array(left.utf8) == Array(right.utf8)
}

/// Semantics: "Names".
@Suite("FileName")
struct FileNameTests {
    @Test("rank or number, title, page and extension")
    func shape() {
        #expect(FileName.ranked(1, title: "Title", fileExtension: "jpg") == "001-Title.jpg")
        #expect(FileName.ranked(36, title: "空", fileExtension: "png") == "036-空.png")
        #expect(FileName.ranked(1000, title: "a", fileExtension: "gif") == "1000-a.gif")
        #expect(FileName.ranked(7, title: "", fileExtension: "jpg") == "007-untitled.jpg")
        #expect(
            FileName.work(WorkID(rawValue: 12_345_678), title: "Title", fileExtension: "jpg") == "12345678-Title.jpg")
        #expect(FileName.ranked(.min, title: "a", fileExtension: "jpg") == "000-a.jpg")
    }

    @Test(
        "titles become names",
        arguments: [
            ("", "untitled"), (".", "untitled"), ("..", "untitled"), ("...", "untitled"), (" . . ", "untitled"),
            ("\u{0}", "untitled"), ("\u{3000}\u{A0}\t", "untitled"), ("\u{3164}", "untitled"), ("\u{2800}", "untitled"),
            (".。o○", ".。o○"), (".hidden", ".hidden"), ("a.", "a"), ("a. .", "a"), ("  a  ", "a"), ("a b", "a b"),
            ("\u{3000}夏\u{3000}", "夏"), ("a/b", "a／b"), ("../../etc/passwd", "..／..／etc／passwd"),
            ("\\:*?\"<>|", "＼：＊？＂＜＞｜"), ("a\u{1}b\nc\u{7F}d\u{9F}e", "abcde"),
            ("l1\u{2028}l2\u{2029}", "l1l2"), ("NUL", "NUL"), ("a~b#c%d&e'f;g", "a~b#c%d&e'f;g"), ("-rf", "-rf"),
        ])
    func rules(title: String, expected: String) {
        #expect(same(stem(title), expected), "\(title.debugDescription) became \(stem(title).debugDescription)")
    }

    @Test("text that reads backwards or shows nothing goes")
    func invisible() {
        for value: UInt32 in [
            0x00AD, 0x034F, 0x061C, 0x200B, 0x200E, 0x200F, 0x202A, 0x202B, 0x202C, 0x202D, 0x202E, 0x2060, 0x2061,
            0x2064, 0x2066, 0x2067, 0x2068, 0x2069, 0x206A, 0x206F, 0xFEFF, 0xFFF9, 0xFFFB, 0xFFFE, 0xFDD0, 0xE0001,
            0xE0041, 0x1D173, 0x200C, 0x200D,
        ] {
            guard let scalar = Unicode.Scalar(value) else { continue }
            #expect(same(stem("a\(scalar)b"), "ab"), "U+\(String(value, radix: 16))")
            #expect(same(stem("\(scalar)"), "untitled"), "U+\(String(value, radix: 16))")
            #expect(same(stem("\(scalar)é\(scalar)"), "é"), "U+\(String(value, radix: 16))")
        }
        #expect(same(stem("e\u{200B}\u{301}"), "\u{E9}"), "what is joined by removing is normalised")
    }

    @Test(
        "invisible scalars stay where they change what is seen",
        arguments: [
            "👩‍👩‍👧‍👦", "👩🏽‍💻", "🏳️‍🌈", "❤️‍🔥", "🧔‍♂️", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "1️⃣", "می‌خواهم", "ශ්‍රී", "葛\u{E0100}城", "क्‍ष",
        ])
    func joined(title: String) {
        #expect(same(stem(title), title))
    }

    @Test("joiners that join nothing go")
    func idleJoiners() {
        #expect(same(stem("👩\u{200D}"), "👩"))
        #expect(same(stem("👩\u{200D}\u{200D}👦"), "👩\u{200D}👦"))
        #expect(same(stem("👩\u{200D}\u{200B}👦"), "👩👦"))
        #expect(same(stem("👩\u{200D} 👦"), "👩 👦"))
        #expect(same(stem("\u{FE0F}a\u{FE0F}\u{FE0F}"), "a\u{FE0F}"))
    }

    @Test("names are in NFC, whichever form a title has")
    func normalised() {
        #expect(same(stem("cafe\u{301}"), "caf\u{E9}"))
        #expect(same(stem("か\u{3099}き\u{3099}"), "がぎ"))
        #expect(same(stem("\u{1112}\u{1161}\u{11AB}"), "한"))
        #expect(same(stem("\u{212B}"), "\u{C5}"))
        #expect(same(stem("<\u{338}"), "\u{226E}"))
        #expect(same(stem("a\u{323}\u{307}"), stem("a\u{307}\u{323}")))
        #expect(same(stem("ｶﾞ"), "ｶﾞ"), "compatibility forms are left alone")
    }

    @Test("lone combining marks are kept and harmless")
    func loneMark() {
        #expect(same(stem("\u{301}"), "\u{301}"))
        #expect(same(stem(" \u{301}"), "\u{301}"))
    }

    @Test("long titles are cut between characters, to at most 200 bytes with prefix and extension")
    func cut() {
        for (character, bytes) in [("a", 1), ("é", 2), ("あ", 3), ("😀", 4), ("👩‍👩‍👧‍👦", 25), ("🇯🇵", 8), ("e\u{332}", 3)] {
            let title = String(repeating: character, count: 300)
            for rank in [1, 999, 1000, 123_456] {
                let name = FileName.ranked(rank, title: title, fileExtension: "jpg")
                let room = 200 - max(3, String(rank).count) - 1 - 4 - 5
                let expected = String(repeating: character, count: room / bytes)
                #expect(same(name, "\(rank < 100 ? "001" : String(rank))-\(expected).jpg"))
            }
        }
        #expect(FileName.ranked(1, title: String(repeating: "a", count: 187), fileExtension: "jpg").utf8.count == 195)
        #expect(FileName.ranked(1, title: String(repeating: "a", count: 188), fileExtension: "jpg").utf8.count == 195)
    }

    @Test("a cut leaves no blank or dot at the end")
    func cutEdges() {
        let start = String(repeating: "a", count: 186)
        #expect(same(stem(start + " bcd"), start))
        #expect(same(stem(start + ".bcd"), start))
        #expect(same(stem(String(repeating: ".", count: 300) + "x"), "untitled"))
        #expect(stem(String(repeating: "👩\u{200D}", count: 300)).unicodeScalars.last == "👩")
    }

    @Test("a single character of 600 bytes is cut between its scalars")
    func zalgo() {
        let accents = String(repeating: "\u{32D}", count: 300)
        #expect(same(stem("Z" + accents), "Z" + String(repeating: "\u{32D}", count: 93)))
        #expect(same(stem("AZ" + accents), "A"))
        #expect(same(stem(accents), String(repeating: "\u{32D}", count: 93)))
    }

    @Test("ten megabytes of title cost no more than a short one")
    func huge() {
        #expect(stem(String(repeating: "\u{301}", count: 5_000_000)).utf8.count <= 200)
        #expect(stem(String(repeating: "\u{200B}", count: 3_000_000) + "a") == "untitled")
    }

    @Test(
        "any title gives a legal name, the same one for every normalisation of it", arguments: [1, 2, 3, 4] as [UInt64])
    func fuzz(seed: UInt64) {
        var random = Random(seed: seed)
        let special: [UInt32] = [
            0x00, 0x1F, 0x20, 0x2E, 0x2F, 0x5C, 0x3A, 0x3C, 0x7F, 0x9F, 0xA0, 0x300, 0x301, 0x323, 0x338, 0x34F, 0x3099,
            0x3000, 0x200B, 0x200C, 0x200D, 0x202E, 0x2066, 0xFE0F, 0xFEFF, 0xFFFF, 0x1F468, 0x1F3FD, 0x1F1EF, 0x1F3F4,
            0xE0067, 0xE007F, 0xE0100, 0x1100, 0x1161, 0x11A8, 0x115F, 0xAC00, 0x3164, 0x915, 0x94D, 0x41, 0x65, 0x212B,
        ]
        let refused = Set("/\\:*?\"<>|".unicodeScalars)
        for _ in 0..<3000 {
            // Foundation, which judges here, composes some letters beyond 16 bits wrongly: those are in `special` only.
            var title = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 0...120, using: &random) {
                let value =
                    Bool.random(using: &random)
                    ? special.randomElement(using: &random)! : UInt32.random(in: 0...0xFFFF, using: &random)
                if let scalar = Unicode.Scalar(value) { title.append(scalar) }
            }
            let text = String(title)
            let name = FileName.ranked(12, title: text, fileExtension: "jpg")
            let scalars = Array(name.unicodeScalars)
            #expect(name.utf8.count <= FileName.longest && name.utf8.count > "012-.jpg".utf8.count)
            #expect(scalars.allSatisfy { !refused.contains($0) && $0.properties.generalCategory != .control })
            #expect(!scalars.contains { (0x202A...0x202E).contains($0.value) || (0x2066...0x2069).contains($0.value) })
            #expect(same(name, name.precomposedStringWithCanonicalMapping), "\(name.debugDescription)")
            let last = scalars[scalars.count - 5]
            #expect(last != "." && !last.properties.isWhitespace)
            #expect(!scalars[4].properties.isWhitespace)
        }
    }
}
