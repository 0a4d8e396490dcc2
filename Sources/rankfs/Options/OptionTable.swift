import Rankings
import Tier

/// The values of all options.
struct Settings: Hashable, Sendable {
    /// An absolute path; nil for the default of the source.
    var cacheDirectory: String?
    /// Bytes.
    var cacheSize: Int64 = 2 << 30
    /// Bytes of disk left free.
    var cacheFree: Int64 = 1 << 30
    /// Nil for the source's standard rendition.
    var rendition: Rendition?
    /// Values of the options that individual sources define.
    var choices: [String: String] = [:]
    /// Whether every page of a work is an entry.
    var allPages = false
    var filter = ListingFilter()
    /// Whether directories list withheld entries.
    var listsWithheld = false
    /// Whether pictures that are read are listed in `recent/`.
    var notesRecent = true
    /// Whether other users with access to the mount see and may do the same as its owner.
    var sharesAll = false
    /// Whether file managers that open a directory find thumbnails.
    var makesThumbnails = true
    /// The processes in which pictures may be decoded.
    var decoding = Decoding.confined
    /// Entries of a ranking shown; nil for all.
    var top: Int?
    /// Recent days that a mode lists.
    var days = 7
    /// Pictures preloaded ahead of a reader.
    var preload = 2
    /// Whether the network counts as metered; on a metered network nothing is downloaded without a reader.
    var metered = MeteredRule.auto
    /// Whether no request may leave this machine.
    var isOffline = false
    var proxy: OriginURL?
    /// Nil for the User-Agent that the source's service expects.
    var userAgent: String?
    /// API requests a second once the burst is spent; nil for the default of the source.
    var rate: Double?
    /// Picture connections to one host.
    var connections = 16
    /// The time limit within which every request of the kernel is answered.
    var timeout: Duration = .seconds(30)
    var apiURL: OriginURL?
    var imageURL: OriginURL?
    /// PEM file of certificates that sign those of `apiURL` and `imageURL`; absolute.
    var certificates: String?
    /// A file with the session cookie; absolute.
    var cookies: String?
    /// The bucket in which machines share pictures and answers; nil for no sharing.
    var tier: BucketAddress?
    /// Nil for Amazon's own store in the region.
    var tierURL: OriginURL?
    var tierRegion: String?
    /// Nil for the form that suits the store.
    var tierForm: StorePlace.AddressForm?
    /// The account that must own the bucket.
    var tierOwner: String?
    /// A file with the key to the store; absolute.
    var tierKeys: String?
    /// A file with the secret of the machines that share the tier; absolute.
    var tierSecret: String?
    /// Whether this machine writes to the tier.
    var writesToTier = true
    /// Whether answers for the signed-in user are shared with that user's other machines.
    var sharesPrivate = false
    var logLevel: LogLevel = .info
    /// The log file besides the standard error stream; nil for the default.
    var logFile: String?
}

/// The processes in which thumbnails and animations may be made of pictures from outside.
enum Decoding: String, Hashable, Sendable, CaseIterable {
    /// Those whose system calls the kernel filters.
    case confined
    /// Any; the measures that the system has are taken all the same.
    case unconfined
    case off
}

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
    /// Whether a value may contain a secret, wanted or given by mistake: it is then never repeated.
    var mayHoldSecret = false
    /// Whether the value may name a user: it is then refused on the command line.
    var mayNameUser: Bool { name == "proxy" }
    /// The words that the value is chosen from, for completion; empty for other kinds of values.
    var words: [String] = []
    /// Parses a value into the settings.
    let set: @Sendable (inout Settings, String, OptionContext) throws(Failure) -> Void

    /// Whether the value is a path.
    var isPath: Bool { placeholder == "DIR" || placeholder == "FILE" }

    /// The flag as written on a command line: `--cache-size`.
    var flag: String { "--" + String(name.map { $0 == "_" ? "-" : $0 }) }
}

extension OptionDefinition {
    /// Defines an option with a value that depends on nothing but its text.
    init<Value: Sendable>(
        _ name: String, _ placeholder: String, standard: String, help: String, mayHoldSecret: Bool = false,
        words: [String] = [], of setting: any WritableKeyPath<Settings, Value> & Sendable,
        parse: @escaping @Sendable (String) throws(Failure) -> Value
    ) {
        self.init(
            name: name, placeholder: placeholder, standard: standard, help: help, mayHoldSecret: mayHoldSecret,
            words: words
        ) { settings, text, _ throws(Failure) in settings[keyPath: setting] = try parse(text) }
    }

