import Rankings

/// What a fetch will cost, as far as that is known without asking the service.
struct FetchEstimate: Hashable, Sendable {
    /// Pictures and other files in listings that are known.
    var files = 0
    var bytes: Int64 = 0
    var unknownSizes = 0
    var stored = 0
    var storedBytes: Int64 = 0
    /// Files that the service lists but does not give.
    var withheld = 0
    var knownListings = 0
    /// Listings that the service has to be asked for, and about how many requests that takes.
    var unknownListings = 0
    var requests = 0

    /// About how many requests a listing takes that is not stored.
    ///
    /// A day has ten pages of fifty entries at most; an author's works come a hundred to a request, a search's sixty. Of those the
    /// number is not known before; ten stand for a few hundred works.
    ///
    /// - Parameter path: The listing's, below the mount's root.
    /// - Returns: 0 for what is no listing.
    static func requests(for path: String) -> Int {
        switch TreePath(path) {
        case .work: 2
        case .day, .latest, .author, .authorLink, .bookmarks, .ownBookmarks, .artist, .search: 10
        default: 0
        }
    }

    /// How long that many requests take at a mount's pace, in seconds.
    static func seconds(requests: Int, tokens: Double, rate: Double) -> Int64 {
        Int64(saturating: (max(0, Double(requests) - tokens) / max(rate, 0.01)).rounded(.up))
    }

    /// The lines that are shown.
    ///
    /// - Parameters:
    ///   - tokens: Requests that may go at once.
    ///   - rate: Requests a second after that; nil if the mount does not tell.
    /// - Returns: One line about what is known, one about what is not.
    func lines(tokens: Double, rate: Double?) -> [String] {
        var known = ["\(Self.count(files, "file"))", ValueParsers.sizeText(bytes)]
        if unknownSizes > 0 { known.append("\(unknownSizes) of unknown size") }
        if stored > 0 { known.append("\(stored) stored already (\(ValueParsers.sizeText(storedBytes)))") }
        if withheld > 0 { known.append("\(withheld) withheld by the service") }
        if knownListings > 0 { known.append("in \(Self.count(knownListings, "known listing"))") }
        var lines = files > 0 || unknownListings == 0 ? ["to fetch   " + known.joined(separator: ", ")] : []
        if unknownListings > 0 {
            var text = "to ask     \(Self.count(unknownListings, "listing")), about \(Self.count(requests, "request"))"
            if let rate {
                let time = Self.seconds(requests: requests, tokens: tokens, rate: rate)
                text += time > 0 ? ", about \(StatusCommand.duration(time))" : ", at once"
            }
            if files > 0, knownListings > 0 {
                let more = Int64(saturating: Double(bytes) / Double(knownListings) * Double(unknownListings))
                text += "; about \(ValueParsers.sizeText(more)) more if they are like the known ones"
            }
            lines.append(text)
        }
        return lines
    }

    /// `1 file`, `2 files`.
    static func count(_ number: Int, _ what: String) -> String {
        number == 1 ? "1 \(what)" : "\(number) \(what)s"
    }
}
