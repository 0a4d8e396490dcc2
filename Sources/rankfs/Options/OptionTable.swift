import Rankings

/// One option: its name serves `--cache-size`, `-o cache_size=`, `cache_size =` in the file and `RANKFS_CACHE_SIZE`.
struct OptionDefinition: Sendable {
    /// Lower case with underscores.
    let name: String
    /// The placeholder of the value in help: `SIZE`.
    let placeholder: String
    /// The default as help shows it.
    let standard: String
    /// One line of help.
    let help: String
    /// Whether a value may contain a password: it is then never repeated, and refused on the command line if it contains one.
    let mayHoldSecret: Bool
    /// Whether the whole value may be a secret, given by mistake.
    let mayBeSecret: Bool
    /// The words that the value is chosen from, for completion; empty for other kinds of values.
    let words: [String]
    /// Parses a value into the settings.
    let set: @Sendable (inout Settings, String, OptionContext) throws(ExpectedValue) -> Void

    /// Whether the value is a path.
    var isPath: Bool { placeholder == "DIR" || placeholder == "FILE" }

    /// The flag as written on a command line: `--cache-size`.
    var flag: String { "--" + String(name.map { $0 == "_" ? "-" : $0 }) }

    init(
        _ name: String, _ placeholder: String, standard: String, help: String, mayHoldSecret: Bool = false,
        mayBeSecret: Bool = false,
        set: @escaping @Sendable (inout Settings, String, OptionContext) throws(ExpectedValue) -> Void
    ) {
        self.name = name
        self.placeholder = placeholder
        self.standard = standard
        self.help = help
        self.mayHoldSecret = mayHoldSecret || mayBeSecret
        self.mayBeSecret = mayBeSecret
        words = []
        self.set = set
    }

    /// Defines an option with a value from a list of words.
    init<Value: Sendable>(
        _ name: String, _ placeholder: String, standard: String, help: String, words choices: [(String, Value)],
        of setting: any WritableKeyPath<Settings, Value> & Sendable
    ) {
        self.name = name
        self.placeholder = placeholder
        self.standard = standard
        self.help = help
        mayHoldSecret = false
        mayBeSecret = false
        words = choices.map(\.0)
        set = { settings, text, _ throws(ExpectedValue) in
            settings[keyPath: setting] = try ValueParsers.word(text, of: choices)
        }
    }
}

/// The context that parsers need besides the text.
struct OptionContext: Sendable {
    /// The directory that relative paths start from; nil where only absolute paths are allowed (the file).
    var directory: String?
    var home: String?
}

/// The one table of options.
///
/// It defines the flags, `-o`, the configuration file and the environment. Credentials are never options.
enum OptionTable {
    /// The definition of a name, where `-` and `_` are equivalent.
    static func definition(named name: String) -> OptionDefinition? {
        let name = normalised(name)
        return all.first { $0.name == name }
    }

    /// A name as the table spells it.
    static func normalised(_ name: String) -> String {
        String(name.map { $0 == "-" ? "_" : $0 })
    }

    /// The lines of help, one for each option.
    static var help: String {
        all.map { option in
            let head = "  \(option.name)=\(option.placeholder)"
            let padding = String(repeating: " ", count: max(1, 24 - head.count))
            return head + padding + "\(option.help) (\(option.standard))"
        }.joined(separator: "\n")
    }

    /// Every option, in the order of help.
    static let all: [OptionDefinition] =
        places + contents + SourceChoices.definitions + filters + network + session + TierOptions.all + logging

    private static let places: [OptionDefinition] = [
        OptionDefinition(
            "cache_dir", "DIR", standard: "~/.cache/rankfs/SOURCE", help: "where pictures and listings are stored"
        ) { settings, text, context throws(ExpectedValue) in
            settings.cacheDirectory = try ValueParsers.path(text, relativeTo: context.directory, home: context.home)
        },
        OptionDefinition(
            "cache_size", "SIZE", standard: "2G", help: "bytes that stored pictures may take"
        ) { settings, text, _ throws(ExpectedValue) in
            // Below 16M one ordinary original would push everything else out.
            settings.cacheSize = try ValueParsers.size(text, in: (16 << 20)...(1 << 50))
        },
        OptionDefinition(
            "cache_free", "SIZE", standard: "1G", help: "bytes of disk that stay free"
        ) { settings, text, _ throws(ExpectedValue) in
            settings.cacheFree = try ValueParsers.size(text, in: 0...(1 << 50))
        },
    ]