    /// Defines an option with a value from a list of words.
    init<Value: Sendable>(
        _ name: String, _ placeholder: String, standard: String, help: String, words choices: [(String, Value)],
        of setting: any WritableKeyPath<Settings, Value> & Sendable
    ) {
        self.init(name, placeholder, standard: standard, help: help, words: choices.map(\.0), of: setting) {
            text throws(Failure) in try ValueParsers.word(text, of: choices)
        }
    }

    /// Defines an option with the path of a file or a folder.
    init(
        _ name: String, _ placeholder: String, standard: String, help: String, mayHoldSecret: Bool = false,
        path setting: any WritableKeyPath<Settings, String?> & Sendable
    ) {
        self.init(
            name: name, placeholder: placeholder, standard: standard, help: help, mayHoldSecret: mayHoldSecret
        ) { settings, text, context throws(Failure) in
            // The word that help shows as the default stands for it.
            let isNone = standard == "none" && text == "none"
            settings[keyPath: setting] =
                isNone ? nil : try ValueParsers.path(text, relativeTo: context.directory, home: context.home)
        }
    }
}

/// The context that parsers need besides the text: the directory that relative paths start from, nil where only absolute paths are
/// allowed (the file), and the home directory.
typealias OptionContext = (directory: String?, home: String?)

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

    /// The name and the value of `NAME=VALUE`; no value without the `=`.
    static func parts(of item: String) -> (name: String, value: String?) {
        // By scalars: a value may begin with one that joins the `=`.
        let scalars = item.unicodeScalars
        guard let equals = scalars.firstIndex(of: "=") else { return (item, nil) }
        return (String(scalars[..<equals]), String(scalars[scalars.index(after: equals)...]))
    }

    // MARK: Words beside the table

    /// Options of libfuse that have a meaning for this file system.
    static let passedOn = ["allow_other", "allow_root", "auto_unmount", "max_read"]

    /// The words of `-o` lists beside the table that completions offer, with `=` after those that need a value.
    static let offered = passedOn.map { $0 == "max_read" ? "max_read=" : $0 } + ["uid=", "gid=", "umask=", "setuid="]

    /// Options of this program that set the mount's owner or its serving user, or request a remount.
    static let ownership = ["uid", "gid", "umask", "setuid", "remount"]

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
        places + contents + choices + filters + network + tier + logging

    /// The default of an option that depends on the source; help also has a table of sources.
    static let bySource = "the source's"

    private static let places: [OptionDefinition] = [
        OptionDefinition(
            "cache_dir", "DIR", standard: "~/.cache/rankfs/SOURCE", help: "where pictures and listings are stored",
            path: \.cacheDirectory),
        // Below 16M one ordinary original would push everything else out.
        OptionDefinition(
            "cache_size", "SIZE", standard: "2G", help: "bytes that stored pictures may take", of: \.cacheSize,
            parse: ValueParsers.size(in: (16 << 20)...(1 << 50))),
        OptionDefinition(
            "cache_free", "SIZE", standard: "1G", help: "bytes of disk that stay free", of: \.cacheFree,
            parse: ValueParsers.size(in: 0...(1 << 50))),
    ]

    private static let contents: [OptionDefinition] = [
        OptionDefinition(
            "images", "WORD", standard: bySource,
            help: "which rendition listings show: regular, small or original",
            words: [("regular", .regular), ("small", .small), ("original", .original)], of: \.rendition),
        OptionDefinition(
            "pages", "WORD", standard: "first", help: "first: a work is one entry; all: each of its pages is",
            words: [("first", false), ("all", true)], of: \.allPages),
        OptionDefinition(
            "top", "N", standard: "all", help: "show only the first N entries of a ranking", of: \.top
        ) { text throws(Failure) in
            // The service ranks 500 at most; ten times that leaves room for other services.
            text == "all" ? nil : try ValueParsers.integer(in: 1...5000)(text)
        },
        // The service began in 2007: no mode has 10,000 days before 2035.
        OptionDefinition(
            "days", "N", standard: "7", help: "recent days that each mode lists", of: \.days,
            parse: ValueParsers.integer(in: 1...10000)),
        OptionDefinition(
            "prefetch", "N", standard: "2", help: "pictures downloaded ahead of a reader, 0 to 8", of: \.preload,
            parse: ValueParsers.integer(in: 0...8)),
    ]

    /// The options that sources define.
    private static let choices = SourceRegistry.choices.map { name, words, help in
        OptionDefinition(
            name, "WORD", standard: bySource, help: help, words: words.map { ($0, Optional($0)) }, of: \.choices[name])
    }

    private static let onOff = [("on", true), ("off", false)]

    private static let filters: [OptionDefinition] = [
        OptionDefinition(
            "ai", "WORD", standard: "show", help: "works made with AI: show, hide or only",
            words: ListingFilter.Generated.allCases.map { ($0.rawValue, $0) }, of: \.filter.generated),
        OptionDefinition(
            name: "tags", placeholder: "TAGS", standard: "none",
            help: "tags that works must have or, with - in front, not have: \"cat -dog\""
        ) { settings, text, _ throws(Failure) in
            let tags = try ValueParsers.tags(text)
            settings.filter.tags = tags.wanted
            settings.filter.refusedTags = tags.refused
        },
        // The service takes pictures of up to 20,000 pixels.
        OptionDefinition(
            "min_width", "PIXELS", standard: "0", help: "show only works at least so wide", of: \.filter.minimumWidth,
            parse: ValueParsers.integer(in: 0...100_000)),
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
            words: onOff, of: \.notesRecent),
        OptionDefinition(
            "share", "WORD", standard: "public",
            help: "what allow_other opens to others: public, or all, with searches, bookmarks and commands",
            words: [("public", false), ("all", true)], of: \.sharesAll),
        OptionDefinition(
            "thumbnails", "WORD", standard: "on",
            help: "whether file managers find thumbnails, made from small previews: on or off",
            words: onOff, of: \.makesThumbnails),
        OptionDefinition(
            "decoding", "WORD", standard: "confined",
            help: "where pictures are decoded: confined, with filtered system calls or not at all, unconfined, or off",
            words: Decoding.allCases.map { ($0.rawValue, $0) }, of: \.decoding),
    ]

    private static let network: [OptionDefinition] = [
        OptionDefinition(
            "metered", "WORD", standard: "auto",
            help: "whether the network is metered, so that nothing is downloaded ahead: auto, yes or no",
            words: MeteredRule.allCases.map { ($0.rawValue, $0) }, of: \.metered),
        OptionDefinition(
            "offline", "WORD", standard: "off",
            help: "whether no request may leave, so that only what is stored is there: on or off",
            words: onOff, of: \.isOffline),
        OptionDefinition(
            "proxy", "URL", standard: "none",
            help: "a proxy: http, https, socks5h, socks5, socks4a or socks4; the environment is not asked",
            mayHoldSecret: true, of: \.proxy
        ) { text throws(Failure) in
            text == "none"
                ? nil : try OriginURL(text, schemes: ["http", "https", "socks5h", "socks5", "socks4a", "socks4"])
        },
        OptionDefinition(
            "user_agent", "TEXT", standard: bySource, help: "the User-Agent of every request", of: \.userAgent,
            parse: ValueParsers.headerText),
        OptionDefinition(
            "rate", "NUMBER", standard: bySource,
            help: "API requests a second once a burst is spent", of: \.rate, parse: ValueParsers.rate(in: 0.01...1000)),
        OptionDefinition(
            "connections", "N", standard: "16", help: "picture downloads at once, 1 to 32", of: \.connections,
            parse: ValueParsers.integer(in: 1...32)),
        // Below 2 s a handshake is not certain to fit; the kernel's own hung-task warning comes at 120 s.
        OptionDefinition(
            "timeout", "SECONDS", standard: "30",
            help: "seconds until every request is answered, whatever the network does, 2 to 110", of: \.timeout,
            parse: ValueParsers.seconds(in: 2...110)),
        OptionDefinition(
            "api_url", "URL", standard: bySource, help: "an origin of your own for listings",
            mayHoldSecret: true, of: \.apiURL, parse: { text throws(Failure) in try plainOrigin(text) }),
        OptionDefinition(
            "image_url", "URL", standard: bySource, help: "an origin of your own for pictures",
            mayHoldSecret: true, of: \.imageURL, parse: { text throws(Failure) in try plainOrigin(text) }),
        OptionDefinition(
            "ca_file", "FILE", standard: "none",
            help: "certificates (PEM) that sign those of api_url, image_url and tier_url", path: \.certificates),
        OptionDefinition(
            name: "cookies", placeholder: "FILE", standard: "what rankfs login stored",
            help: "a cookies.txt with the session to sign in with",
            mayHoldSecret: true
        ) { settings, text, context throws(Failure) in
            if SourceRegistry.mayBeSecret(text) {
                throw .notTaken("the name of a file that holds the cookie, never the cookie itself")
            }
            settings.cookies = try ValueParsers.path(text, relativeTo: context.directory, home: context.home)
        },
    ]

    private static func plainOrigin(_ text: String) throws(Failure) -> OriginURL {
        let url = try OriginURL(text)
        if url.hasUserInfo { throw .notTaken("a URL without user name and password") }
        return url
    }

    private static let tier: [OptionDefinition] = [
        OptionDefinition(
            "tier", "s3://BUCKET/PREFIX", standard: "none",
            help: "a bucket on an object store where machines share what they download", mayHoldSecret: true, of: \.tier
        ) { text throws(Failure) in
            if text == "none" { return nil }
            guard let address = BucketAddress(text) else {
                throw .notTaken(
                    "s3://BUCKET or s3://BUCKET/PREFIX, the bucket of 3 to 63 small letters, digits, - and ., the prefix of letters, digits, - _ . and /"
                )
            }
            return address
        },
        OptionDefinition(
            "tier_url", "URL", standard: "Amazon's", help: "the object store, such as http://nas.local:8333",
            mayHoldSecret: true, of: \.tierURL
        ) { text throws(Failure) in
            let url = try plainOrigin(text)
            guard url.text == url.origin || url.text.lowercased() == url.origin else {
                throw .notTaken("a URL without a path, such as http://nas.local:8333")
            }
            return url
        },
        OptionDefinition(
            "tier_region", "NAME", standard: StorePlace.standardRegion, help: "what the store calls its region",
            of: \.tierRegion
        ) { text throws(Failure) in
            guard (1...64).contains(text.utf8.count),
                text.utf8.allSatisfy({ $0.isDigit || (97...122).contains($0) || $0 == 45 })
            else { throw .notTaken("the name of a region, such as eu-west-1") }
            return text
        },
        OptionDefinition(
            "tier_form", "WORD", standard: "auto",
            help: "where addresses name the bucket: host, path, or auto, which is host at Amazon's store",
            words: [("auto", nil), ("host", .host), ("path", .path)], of: \.tierForm),
        OptionDefinition(
            "tier_owner", "NUMBER", standard: "any",
            help: "the account that must own the bucket; the store refuses others", of: \.tierOwner
        ) { text throws(Failure) in
            // Amazon's numbers of accounts have twelve digits (Amazon S3 User Guide, "Verifying bucket ownership").
            guard text == "any" || text.utf8.count == 12 && text.utf8.allSatisfy({ $0.isDigit }) else {
                throw .notTaken("a number of twelve digits, or any")
            }
            return text == "any" ? nil : text
        },
        OptionDefinition(
            "tier_keys", "FILE", standard: "the places of AWS's tools",
            help: "a file with aws_access_key_id and aws_secret_access_key, which nobody else may read",
            mayHoldSecret: true, path: \.tierKeys),
        OptionDefinition(
            "tier_secret", "FILE", standard: "none",
            help: "a file with a secret of your machines; with one, only what they wrote to the tier is believed",
            mayHoldSecret: true, path: \.tierSecret),
        OptionDefinition(
            "tier_write", "WORD", standard: "on", help: "whether this machine brings anything to the tier: on or off",
            words: onOff, of: \.writesToTier),
        OptionDefinition(
            "tier_private", "WORD", standard: "off",
            help: "whether your machines share what you are shown while signed in: on or off",
            words: onOff, of: \.sharesPrivate),
    ]

    private static let logging: [OptionDefinition] = [
        OptionDefinition(
            "log", "LEVEL", standard: "info", help: "error, warning, info or debug",
            words: LogLevel.allCases.map { ($0.name, $0) }, of: \.logLevel),
        OptionDefinition(
            "log_file", "FILE", standard: "CACHE_DIR/rankfs.log in the background", help: "where log lines go",
            path: \.logFile),
    ]
}
