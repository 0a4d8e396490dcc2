import Rankings

/// What the paths of the image host have in common: folders that spell a time, numbers and hashes.
enum PathParts {
    /// Bytes of a URL that is believed; the longest seen has 160.
    static let longestURL = 300

    /// The parts behind the host; scheme and host are passed over, as requests never follow them.
    static func behindHost(_ url: String) -> ArraySlice<Substring>? {
        guard url.utf8.count <= longestURL, url.hasPrefix("https://") || url.hasPrefix("http://") else { return nil }
        // `https:`, the empty part between the slashes, the host.
        return url.split(separator: "/", omittingEmptySubsequences: false)[...].dropFirst(3)
    }

    /// The parts of the compact form kept in records: six folders and a name.
    static func ofReference(_ reference: String) -> (folders: [Substring], name: Substring)? {
        guard reference.utf8.count <= longestURL else { return nil }
        var parts = reference.split(separator: "/", omittingEmptySubsequences: false)[...]
        guard parts.count == 7, let name = parts.popLast() else { return nil }
        return (Array(parts), name)
    }

    /// Unix seconds of the time in folders such as `2022/04/30/00/00/15`, which is Japan Standard Time.
    static func uploaded(_ folders: [Substring]) -> Int64? {
        let widths = [4, 2, 2, 2, 2, 2]
        let time = folders.compactMap { decimal($0) }
        guard time.count == widths.count, zip(folders, widths).allSatisfy({ $0.utf8.count == $1 }),
            let day = Day(year: time[0], month: time[1], day: time[2]), time[3] < 24, time[4] < 60, time[5] < 60
        else { return nil }
        return PixivRankings.calendar.begins(day) + Int64(time[3] * 3600 + time[4] * 60 + time[5])
    }

    /// The work of a stem: a number, in newer works with a dash and a hash behind it.
    static func work(ofStem stem: Substring) -> WorkID? {
        let parts = stem.split(separator: "-", omittingEmptySubsequences: false)
        guard let id = decimal(parts[0]), id > 0, parts[0].first != "0" else { return nil }
        if parts.count > 1 {
            guard parts.count == 2, isHash(parts[1]) else { return nil }
        }
        return WorkID(rawValue: Int64(id))
    }

    /// A number of 1 to 15 decimal digits and nothing else.
    static func decimal(_ text: Substring) -> Int? {
        guard (1...15).contains(text.utf8.count), text.utf8.allSatisfy(isDigit) else { return nil }
        return Int(text)
    }

    /// 32 hexadecimal digits in small letters.
    static func isHash(_ text: Substring) -> Bool {
        text.utf8.count == 32
            && text.utf8.allSatisfy { isDigit($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) }
    }

    static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
