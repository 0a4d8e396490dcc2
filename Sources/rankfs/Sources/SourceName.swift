import Fuse
import Rankings
import Sourcing

/// What can be mounted, by the name that commands and fstab know it by: a source of the registry, or the embedded one.
struct SourceName: Hashable, Sendable {
    let rawValue: String

    private init(known name: String) {
        rawValue = name
    }

    /// Nil for a name that nothing has.
    init?(rawValue: String) {
        guard let known = Self.demos.first(where: { $0.rawValue == rawValue }) else {
            guard SourceRegistry.plugIn(named: rawValue) != nil else { return nil }
            self.rawValue = rawValue
            return
        }
        self = known
    }

    /// A source as written in commands and in fstab, where it may end with a colon.
    ///
    /// - Throws: usage, naming the sources there are.
    init(argument: String) throws(ProgramError) {
        let name = argument.hasSuffix(":") ? String(argument.dropLast()) : argument
        guard let source = SourceName(rawValue: name) else {
            // A URL with a password, or a cookie in the wrong place, is not to be repeated in a journal.
            let mayBeSecret = argument.contains("@") || argument.contains("=")
            let shown = mayBeSecret ? "what was named" : LogText.escaped(argument, limit: 80)
            throw ProgramError(
                .usage, "\(shown) is not a source that can be mounted; there are \(Self.text(Self.all, "and")).")
        }
        self = source
    }

    /// What is mounted where nothing is named.
    static var standard: SourceName { SourceName(known: SourceRegistry.standard.description.name) }

    /// The source inside the program, which is nobody's service and speaks for the standard one.
    static let demo = SourceName(known: "demo")

    /// The embedded source where it speaks for another one: `demo-NAME`.
    static func demo(of source: SourceName) -> SourceName {
        source.isDemo ? source : embedded(source.rawValue)
    }

    private static func embedded(_ name: String) -> SourceName {
        name == standard.rawValue ? demo : SourceName(known: "\(demo.rawValue)-\(name)")
    }

    /// All that is inside the program.
    private static var demos: [SourceName] { SourceRegistry.all.map { embedded($0.description.name) } }

    /// Whether it is inside the program.
    var isDemo: Bool { Self.demos.contains(self) }

    /// Every one, in the order of help.
    static var all: [SourceName] { SourceRegistry.all.map { SourceName(known: $0.description.name) } + [.demo] }

    /// Names as a sentence lists them: `a, b and demo`.
    static func text(_ names: [SourceName], _ word: String) -> String {
        let texts = names.map(\.rawValue)
        guard let last = texts.last, texts.count > 1 else { return texts.joined() }
        return "\(texts.dropLast().joined(separator: ", ")) \(word) \(last)"
    }

    /// What is true of the source that a mount shows; of the standard one if the mount does not tell.
    static func mounted(at mount: String, _ table: MountTable) -> SourceDescription {
        let name = table.mount(at: mount.utf8)?.source ?? ""
        return (SourceName(rawValue: name) ?? .standard).description
    }

    /// The module behind it; the embedded source is asked as the one that it speaks for.
    var plugIn: any SourcePlugIn {
        SourceRegistry.plugIn(named: isDemo ? String(rawValue.dropFirst(Self.demo.rawValue.count + 1)) : rawValue)
            ?? SourceRegistry.standard
    }

    /// What is true of it.
    var description: SourceDescription { plugIn.description }
}

// MARK: - Source table

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
