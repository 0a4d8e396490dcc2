import Foundation
import Glibc
import Rankings
import TestSupport
import Testing
import Tier

@testable import rankfs

/// A value for every option of the table, and what it must set.
private let samples: [(name: String, value: String, wrong: String, isSet: @Sendable (Settings) -> Bool)] = [
    ("cache_dir", "/c", "", { $0.cacheDirectory == "/c" }),
    ("cache_size", "50M", "1M", { $0.cacheSize == 50 << 20 }),
    ("cache_free", "0", "-1", { $0.cacheFree == 0 }),
    ("images", "small", "large", { $0.rendition == .small }),
    ("pages", "all", "some", { $0.allPages }),
    ("top", "10", "0", { $0.top == 10 }),
    ("days", "30", "0", { $0.days == 30 }),
    ("prefetch", "8", "9", { $0.preload == 8 }),
    ("rating", "sensitive", "x", { $0.choices == ["rating": "sensitive"] }),
    ("ai", "hide", "maybe", { $0.filter.generated == .hide }),
    (
        "tags", "風景;-cat dog", " ",
        { $0.filter.tags == ["風景", "dog"] && $0.filter.refusedTags == ["cat"] }
    ),
    ("min_width", "1200", "-1", { $0.filter.minimumWidth == 1200 }),
    ("orientation", "portrait", "round", { $0.filter.orientation == .portrait }),
    ("withheld", "show", "maybe", { $0.listsWithheld }),
    ("recent", "off", "maybe", { !$0.notesRecent }),
    ("share", "all", "everything", { $0.sharesAll }),
    ("thumbnails", "off", "large", { !$0.makesThumbnails }),
    ("decoding", "unconfined", "on", { $0.decoding == .unconfined }),
    ("metered", "no", "maybe", { $0.metered == .no }),
    ("offline", "on", "yes", { $0.isOffline }),
    ("proxy", "socks5h://127.0.0.1:9050", "gopher://h", { $0.proxy?.text == "socks5h://127.0.0.1:9050" }),
    ("user_agent", "rank viewer/1", "a\u{1}b", { $0.userAgent == "rank viewer/1" }),
    ("rate", "2.5", "fast", { $0.rate == 2.5 }),
    ("connections", "4", "33", { $0.connections == 4 }),
    ("timeout", "10", "1", { $0.timeout == .seconds(10) }),
    ("api_url", "http://127.0.0.1:1", "127.0.0.1", { $0.apiURL?.text == "http://127.0.0.1:1" }),
    ("image_url", "http://127.0.0.1:2", "//h", { $0.imageURL?.text == "http://127.0.0.1:2" }),
    ("ca_file", "/ca.pem", "", { $0.certificates == "/ca.pem" }),
    ("cookies", "/c.txt", "", { $0.cookies == "/c.txt" }),
    ("tier", "s3://pool/home", "pool", { $0.tier?.bucket == "pool" && $0.tier?.prefix?.text == "home" }),
    ("tier_url", "http://127.0.0.1:8333", "http://127.0.0.1/path", { $0.tierURL?.text == "http://127.0.0.1:8333" }),
    ("tier_region", "eu-west-1", "Earth", { $0.tierRegion == "eu-west-1" }),
    ("tier_form", "host", "bucket", { $0.tierForm == .host }),
    ("tier_owner", "123456789012", "me", { $0.tierOwner == "123456789012" }),
    ("tier_keys", "/k", "", { $0.tierKeys == "/k" }), ("tier_secret", "/s", "", { $0.tierSecret == "/s" }),
    ("tier_write", "off", "maybe", { !$0.writesToTier }),
    ("tier_private", "on", "maybe", { $0.sharesPrivate }),
    ("log", "debug", "loud", { $0.logLevel == .debug }),
    ("log_file", "/l", "", { $0.logFile == "/l" }),
]

private func load(
    _ commandLine: [Assignment] = [], environment: [String: String] = [:], file: String? = nil
) throws -> (settings: Settings, warnings: [String]) {
    try SettingsLoader(
        file: file.map { ("rankfs.conf", $0) }, environment: environment, commandLine: commandLine, directory: "/w",
        home: "/home/u"
    ).load()
}

