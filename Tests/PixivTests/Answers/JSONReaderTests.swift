import Foundation
import Rankings
import Testing

@testable import Pixiv

private func read(_ text: String) throws -> JSON {
    try JSONReader.read(Array(text.utf8))
}

@Suite("Reading JSON")
struct JSONReaderTests {
    @Test(
        "values",
        arguments: [
            ("null", JSON.null), ("true", .bool(true)), ("false", .bool(false)), ("0", .integer(0)),
            ("-1", .integer(-1)),
            ("9223372036854775807", .integer(.max)), ("9223372036854775808", .real(9_223_372_036_854_775_808)),
            ("1.5", .real(1.5)), ("1e3", .real(1000)), ("-2.5E-1", .real(-0.25)), ("1e999", .null), ("NaN", .null),
            ("-Infinity", .null), ("\"\"", .string("")), ("[]", .array([])), ("{}", .object([])),
            (" [ 1 , \"a\" ] ", .array([.integer(1), .string("a")])), ("\u{FEFF}[]", .array([])),
            ("\t\r\n{\"a\":{}}", .object([.init(name: "a", value: .object([]))])),
        ])
    func values(text: String, expected: JSON) throws {
        #expect(try read(text) == expected)
    }

    @Test(
        "strings, with surrogates mended",
        arguments: [
            (#""a\"\\\/\b\f\n\r\t""#, "a\"\\/\u{8}\u{C}\n\r\t"), (#""\u3042\u00e9""#, "あé"),
            (#""\ud83d\ude00""#, "😀"), (#""\ud800""#, "\u{FFFD}"), (#""a\udc00b""#, "a\u{FFFD}b"),
            (#""\ud800\u0041""#, "\u{FFFD}A"), (#""\ud800\ud83d\ude00""#, "\u{FFFD}😀"), (#""\ud800\n""#, "\u{FFFD}\n"),
            (#""\ud800x""#, "\u{FFFD}x"), (#""\x""#, "x"), ("\"a\nb\"", "a\nb"), (#""\u0000""#, "\0"),
        ])
    func strings(text: String, expected: String) throws {
        #expect(try read(text) == .string(expected))
    }

    @Test("broken UTF-8 becomes U+FFFD")
    func brokenBytes() throws {
        #expect(try JSONReader.read([0x22, 0x61, 0xFF, 0xED, 0xA0, 0x80, 0x22]).text?.hasPrefix("a\u{FFFD}") == true)
    }

    @Test(
        "what is no JSON",
        arguments: [
            "", " ", "{", "[", "\"", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "{\"a\":1,}", "[1", "[1,", "[1,]",
            "{1:2}",
            "{\"a\" 1}", "[1 2]", "tru", "nul", "undefined", "-", "+1", ".5", "1x", "0x10", "{} x", "[]]", "\"\\",
            "\"\\u12", "\"\\u12g4\"", "<html>", "'a'", "\"\\ud800\\u\"",
        ])
    func refused(text: String) {
        #expect(throws: Failure.self) { try read(text) }
    }

    @Test("depth, number of values and length of strings are bounded")
    func bounds() throws {
        let deep = { (depth: Int) in String(repeating: "[", count: depth) + String(repeating: "]", count: depth) }
        #expect(throws: Never.self) { try read(deep(64)) }
        #expect(throws: Failure.self) { try read(deep(65)) }
        #expect(throws: Failure.self) { try read(String(repeating: "[", count: 100_000)) }
        #expect(throws: Failure.self) { try read("[" + String(repeating: "0,", count: 500_000) + "0]") }
        let long = try read("\"" + String(repeating: "あ", count: 30_000) + "\"").text
        #expect(long == String(repeating: "あ", count: 21_845))
        let escaped = try read("\"\\n" + String(repeating: "\\u3042", count: 30_000) + "b\"").text
        #expect(escaped?.utf8.count == 65_536 && escaped?.hasPrefix("\nあ") == true)
        let mixed = try read("[\"" + String(repeating: "x", count: 1_000_000) + "\\u0041\",1]")
        #expect(mixed.elements.first?.text?.utf8.count == 65_536 && mixed.elements.last == .integer(1))
    }

    @Test("values are taken as what is meant")
    func accessors() throws {
        let json = try read(
            #"{"n":5,"s":"5","f":5.0,"h":5.5,"t":true,"z":"0","one":1,"neg":"-7","pad":" 5","big":1e300,"l":[],"o":{"a":null}}"#
        )
        for name in ["n", "s", "f"] { #expect(json[name].number == 5) }
        for name in ["h", "t", "pad", "big", "l", "o", "none"] { #expect(json[name].number == nil) }
        #expect(json["neg"].number == -7 && json["neg"].number(in: 0...9) == nil && json["n"].number(in: 0...9) == 5)
        #expect(json["n"].text == "5" && json["s"].text == "5" && json["t"].text == nil && json["h"].text == nil)
        #expect(json["t"].flag == true && json["z"].flag == false && json["one"].flag == true && json["l"].flag == nil)
        #expect(json["l"].members.isEmpty && json["o"].elements.isEmpty && json["o"].members.count == 1)
        #expect(json["none"].isNull && json["o"]["a"].isNull && json["n"]["x"]["y"].isNull && !json["l"].isNull)
    }

    @Test("an object opens an answer, a page of HTML does not")
    func objects() {
        for text in ["{", " \n{}", "\u{FEFF}{}"] { #expect(JSONReader.looksLikeObject(Array(text.utf8))) }
        for text in ["", "<", "[{}]", "null", "a{"] { #expect(!JSONReader.looksLikeObject(Array(text.utf8))) }
    }
}
