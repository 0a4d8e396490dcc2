import Fuse
import Rankings
import Sourcing

/// A mountable source, by its name in commands and fstab: a source of the registry, or an embedded one.
struct SourceName: Hashable, Sendable {
    let rawValue: String

    private init(known name: String) {
        rawValue = name
    }

    /// Nil for an unknown name.
    init?(rawValue: String) {
        self.rawValue = rawValue
        guard isDemo || SourceRegistry.plugIn(named: rawValue) != nil else { return nil }
    }

    /// Parses a source as written in commands and in fstab, where it may end with a colon.
    ///
    /// - Throws: usage, with the names of all sources.
    init(argument: String) throws(ProgramError) {
        let name = argument.hasSuffix(":") ? String(argument.dropLast()) : argument
        guard let source = SourceName(rawValue: name) else {
            // A URL with a password, or a cookie in the wrong place, must not be repeated in a journal.
            let mayBeSecret = argument.contains("@") || argument.contains("=")
            let shown = mayBeSecret ? "what was named" : LogText.escaped(argument, limit: 80)
            throw .usage("\(shown) is not a source that can be mounted; there are \(Self.list).")
        }
        self = source
    }

    /// The source that is mounted if none is named.
    static var standard: SourceName { SourceName(known: SourceRegistry.standard.description.name) }

    /// The embedded source inside the program, which has no real service and imitates the standard source.
    static let demo = SourceName(known: "demo")

    /// The embedded source that imitates another one: `demo-NAME`.
    static func demo(of source: SourceName) -> SourceName {
        source.isDemo ? source : embedded(source.rawValue)
    }

    private static func embedded(_ name: String) -> SourceName {
        name == standard.rawValue ? demo : SourceName(known: "\(demo.rawValue)-\(name)")
    }

    /// All embedded sources.
    private static var demos: [SourceName] { SourceRegistry.all.map { embedded($0.description.name) } }

    /// Whether the source is embedded in the program.
    var isDemo: Bool { Self.demos.contains(self) }

    /// Whether a mount of the source has an origin of its own inside the program, which has neither hosts nor sessions.
    func isEmbedded(_ settings: Settings) -> Bool { isDemo && settings.apiURL == nil }

    /// All sources, in the order of help.
    static var all: [SourceName] { SourceRegistry.all.map { SourceName(known: $0.description.name) } + [.demo] }

    /// All names for a sentence: `a, b and c`.
    private static var list: String {
        let names = all.map(\.rawValue)
        return "\(names.dropLast().joined(separator: ", ")) and \(names.last ?? "")"
    }

    /// The description of the source that a mount shows; that of the standard one if the mount's source is unknown.
    static func mounted(at mount: String, _ table: MountTable) -> SourceDescription {
        let name = table.mount(at: mount.utf8)?.source ?? ""
        return (SourceName(rawValue: name) ?? .standard).description
    }

    /// The module of the source; for an embedded source, that of the imitated one.
    var plugIn: any SourcePlugIn {
        SourceRegistry.plugIn(named: isDemo ? String(rawValue.dropFirst(Self.demo.rawValue.count + 1)) : rawValue)
            ?? SourceRegistry.standard
    }

    /// The description of the source.
    var description: SourceDescription { plugIn.description }
}

// MARK: - Help

extension SourceRegistry {
    /// The names of the sources that are external services.
    static var names: String { all.map(\.description.name).joined(separator: ", ") }

    /// The lines of help, for each source.
    static var help: String {
        all.map(\.description).map { source in
            let choices = source.choices.map { "\($0.name)=\($0.words.joined(separator: "|"))" }
            let images = "images=\(source.renditions.map(\.rendition.rawValue).joined(separator: "|"))"
            let facts = ([images] + choices + ["rate=\(rate(source.access.rate))"]).joined(separator: " ")
            let name = "  " + source.name + String(repeating: " ", count: max(1, 12 - source.name.utf8.count))
            return
                "\(name)\(facts)\n\(String(repeating: " ", count: 14))\(source.access.apiURL), \(source.access.imageURL)"
        }.joined(separator: "\n")
    }

    /// The rate with two digits, as options show it.
    static func rate(_ perSecond: Double) -> String {
        let hundredths = Int((perSecond * 100).rounded())
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }

    // MARK: - Choices

    /// The options that sources define (`SourceChoice`), each name once, with the words of all and the first help.
    ///
    /// Choices with the same name are one option, with each source's own meaning.
    static let choices: [(name: String, words: [String], help: String)] = {
        let choices = all.flatMap(\.description.choices)
        return choices.map(\.name).uniqued(by: \.self).map { name in
            let same = choices.filter { $0.name == name }
            return (name, same.flatMap(\.words).uniqued(by: \.self), same.first?.help ?? "")
        }
    }()

    /// Whether a word may be a secret of a source rather than a name or a value.
    static func mayBeSecret(_ word: String) -> Bool {
        all.contains { $0.accounts?.looksLikeSecret(word) ?? false }
    }
}

extension SourceName {
    /// The choices of a mount of the source, by the names of its options; options of other sources are ignored.
    ///
    /// - Parameter given: The words of the options that were given, by their names.
    /// - Returns: The words that this source knows.
    /// - Throws: usage, for a word that this source does not know.
    func choices(among given: [String: String]) throws(ProgramError) -> [String: String] {
        var choices: [String: String] = [:]
        for choice in description.choices {
            guard let word = given[choice.name] else { continue }
            guard choice.words.contains(word) else {
                throw .usage(
                    "\(description.name) has no \(choice.name) \"\(word)\"; give one of "
                        + "\(choice.words.joined(separator: ", ")).")
            }
            choices[choice.name] = word
        }
        return choices
    }

    /// The words that an option takes for this source: of an option that sources define, its own; nil for another option.
    func words(of option: OptionDefinition) -> [String]? {
        description.choices.first { $0.name == option.name }?.words
    }

    /// The text of the choices other than the usual ones, each with a catalog of its own; empty for the usual ones.
    func text(of choices: [String: String]) -> String {
        description.choices.compactMap { choice in
            choices[choice.name].flatMap { $0 == choice.words.first ? nil : "\(choice.name)=\($0)" }
        }.joined(separator: ",")
    }
}
