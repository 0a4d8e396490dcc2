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
    private static let lines = Words.list("captions")

    private static let full = lines.joined(separator: "<br />")
}
