import Testing

/// Comments speak the words of the field: the glossary of Architecture.md, and subjects that have a name.
@Suite struct WordsTests {
    /// Words, and how often they may stand in a thousand lines with a comment.
    private static let bars: [(words: Set<String>, most: Double)] = [
        (["nobody", "somebody", "whoever", "everybody", "anybody", "who", "whom", "whose"], 8),
        (["tell", "tells", "told", "telling"], 8),
        (["ask", "asks", "asked", "asking"], 10),
        (["what"], 40),
    ]

    @Test func commentsSpeakTheWordsOfTheField() throws {
        let comments = try Package.swiftFiles(below: "Sources").flatMap(\.lines).compactMap(comment)
        #expect(comments.count > 5000)
        let spoken = comments.flatMap { $0.lowercased().split { !$0.isLetter }.map(String.init) }
        for (words, most) in Self.bars {
            let found = spoken.count(where: words.contains)
            let rate = 1000 * Double(found) / Double(comments.count)
            #expect(rate <= most, "\(found) of \(words.sorted()) in \(comments.count) comments")
        }
    }

    /// The comment of a line; nil if it has none outside strings.
    private func comment(_ line: Substring) -> Substring? {
        line.replacing(#/"(\\.|[^"\\])*"/#, with: "\"\"").firstMatch(of: #/\/\/.*/#)?.output
    }
}
