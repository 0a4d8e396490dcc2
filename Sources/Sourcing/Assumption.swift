/// Something that this program takes for granted of a service, and whether it is so.
package struct Assumption: Hashable, Sendable {
    package enum Verdict: String, Hashable, Sendable, Codable {
        case kept
        case changed
        /// It could not be found out.
        case unknown
    }

    /// A few words: `fields of an entry`.
    package var name: String
    package var verdict: Verdict
    /// What was seen, with nothing in it that is somebody's own: no title, no person, no path of this machine.
    package var text: String

    package init(_ name: String, _ verdict: Verdict, _ text: String) {
        self.name = name
        self.verdict = verdict
        self.text = text
    }

    /// Kept or changed, by whether something is so.
    package init(_ name: String, holds: Bool, _ text: String) {
        self.init(name, holds ? .kept : .changed, text)
    }
}
