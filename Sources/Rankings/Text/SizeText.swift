/// Sizes for people.
package enum SizeText {
    /// A number of bytes as `2G` or `50M`, or as `1.5G` with one digit where it does not divide.
    package static func text(_ bytes: Int64) -> String {
        let units: [(String, Int64)] = [("T", 1 << 40), ("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)]
        for (unit, factor) in units where bytes >= factor {
            if bytes % factor == 0 { return "\(bytes / factor)\(unit)" }
            return "\(bytes / factor).\(bytes % factor * 10 / factor)\(unit)"
        }
        return "\(bytes)"
    }
}
