/// How far a fetch is, and the line that shows it: pure.
struct FetchProgress: Hashable, Sendable {
    /// Files that are through, whatever came of them.
    var filesDone = 0
    /// Files of the listings read so far.
    var filesKnown = 0
    var listingsDone = 0
    var listingsLeft = 0
    /// Read since the start.
    var bytes: Int64 = 0
    /// Seconds since the start.
    var elapsed: Double = 0
    /// What was begun last.
    var name = ""
    /// Unix seconds until which the service asked to be left alone.
    var coolDown: Int64?

    /// The part that is done, 0 to 1: listings not read yet count as many files as those read had on average.
    var fraction: Double {
        guard filesKnown > 0 else { return 0 }
        let average = Double(filesKnown) / Double(max(1, listingsDone))
        return min(1, Double(filesDone) / (Double(filesKnown) + average * Double(listingsLeft)))
    }

    /// How many files are through, of how many once that is known: beside a part of what nobody has counted it would
    /// contradict the bar.
    var count: String {
        guard listingsLeft > 0 else { return "\(filesDone)/\(filesKnown) files" }
        return "\(Counted.text(filesDone, "file")), \(Counted.text(listingsLeft, "listing")) to come"
    }

    /// Seconds left, if it goes on as until now; nil as long as that is a guess.
    var secondsLeft: Int64? {
        let fraction = fraction
        guard fraction > Self.leastFraction, fraction < 1 else { return nil }
        return Int64(saturating: (elapsed * (1 - fraction) / fraction).rounded(.up))
    }

    /// Bytes a second since the start.
    var rate: Int64 { elapsed > 0 ? Int64(saturating: Double(bytes) / elapsed) : 0 }

    /// Below it, what is left changes too much to be shown.
    private static let leastFraction = 0.01
    private static let barWidth = 22
    /// Columns from which there is room for a bar.
    private static let widthForBar = 60

    /// The line, at most one column less than `width`: terminals break a line that fills its last column.
    ///
    /// - Parameters:
    ///   - width: The terminal's columns.
    ///   - colours: Whether escape sequences may be in it.
    ///   - clock: A moment for people.
    /// - Returns: The line, without its end.
    func line(width: Int, colours: Bool, clock: (Int64) -> String) -> String {
        let room = max(0, width - 1)
        if let coolDown {
            return DisplayText.cut("the service asks to slow down; going on at \(clock(coolDown))", to: room)
        }
        var parts = [count, ValueParsers.sizeText(bytes)]
        parts.append("\(ValueParsers.sizeText(rate))/s")
        if let left = secondsLeft { parts.append("\(StatusCommand.duration(left)) left") }
        let figures = DisplayText.cut(parts.joined(separator: "  "), to: room)
        guard width >= Self.widthForBar else { return figures }
        let drawn = ProgressBar.text(fraction, columns: Self.barWidth, colour: colours ? .blue : nil)
        let used = Self.barWidth + 1 + DisplayText.width(of: figures)
        let name = used + 2 < room ? "  " + DisplayText.cut(LogText.escaped(name), to: room - used - 2) : ""
        return "\(drawn) \(DisplayText.cut(figures, to: room - Self.barWidth - 1))\(name)"
    }
}
