/// Progress that a terminal shows beside its text.
///
/// It is the sequence OSC 9;4, introduced by ConEmu (https://conemu.github.io/en/AnsiEscapeCodes.html#ConEmu_specific_OSC).
enum TerminalProgress: Hashable, Sendable {
    case none
    /// The finished part, 0 to 1.
    case part(Double)
    /// Work of unknown length.
    case busy
    /// Waiting, with the finished part; terminals draw it yellow.
    case paused(Double)

    /// The escape sequence.
    var sequence: String {
        switch self {
        case .none: "\u{1B}]9;4;0\u{1B}\\"
        case .part(let part): "\u{1B}]9;4;1;\(Self.percent(part))\u{1B}\\"
        case .busy: "\u{1B}]9;4;3\u{1B}\\"
        case .paused(let part): "\u{1B}]9;4;4;\(Self.percent(part))\u{1B}\\"
        }
    }

    private static func percent(_ part: Double) -> Int { Int(min(1, max(0, part)) * 100) }

    /// Whether the terminal draws progress: others take OSC 9 for a message to pop up.
    ///
    /// Windows Terminal, ConEmu, WezTerm, Ghostty and the terminals based on VTE are recognised by these variables.
    static func isShown(_ variables: [String: String]) -> Bool {
        let program = variables["TERM_PROGRAM", default: ""]
        return variables["TERM", default: "dumb"] != "dumb"
            && (variables["WT_SESSION"] != nil || variables["VTE_VERSION"] != nil || variables["ConEmuANSI"] == "ON"
                || program == "WezTerm" || program == "ghostty")
    }

    /// The progress of a fetch.
    init(_ progress: FetchProgress) {
        self = progress.coolDown == nil ? .part(progress.fraction) : .paused(progress.fraction)
    }

    /// The progress of the pictures being read, or of the preloads if none is read.
    init(_ document: StatusDocument, now: Int64) {
        let downloads = document.downloads
        let reads = downloads.filter(\.isRead)
        let shown = reads.isEmpty ? downloads : reads
        guard !shown.isEmpty else {
            self = .none
            return
        }
        let received = shown.reduce(0) { $0 + Double($1.received) }
        let totals = shown.compactMap(\.total)
        let total = totals.reduce(0) { $0 + Double($1) }
        guard totals.count == shown.count, total > 0 else {
            self = .busy
            return
        }
        let part = received / total
        self = (document.opensAgain ?? 0) > now ? .paused(part) : .part(part)
    }
}
