import Rankings
import Sourcing

/// What help says of the sources, made of their descriptions.
enum SourceTable {
    /// What help says of each source.
    static var help: String {
        SourceRegistry.all.map(\.description).map { source in
            let choices = source.choices.map { "\($0.name)=\($0.words.joined(separator: "|"))" }
            let images = "images=\(source.renditions.map(\.rendition.rawValue).joined(separator: "|"))"
            let facts = ([images] + choices + ["rate=\(rate(source.access.rate))"]).joined(separator: " ")
            let name = "  " + source.name + String(repeating: " ", count: max(1, 12 - source.name.utf8.count))
            return
                "\(name)\(facts)\n\(String(repeating: " ", count: 14))\(source.access.apiURL), \(source.access.imageURL)"
        }.joined(separator: "\n")
    }

    /// With two digits, as options show it.
    static func rate(_ perSecond: Double) -> String {
        let hundredths = Int((perSecond * 100).rounded())
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }
}