private func onCommandLine(_ words: [String]) throws -> [Assignment] {
    try parsed(["mount"] + words + ["/m"]).arguments.request.options.assignments
}

private func error(_ work: () throws -> Void) -> ProgramError? {
    do {
        try work()
        return nil
    } catch {
        return error as? ProgramError
    }
}

@Suite struct OptionTests {
    @Test func everyOptionHasASample() {
        #expect(samples.map(\.name) == OptionTable.all.map(\.name))
    }

    @Test(arguments: samples.indices)
    func everyPlaceSetsEveryOption(_ index: Int) throws {
        let (name, value, _, isSet) = samples[index]
        let dashed = name.replacing("_", with: "-")
        #expect(!isSet(try load().settings))
        #expect(isSet(try load(onCommandLine(["--\(dashed)", value])).settings))
        #expect(isSet(try load(onCommandLine(["--\(name)=\(value)"])).settings))
        #expect(isSet(try load(onCommandLine(["-o", "\(name)=\(value)"])).settings))
        #expect(isSet(try load(onCommandLine(["-oro,\(dashed)=\(value),nodev"])).settings))
        #expect(isSet(try load(file: "# comment\n\n  \(dashed) = \(value)  # behind\n").settings))
        #expect(isSet(try load(environment: ["RANKFS_\(name.uppercased())": value]).settings))
    }

    @Test(arguments: samples.indices)
    func wrongValuesNameThePlaceAndTheRemedy(_ index: Int) throws {
        let (name, _, wrong, _) = samples[index]
        let inCommand = try #require(error { _ = try load(onCommandLine(["-o", "\(name)=\(wrong)"])) })
        #expect(inCommand.status == .usage)
        #expect(inCommand.message.contains(name) && inCommand.message.contains(": give "))
        let variable = "RANKFS_\(name.uppercased())"
        let inEnvironment = try #require(error { _ = try load(environment: [variable: wrong]) })
        #expect(inEnvironment.status == .configuration)
        #expect(inEnvironment.message.hasPrefix(variable + ": "))
        let inFile = try #require(error { _ = try load(file: "top = 3\n\(name) = \(wrong)\n") })
        #expect(inFile.status == .configuration)
        #expect(inFile.message.hasPrefix("rankfs.conf:2: \(name)"))
    }

    @Test func laterPlacesWin() throws {
        let file = "top = 1\ndays = 1\nprefetch = 1\ntop = 2\n"
        let environment = ["RANKFS_DAYS": "3", "RANKFS_PREFETCH": "3"]
        let settings = try load(
            onCommandLine(["-o", "prefetch=4", "--prefetch", "5"]), environment: environment, file: file
        ).settings
        #expect(settings.top == 2)
        #expect(settings.days == 3)
        #expect(settings.preload == 5)
    }

    @Test func aDemoNeedsNoNetworkWhateverIsConfigured() throws {
        let file = "proxy = http://h:1\noffline = on\napi_url = http://h:2\ntier = s3://pool\ntop = 3\n"
        func demo(_ words: [String] = []) throws -> Settings {
            try SettingsLoader(
                file: ("rankfs.conf", file), environment: ["RANKFS_IMAGE_URL": "http://h:3"],
                commandLine: onCommandLine(words), directory: "/w", home: "/home/u",
                source: SourceName(rawValue: "demo")
            ).load().settings
        }
        let settings = try demo()
        #expect(settings.proxy == nil && settings.apiURL == nil && settings.imageURL == nil && settings.tier == nil)
        #expect(!settings.isOffline && settings.top == 3)
        #expect(try demo(["-o", "offline=on,tier=s3://own"]).isOffline)
        #expect(try demo(["-o", "tier=s3://own"]).tier?.bucket == "own")
    }

    @Test func relativePathsBelongToWhoWroteThem() throws {
        #expect(try load(onCommandLine(["-o", "cache_dir=c"])).settings.cacheDirectory == "/w/c")
        #expect(try load(file: "cache_dir = ~/c").settings.cacheDirectory == "/home/u/c")
        #expect(error { _ = try load(file: "cache_dir = c") }?.status == .configuration)
    }