    private static let contents: [OptionDefinition] = [
        OptionDefinition(
            "images", "WORD", standard: OptionTexts.bySource,
            help: "which rendition listings show: regular, small or original",
            words: [("regular", .regular), ("small", .small), ("original", .original)], of: \.rendition),
        OptionDefinition(
            "pages", "WORD", standard: "first", help: "first: a work is one entry; all: each of its pages is",
            words: [("first", false), ("all", true)], of: \.allPages),
        OptionDefinition(
            "top", "N", standard: "all", help: "show only the first N entries of a ranking"
        ) { settings, text, _ throws(ExpectedValue) in
            // The service ranks 500 at most; ten times that leaves room for other services.
            settings.top = text == "all" ? nil : try ValueParsers.integer(text, in: 1...5000)
        },
        OptionDefinition(
            "days", "N", standard: "7", help: "recent days that each mode lists"
        ) { settings, text, _ throws(ExpectedValue) in
            // The service began in 2007: no mode has 10,000 days before 2035.
            settings.days = try ValueParsers.integer(text, in: 1...10000)
        },
        OptionDefinition(
            "prefetch", "N", standard: "2", help: "pictures downloaded ahead of a reader, 0 to 8"
        ) { settings, text, _ throws(ExpectedValue) in
            settings.preload = try ValueParsers.integer(text, in: 0...8)
        },
    ]

    private static let filters: [OptionDefinition] = [
        OptionDefinition(
            "ai", "WORD", standard: "show", help: "works made with AI: show, hide or only",
            words: ListingFilter.Generated.allCases.map { ($0.rawValue, $0) }, of: \.filter.generated),
        OptionDefinition(
            "tags", "TAGS", standard: "none",
            help: "tags that works must have or, with - in front, not have: \"cat -dog\""
        ) { settings, text, _ throws(ExpectedValue) in
            let tags = try ValueParsers.tags(text)
            settings.filter.tags = tags.wanted
            settings.filter.refusedTags = tags.refused
        },
        OptionDefinition(
            "min_width", "PIXELS", standard: "0", help: "show only works at least so wide"
        ) { settings, text, _ throws(ExpectedValue) in
            // The service takes pictures of up to 20,000 pixels.
            settings.filter.minimumWidth = try ValueParsers.integer(text, in: 0...100_000)
        },
        OptionDefinition(
            "orientation", "WORD", standard: "any", help: "any, landscape, portrait or square",
            words: [("any", nil)] + ListingFilter.Orientation.allCases.map { ($0.rawValue, $0) },
            of: \.filter.orientation),
        OptionDefinition(
            "withheld", "WORD", standard: "hide",
            help: "whether directories list what the service withholds, which cannot be read: hide or show",
            words: [("hide", false), ("show", true)], of: \.listsWithheld),
        OptionDefinition(
            "recent", "WORD", standard: "on", help: "whether what was read last is listed in recent/: on or off",
            words: [("on", true), ("off", false)], of: \.notesRecent),
        OptionDefinition(
            "share", "WORD", standard: "public",
            help: "what allow_other opens to others: public, or all, with searches, bookmarks and commands",
            words: [("public", false), ("all", true)], of: \.sharesAll),
        OptionDefinition(
            "thumbnails", "WORD", standard: "on",
            help: "whether file managers find thumbnails, made from small previews: on or off",
            words: [("on", true), ("off", false)], of: \.makesThumbnails),
    ]

