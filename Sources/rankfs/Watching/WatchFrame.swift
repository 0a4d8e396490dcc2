import Rankings

/// The display of `rankfs status --watch` at one moment: a pure function from figures to lines.
struct WatchFrame {
    let document: StatusDocument
    /// Bytes a second, if known.
    var rate: Int64?
    /// The watcher's time in Unix seconds, from which remaining cool-downs are computed.
    var now: Int64
    /// Seconds for which the mount has not answered; nil if it does.
    var silence: Int64?
    /// The number of other mounts, which are not shown.
    var others = 0
    /// Formats a moment for people.
    var clock: (Int64) -> String
    /// Columns of the terminal.
    var width = 0
    /// Whether lines may contain escape sequences.
    var colours = false

    /// The smallest width, in columns, with room for bars.
    private static let widthForBars = 50
    /// The smallest room within lines, in columns, for wide bars; a name must fit after them.
    private static let roomForWideBars = 76
    private static let labelWidth = 10
    /// The largest number of messages, so that the bars keep their places.
    private static let mostMessages = 5
    /// The largest number of lines of one message: enough for the remedy, which stands at the end.
    private static let mostLines = 4
    /// The largest number of bars of preloads: as many as connections.
    private static let mostPreloads = 8
    private static let mostReads = 8
    /// Columns of `1023.9K of 12.5M`, so that names keep their place.
    private static let sizeWidth = 16

    /// The lines, each at most one column less than `width`: terminals break a line that fills its last column.
    ///
    /// - Parameters:
    ///   - width: Columns of the terminal.
    ///   - height: Lines of the terminal; lines that do not fit are left out, the bars last.
    ///   - colours: Whether lines may contain escape sequences.
    /// - Returns: At most `height` lines without their ends.
    func lines(width: Int, height: Int, colours: Bool) -> [String] {
        var frame = self
        (frame.width, frame.colours) = (width, colours)
        return frame.lines(height: height)
    }

    private func lines(height: Int) -> [String] {
        let bars = reads() + preloads()
        let room = max(0, height - bars.count)
        // Figures that are too long for their lines continue on further lines, unless messages need these.
        let (short, long) = (title() + figures(most: 1), title() + figures(most: Self.mostLines))
        let figures = long.count + messages(room: .max).count <= room ? long : short
        let messages = messages(room: room - figures.count)
        return Array((figures.prefix(room) + messages + bars).prefix(max(0, height)))
    }

    // MARK: Figures

    /// The title with the mount point, which has a line of its own if both do not fit on one.
    private func title() -> [String] {
        let more = others > 0 ? ", \(others) more mount\(others == 1 ? "" : "s")" : ""
        let name = LogText.escaped(document.text("mount_point"))
        let rest =
            "\(document.text("source")), rankfs \(document.text("version")), "
            + "up \(DisplayText.duration(document.number("uptime")))\(more)"
        let whole = "\(name)  \(rest)"
        if DisplayText.width(of: whole) <= room { return [whole] }
        return [DisplayText.ending(of: name, to: room), DisplayText.cut(rest, to: room)]
    }

    /// The figures, each in at most `most` lines; obstacles are always shown whole.
    private func figures(most: Int) -> [String] {
        let budget = document.real("cache.budget")
        let fill = budget > 0 ? document.real("cache.stored_bytes") / budget : 0
        let speed = rate.flatMap { $0 > 0 ? ", \(SizeText.text($0))/s" : nil } ?? ""
        var lines = [
            line(
                "cache", bar: (fill, nil),
                "\(document.size("cache.stored_bytes")) of \(document.size("cache.budget")), "
                    + document.counted("cache.stored_pictures", "picture"))
        ]
        let received =
            "\(document.size("cache.received_bytes"))\(speed); "
            + "\(document.counted("network.active_transfers", "transfer")), \(document.number("network.queued_transfers")) "
            + "queued; requests waiting: \(document.number("waiting_requests"))"
        lines += paragraph("received", received, most: most)
        lines += paragraph("requests", document.requests ?? "none so far", most: most)
        let service =
            document.counted("network.tokens", "request") + " may go at once"
            + (document.has("network.rate") ? ", then \(Self.pace(document.real("network.rate")))" : "")
        lines += paragraph("service", service, most: most)
        lines += waits.flatMap { paragraph("waiting", $0, .yellow, most: Self.mostLines) }
        return lines
    }

    /// `one each 1.2 s`, `200 a second`.
    private static func pace(_ rate: Double) -> String {
        guard rate < 1, rate > 0 else { return "\(Int(rate)) a second" }
        let tenths = Int(min(10 / rate, 1e9).rounded())
        return "one each \(tenths / 10)\(tenths % 10 == 0 ? "" : ".\(tenths % 10)") s"
    }

    /// The obstacles that limit the mount at present.
    private var waits: [String] {
        var waits: [String] = []
        if let silence { waits.append("the mount has not answered for \(DisplayText.duration(silence))") }
        for (host, end) in document.waits(at: now) {
            waits.append(
                "the \(host) asked to be left alone for \(DisplayText.duration(end - now)), until \(clock(end))")
        }
        if !document.flag("cache.is_storing") { waits.append("nothing is stored for now; make room on the disk") }
        if document.text("sign_in.state") == "expired" { waits.append("the session has expired; `rankfs login` again") }
        return waits
    }

    /// The newest messages that fit into the room, each whole or not at all.
    private func messages(room: Int) -> [String] {
        var lines: [String] = []
        for event in document.messages("recent").suffix(Self.mostMessages).reversed() {
            let message = paragraph(
                event.level, "\(clock(event.time)) \(event.text)",
                event.level == "error" ? .red : .yellow, most: Self.mostLines)
            guard lines.count + message.count <= room else { break }
            lines = message + lines
        }
        return lines
    }

