import HTTP
import Rankings

/// A display of a watched mount's status: drawn on the terminal's alternate screen, anew several times a second, or as lines.
struct WatchDisplay {
    private let mountPoint: String
    private let others: Int
    private let json: Bool
    private let isScreen: Bool
    private let variables: [String: String]
    private var document: StatusDocument?
    private var meter = RateMeter()
    private var shown: String?
    /// The `monotonic` of the document of the last plain line.
    private var told = -WatchDisplay.pause
    /// The progress sequence that the terminal received last; empty if none.
    private var progress = ""

    /// Seconds between two plain lines.
    private static let pause = 5.0

    /// Switches to the alternate screen without a cursor; `exit` restores the former content of the terminal.
    ///
    /// Lines do not wrap (DECAWM), because terminals do not agree on the width of some characters.
    static let enter = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l"
    static let exit = "\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

    /// - Parameters:
    ///   - mountPoint: The mount.
    ///   - others: The number of other mounts.
    ///   - json: Whether each reading is written as one line of JSON; otherwise pipes, and terminals that cannot move their cursor,
    ///     get plain lines at intervals.
    ///   - variables: The environment.
    init(mountPoint: String, others: Int, json: Bool, variables: [String: String]) {
        self.mountPoint = mountPoint
        self.others = others
        self.json = json
        self.variables = variables
        isScreen = !json && Terminal.size(variables) != nil
    }

    /// Milliseconds between two readings of the mount.
    var interval: Int { isScreen ? 250 : 1000 }

    /// Shows a document; false if the output has no reader any more.
    mutating func show(_ text: [UInt8]) throws(ProgramError) -> Bool {
        if json { return Output.write(Self.compact(text) + [10]) }
        let document = try StatusDocument.parse(text, of: mountPoint)
        meter.look(document)
        self.document = document
        if isScreen { return refresh(silence: nil) }
        let line = document.line(rate: meter.perSecond, clock: Terminal.clock)
        guard line != shown, document.real("monotonic") >= told + Self.pause else {
            return Output.hasReader
        }
        told = document.real("monotonic")
        shown = line
        let clock = Terminal.clock(document.number("time"))
        return Output.write(Array(Self.text(line, of: mountPoint, at: clock).utf8))
    }

    /// JSON text without the white space between its parts.
    static func compact(_ text: [UInt8]) -> [UInt8] {
        (try? JSONReader.read(text)).map { Array($0.line.utf8) } ?? text
    }

    /// `12:03:00 /home/me/Rankings: idle, …`: several watchers may write into one log.
    static func text(_ line: String, of mountPoint: String, at clock: String) -> String {
        "\(clock) \(LogText.escaped(mountPoint)): \(line)\n"
    }

    /// Updates the screen as time passes; false if the output has no reader any more.
    ///
    /// `silence` is the seconds for which the mount has not answered, nil if it does.
    mutating func refresh(silence: Int64?) -> Bool {
        guard isScreen, let document, let size = Terminal.size(variables) else { return true }
        let now = TimeSource.wallClock()
        let frame = WatchFrame(
            document: document, rate: meter.perSecond, now: now, silence: silence, others: others,
            clock: Terminal.clock)
        let lines = frame.lines(
            width: size.width, height: size.height, colours: Terminal.wantsColours(variables))
        var text = Self.drawing(lines)
        let isNew = text != shown
        defer { shown = text }
        let told = document.progressSequence(at: now)
        if Terminal.showsProgress(variables), told != progress {
            progress = told
            text += told
        } else if !isNew {
            return true
        }
        return Output.write(Array(((shown == nil ? Self.enter : "") + text).utf8))
    }

    /// The sequence that draws every line at its place and clears the rest of each line and of the screen.
    static func drawing(_ lines: [String]) -> String {
        "\u{1B}[H" + lines.map { $0 + "\u{1B}[K" }.joined(separator: "\r\n") + "\u{1B}[J"
    }

    /// Restores the terminal, at the end and while the watcher is suspended.
    mutating func leave() {
        guard isScreen, shown != nil else { return }
        shown = nil
        let cleared = progress.isEmpty ? "" : Terminal.noProgress
        progress = ""
        Output.print(cleared + Self.exit, terminator: "")
    }
}

// MARK: - Progress

extension StatusDocument {
    /// The sequence that shows, beside the terminal's text, the progress of the pictures being read, or of the preloads if none is read.
    func progressSequence(at now: Int64) -> String {
        let downloads = downloads
        let reads = downloads.filter(\.isRead)
        let shown = reads.isEmpty ? downloads : reads
        guard !shown.isEmpty else { return Terminal.noProgress }
        let received = shown.reduce(0) { $0 + Double($1.received) }
        let totals = shown.compactMap(\.total)
        let total = totals.reduce(0) { $0 + Double($1) }
        guard totals.count == shown.count, total > 0 else { return Terminal.progress(nil) }
        return Terminal.progress(received / total, isPaused: (opensAgain ?? 0) > now)
    }

    // MARK: - Status line

    /// The activity in one line, for service managers and for logs.
    ///
    /// - Parameters:
    ///   - rate: Bytes a second, if known.
    ///   - clock: Formats a moment for people.
    /// - Returns: Such as `reading 1, preloading 2, 3.2M/s, 812M of 2G stored; the service asked to be left alone until 12:03:00`.
    func line(rate: Int64?, clock: (Int64) -> String) -> String {
        let reading = downloads.count(where: \.isRead)
        let preloading = downloads.count - reading
        var parts: [String] = []
        if reading > 0 { parts.append("reading \(reading)") }
        if preloading > 0 { parts.append("preloading \(preloading)") }
        if parts.isEmpty { parts.append("idle") }
        if let rate, rate > 0 { parts.append("\(SizeText.text(rate))/s") }
        parts.append("\(size("cache.stored_bytes")) of \(size("cache.budget")) stored")
        return ([parts.joined(separator: ", ")] + troubles(clock: clock)).joined(separator: "; ")
    }

    /// The obstacles that limit the mount at present, each with its remedy if there is one.
    func troubles(clock: (Int64) -> String) -> [String] {
        var troubles = waits(at: number("time")).map { host, end in
            "the \(host) asked to be left alone until \(clock(end))"
        }
        troubles += messages("network.troubles").map(\.text)
        if !flag("cache.is_storing") { troubles.append("nothing is stored: make room on the disk") }
        if text("sign_in.state") == "expired" { troubles.append("signed out: `rankfs login` again") }
        return troubles
    }
}
