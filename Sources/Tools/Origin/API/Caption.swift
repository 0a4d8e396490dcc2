import Rankings

/// What authors write under their works, as the service hands it out: HTML with line breaks, links and entities.
enum Caption {
    /// The caption of a work; a quarter of the works has none.
    static func html(of work: WorkRecord, seed: UInt64) -> String {
        if work.id == Landmarks.fullCaption { return full }
        var chance = Chance(seed, 0x12, UInt64(bitPattern: work.id.rawValue))
        guard !chance.oneIn(4) else { return "" }
        return (0..<chance.within(1...4)).map { _ in chance.pick(lines) }.joined(separator: "<br />")
    }

    /// Plain text as HTML.
    static func html(_ text: String) -> String {
        var html = ""
        for character in text {
            switch character {
            case "&": html += "&amp;"
            case "<": html += "&lt;"
            case ">": html += "&gt;"
            case "\"": html += "&quot;"
            case "\r\n", "\n": html += "<br />"
            default: html.append(character)
            }
        }
        return html
    }

    /// Links go through a page of the service's own, with the address as its query, or to works and users directly
    /// (payloads/ajax-illust).
    private static let lines = [
        "久々に投稿。たくさんのブクマ、評価、コメント本当にありがとうございます！", "夏の終わりに描きました。", "Thanks for watching &amp; have a nice day &lt;3",
        "続きは→<a href=\"/jump.php?https%3A%2F%2Fexample.com%2Fposts%2F4274904\" target=\"_blank\">"
            + "https://example.com/posts/4274904</a>",
        "前の絵　<strong><a href=\"https://www.pixiv.net/artworks/900600000\">illust/900600000</a></strong>",
        "一緒に描いた人→　<strong><a href=\"https://www.pixiv.net/users/1001\">user/1001</a></strong>",
        "&quot;Quiet&quot; &#39;Harbor&#39;", "", "★☆★",
    ]

    private static let full = lines.joined(separator: "<br />")
}