    // MARK: Bars

    private func reads() -> [String] {
        let reads = document.downloads.filter(\.isRead)
        guard !reads.isEmpty else { return [line("reading", bar: (0, .blue), "nothing is waited for")] }
        return bars("reading", reads, .blue, most: Self.mostReads)
    }

    private func preloads() -> [String] {
        let preloads = document.downloads.filter { !$0.isRead }
        let waiting = document.number("cache.queued_preloads")
        guard !preloads.isEmpty else {
            return [line("preload", bar: (0, .green), waiting > 0 ? "\(waiting) wait" : "nothing is on its way")]
        }
        var lines = bars("preload", preloads, .green, most: Self.mostPreloads)
        if waiting > 0 {
            let next = document.firstQueued.map { ", next \(Self.name($0))" } ?? ""
            lines.append(line("queue", "\(waiting) wait\(next)"))
        }
        return lines
    }

    private func bars(
        _ label: String, _ downloads: [StatusDocument.Download], _ colour: TerminalColour, most: Int
    ) -> [String] {
        var lines = downloads.prefix(most).map { download in
            let fraction = Self.fraction(of: download)
            let percent = fraction.map { "\(Int($0 * 100))" } ?? "?"
            let total = download.total.map { " of \(SizeText.text($0))" } ?? ""
            let name = Self.name(download.name)
            let part = String(repeating: " ", count: max(0, 3 - percent.count)) + percent
            let size = SizeText.text(download.received) + total
            // Keeps names at their place, where there is room for that.
            let space = String(repeating: " ", count: isWide ? max(0, Self.sizeWidth - size.count) : 0)
            return line(label, bar: (fraction, colour), "\(part) %  \(size)\(space)  \(name)")
        }
        if downloads.count > most { lines.append(line("", "and \(downloads.count - most) more")) }
        return lines
    }

    /// The received part, 0 to 1; nil if the size is unknown.
    private static func fraction(of download: StatusDocument.Download) -> Double? {
        guard let total = download.total, total > 0 else { return nil }
        return min(1, max(0, Double(download.received) / Double(total)))
    }

    /// The last part of a path, safe for a terminal.
    private static func name(_ path: String) -> String {
        LogText.escaped(path.pathNames.last ?? path)
    }

    // MARK: Lines

    private var room: Int { max(0, width - 1) }

    /// Whether there is room for figures in columns, and for names after them.
    private var isWide: Bool { room >= Self.roomForWideBars }

    /// Columns of a bar, more where there is room.
    private var barWidth: Int { room >= 100 ? 32 : isWide ? 22 : 12 }

    /// A label and a text, the label in colour.
    private func line(_ label: String, _ text: String, _ colour: TerminalColour? = nil) -> String {
        let line = DisplayText.cut(padded(label) + text, to: room)
        guard let colour, colours, line.hasPrefix(label) else { return line }
        return colour.paint(label) + line.dropFirst(label.count)
    }

    /// A label and a text of several lines, the label in colour.
    private func paragraph(_ label: String, _ text: String, _ colour: TerminalColour? = nil, most: Int) -> [String] {
        let columns = max(2, room - Self.labelWidth)
        return DisplayText.wrapped(text, to: columns, most: most).enumerated().map { index, text in
            index == 0 ? line(label, text, colour) : line("", text)
        }
    }

    /// A label, a bar where there is room, and a text.
    private func line(_ label: String, bar: (fraction: Double?, colour: TerminalColour?), _ text: String) -> String {
        guard width >= Self.widthForBars else { return line(label, text) }
        let drawn = Terminal.bar(bar.fraction, columns: barWidth, colour: colours ? bar.colour : nil)
        return padded(label) + drawn + " "
            + DisplayText.cut(text, to: room - Self.labelWidth - barWidth - 1)
    }

    private func padded(_ label: String) -> String {
        label + String(repeating: " ", count: max(1, Self.labelWidth - label.count))
    }
}

// MARK: - Rate meter

/// Bytes a second over the last seconds, from a counter that is read at intervals; has no side effects.
struct RateMeter: Sendable {
    /// Seconds over which the rate is taken: long enough to be readable, short enough to be current.
    private static let window = 3.0
    /// The largest rate shown, in bytes a second, however short the time between two readings.
    private static let highestRate = 1e15
    /// The largest number of readings kept, whatever the clock does.
    private static let mostLooks = 64

    private var looks: [(time: Double, count: Int64)] = []

    /// Adds the bytes of pictures received, as a document has them.
    mutating func look(_ document: StatusDocument) {
        look(document.number("cache.received_bytes"), at: document.real("monotonic"))
    }

    /// Adds a reading of the counter.
    ///
    /// - Parameters:
    ///   - count: The counter's value; a smaller value than before means another counter.
    ///   - time: Seconds of a monotonic clock of the counting process.
    mutating func look(_ count: Int64, at time: Double) {
        if let last = looks.last, count < last.count || time < last.time { looks = [] }
        if looks.last?.time == time { looks.removeLast() }
        looks.append((time, count))
        // A reading from before the window stays, so that the rate covers the whole window.
        while looks.count > 2, looks[1].time <= time - Self.window || looks.count > Self.mostLooks {
            looks.removeFirst()
        }
    }

    /// The rate; nil before the second reading.
    var perSecond: Int64? {
        guard let first = looks.first, let last = looks.last, last.time > first.time else { return nil }
        let rate = Double(last.count - first.count) / (last.time - first.time)
        return Int64(min(rate, Self.highestRate))
    }
}