    private static let network: [OptionDefinition] = [
        OptionDefinition(
            "metered", "WORD", standard: "auto",
            help: "whether the network is metered, so that nothing is downloaded ahead: auto, yes or no",
            words: MeteredRule.allCases.map { ($0.rawValue, $0) }, of: \.metered),
        OptionDefinition(
            "offline", "WORD", standard: "off",
            help: "whether no request may leave, so that only what is stored is there: on or off",
            words: [("on", true), ("off", false)], of: \.isOffline),
        OptionDefinition(
            "proxy", "URL", standard: "none", help: "a proxy, http:// or socks5h://; the environment is not asked",
            mayHoldSecret: true
        ) { settings, text, _ throws(ExpectedValue) in
            settings.proxy =
                text == "none"
                ? nil : try OriginURL(text, schemes: ["http", "https", "socks5h", "socks5", "socks4a", "socks4"])
        },
        OptionDefinition(
            "user_agent", "TEXT", standard: OptionTexts.bySource, help: "the User-Agent of every request"
        ) { settings, text, _ throws(ExpectedValue) in
            settings.userAgent = try ValueParsers.headerText(text)
        },
        OptionDefinition(
            "rate", "NUMBER", standard: OptionTexts.bySource,
            help: "API requests a second once a burst is spent"
        ) { settings, text, _ throws(ExpectedValue) in
            settings.rate = try ValueParsers.rate(text, in: 0.01...1000)
        },
        OptionDefinition(
            "connections", "N", standard: "16", help: "picture downloads at once, 1 to 32"
        ) { settings, text, _ throws(ExpectedValue) in
            settings.connections = try ValueParsers.integer(text, in: 1...32)
        },
        OptionDefinition(
            "timeout", "SECONDS", standard: "30",
            help: "when every request has been answered, whatever the network does"
        ) { settings, text, _ throws(ExpectedValue) in
            // Below 2 s a handshake is not certain to fit; the kernel's own hung-task warning comes at 120 s.
            settings.timeout = try ValueParsers.seconds(text, in: 2...110)
        },
        OptionDefinition(
            "api_url", "URL", standard: OptionTexts.bySource, help: "an origin of your own for listings",
            mayHoldSecret: true
        ) { settings, text, _ throws(ExpectedValue) in
            settings.apiURL = try plainOrigin(text)
        },
        OptionDefinition(
            "image_url", "URL", standard: OptionTexts.bySource, help: "an origin of your own for pictures",
            mayHoldSecret: true
        ) { settings, text, _ throws(ExpectedValue) in
            settings.imageURL = try plainOrigin(text)
        },
        OptionDefinition(
            "ca_file", "FILE", standard: "none",
            help: "certificates (PEM) that sign those of api_url, image_url and tier_url"
        ) { settings, text, context throws(ExpectedValue) in
            settings.certificates = try ValueParsers.path(text, relativeTo: context.directory, home: context.home)
        },
    ]

    private static let session: [OptionDefinition] = [
        OptionDefinition(
            "cookies", "FILE", standard: "what rankfs login stored",
            help: "a cookies.txt with the session to sign in with",
            mayBeSecret: true
        ) { settings, text, context throws(ExpectedValue) in
            if Secrets.mayBe(text) {
                throw ExpectedValue("the name of a file that holds the cookie, never the cookie itself")
            }
            settings.cookies = try ValueParsers.path(text, relativeTo: context.directory, home: context.home)
        }
    ]

    static func plainOrigin(_ text: String) throws(ExpectedValue) -> OriginURL {
        let url = try OriginURL(text)
        if url.hasUserInfo { throw ExpectedValue("a URL without user name and password") }
        return url
    }

    private static let logging: [OptionDefinition] = [
        OptionDefinition(
            "log", "LEVEL", standard: "info", help: "error, warning, info or debug",
            words: LogLevel.allCases.map { ($0.name, $0) }, of: \.logLevel),
        OptionDefinition(
            "log_file", "FILE", standard: "CACHE_DIR/rankfs.log in the background", help: "where log lines go"
        ) { settings, text, context throws(ExpectedValue) in
            settings.logFile = try ValueParsers.path(text, relativeTo: context.directory, home: context.home)
        },
    ]
}
