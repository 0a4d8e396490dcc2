import Testing

@testable import rankfs

/// Command lines as the AWS tools split them.
@Suite struct CommandWordsTests {
    @Test(
        arguments: [
            ("/opt/give keys", ["/opt/give", "keys"]), ("  a\t b ", ["a", "b"]), ("'a b' \"c d\"e", ["a b", "c de"]),
            ("a\\ b '\\' \"\\\"\\x\"", ["a b", "\\", "\"\\x"]), ("'' a", ["", "a"]),
            ("a;b $(c) |d", ["a;b", "$(c)", "|d"]),
            ("a\\", ["a\\"]),
            ("", nil), ("  ", nil), ("'a", nil), ("\"a\\\"", nil),
        ] as [(String, [String]?)])
    func aLineIsSplit(_ line: String, _ words: [String]?) { #expect(TierKeys.words(of: line) == words) }
}