    @Test func aChoiceOfAnotherSourceLeavesTheDefault() throws {
        for file in ["rating = sensitive", "rating = safe\nrating = sensitive"] {
            let (settings, warnings) = try SettingsLoader(
                file: ("rankfs.conf", file), environment: [:], commandLine: [], source: SourceName(rawValue: "yandere")
            ).load()
            #expect(settings.choices.isEmpty)
            let line = file.split(separator: "\n").count
            #expect(warnings.map { $0.hasPrefix("rankfs.conf:\(line): yandere has no rating \"sensitive\"") } == [true])
        }
        #expect(try load(file: "rating = sensitive").settings.choices == ["rating": "sensitive"])
    }

    @Test func everyWrongLineOfAFileIsTold() throws {
        let failure = try #require(
            error { _ = try load(file: "cach_size = 3M\nnonsense\n= 3\ntop = x\nnothing_like_it = yes\n") })
        #expect(failure.status == .configuration)
        #expect(
            failure.message.split(separator: "\n") == [
                "rankfs.conf:1: option cach_size is unknown; did you mean cache_size?",
                "rankfs.conf:2: expected `key = value`.", "rankfs.conf:3: expected `key = value`.",
                "rankfs.conf:4: top \"x\" is not understood: give a whole number from 1 to 5000.",
                "rankfs.conf:5: option nothing_like_it is unknown; `rankfs help mount` lists all.",
            ])
    }

    @Test func aFileMayBeginWithAByteOrderMark() throws {
        #expect(try load(file: "\u{FEFF}top = 3\n").settings.top == 3)
    }

    @Test func whatIsNoFileIsNotRead() throws {
        let folder = TemporaryFolder()
        let home = Home(variables: ["XDG_CONFIG_HOME": folder.path], userID: 1, passwdHome: nil)
        let path = try #require(home.configurationFile)
        #expect(try SettingsLoader.configurationFile(of: home) == nil)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let expected = "\(path) is no file;"
        #expect(error { _ = try SettingsLoader.configurationFile(of: home) }?.message.hasPrefix(expected) == true)
        #expect(rmdir(path) == 0 && mkfifo(path, 0o600) == 0)
        #expect(error { _ = try SettingsLoader.configurationFile(of: home) }?.message.hasPrefix(expected) == true)
        #expect(unlink(path) == 0 && symlink("/dev/null", path) == 0)
        #expect(try SettingsLoader.configurationFile(of: home)?.text == "")
    }

    @Test func aProxysPasswordIsForTheUserAlone() throws {
        let folder = TemporaryFolder()
        let home = Home(variables: ["XDG_CONFIG_HOME": folder.path], userID: 1, passwdHome: nil)
        let path = try #require(home.configurationFile)
        #expect(SettingsLoader.exposure(of: home) == nil)
        let above = URL(filePath: path).deletingLastPathComponent()
        try FileManager.default.createDirectory(at: above, withIntermediateDirectories: true)
        for (proxy, mode, isTold) in [("u:p@h", 0o644, true), ("u:p@h", 0o600, false), ("h", 0o644, false)] {
            try Data("proxy = http://\(proxy):3128\n".utf8).write(to: URL(filePath: path))
            chmod(path, mode_t(mode))
            #expect((SettingsLoader.exposure(of: home)?.contains("chmod go=") ?? false) == isTold, "\(proxy) \(mode)")
        }
    }

    @Test func aHashBelongsToAValueUnlessABlankGoesBefore() throws {
        #expect(try load(file: "user_agent = a#b # c").settings.userAgent == "a#b")
    }

    @Test func aValueInTheFileLosesItsQuotes() throws {
        let settings = try load(
            file: "tags = \"風景 -sketch\"\ncache_size = \"1G\" # so much\nlog_file=\"/l\"\nuser_agent = \"a\" b\n"
        ).settings
        #expect(settings.filter.tags == ["風景"] && settings.filter.refusedTags == ["sketch"])
        #expect(settings.cacheSize == 1 << 30 && settings.logFile == "/l")
        #expect(settings.userAgent == "\"a\" b", "only quotes around all of it")
        #expect(try load(file: "tags = \"\"a\"\"\n").settings.filter.tags == ["\"a\""])
        for open in ["tags = \"", "tags = \"風景 #1\""] {
            #expect(error { _ = try load(file: open) }?.message.contains("the quote does not end") == true)
        }
        #expect(error { _ = try load(file: "tags = \"\"") } != nil, "nothing is between them")
    }

    /// What help shows as the default may be written.
    @Test func noneIsNoFile() throws {
        let names = OptionTable.all.filter { $0.isPath && $0.standard == "none" }.map(\.name)
        #expect(names == ["ca_file", "tier_secret"])
        for name in names {
            #expect(try load(file: "\(name) = none").settings == Settings())
            let later = try load(onCommandLine(["-o", "\(name)=none"]), file: "\(name) = /x").settings
            #expect(later == Settings())
        }
        #expect(try load(onCommandLine(["-o", "log_file=none"])).settings.logFile == "/w/none")
    }

    @Test func anOptionWithoutANameIsSaidToHaveNone() {
        #expect(OptionTable.complaint(unknown: "").contains("no name"))
        #expect(OptionTable.complaint(unknown: "topp").contains("did you mean top"))
        #expect(!OptionTable.complaint(unknown: "foo").contains("did you mean"))
        #expect(OptionTable.complaint(unknown: "allow_other").hasSuffix("written `-o allow_other`."))
        #expect(OptionTable.complaint(unknown: "max-read").hasSuffix("written `-o max_read=VALUE`."))
        #expect(error { _ = try load(file: "uid = 5") }?.message.hasSuffix("written `-o uid=VALUE`.") == true)
        #expect(!OptionTable.complaint(unknown: "remount").contains("did you mean"))
    }

    @Test func variablesThatNearlyNameAnOptionAreTold() throws {
        let others = [
            "HOME": "/x", "RANKFS": "y", "RANKFS_": "", "RANKFS_DIR": "/srv", "RANKFS_UID": "1", "RANKFS_FUZZ": "1",
        ]
        let variables = others.merging(["RANKFS_TOPP": "1", "RANKFS_CACHE_SISE": "1G"]) { $1 }
        #expect(
            try load(environment: variables).warnings == [
                "RANKFS_CACHE_SISE is ignored: no option has that name; did you mean RANKFS_CACHE_SIZE?",
                "RANKFS_TOPP is ignored: no option has that name; did you mean RANKFS_TOP?",
            ])
        #expect(try load(environment: others).warnings.isEmpty, "they are other programs'")
    }

    @Test func passwordsAreRefusedInPublicAndNeverRepeated() throws {
        let secret = "http://u:hunter2@proxy:3128"
        #expect(try load(file: "proxy = \(secret)").settings.proxy?.text == secret)
        for failure in [
            error { _ = try load(onCommandLine(["-o", "proxy=\(secret)"])) },
            error { _ = try load(file: "proxy = \(secret)?q") },
            error { _ = try load(file: "api_url = \(secret)") },
            error { _ = try load(environment: ["RANKFS_IMAGE_URL": secret]) },
        ] {
            #expect(try #require(failure).message.contains("hunter2") == false)
        }
        // The configuration file would not take it either.
        for name in ["api_url", "image_url", "tier_url"] {
            let failure = error { _ = try load(onCommandLine(["-o", "\(name)=\(secret)"])) }
            #expect(failure?.message == "\(name) is not understood: give a URL without user name and password.")
            #expect(failure?.status == .usage)
        }
    }

    @Test func nearestNames() {
        let names = OptionTable.all.map(\.name)
        #expect(OptionTable.nearest(to: "cachesize", among: names) == "cache_size")
        #expect(OptionTable.nearest(to: "time_out", among: names) == "timeout")
        #expect(OptionTable.nearest(to: "entirely_else", among: names) == nil)
        #expect(OptionTable.nearest(to: String(repeating: "x", count: 100_000), among: names) == nil)
    }

    @Test func helpNamesEveryOption() throws {
        let mounting = try #require(help("mount"))
        for option in OptionTable.all { #expect(mounting.contains("  \(option.name)=\(option.placeholder)")) }
        for command in Command.listed.map(\.name) { #expect(help(command) != nil) }
    }
}
