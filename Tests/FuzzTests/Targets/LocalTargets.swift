import Rankings
import System

@testable import ImageCache
@testable import Pixiv
@testable import rankfs

/// What users write, and what lies on the disk.
extension FuzzTarget {
    static let local: [FuzzTarget] = [
        FuzzTarget(name: "options", longest: 1024, seeds: []) { bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            for sloppy in [false, true] {
                var options = MountOptions()
                guard (try? options.add(list: text, sloppy: sloppy)) != nil else { continue }
                var again = MountOptions()
                try again.add(list: options.list)
                // That the mount is there already is not handed on.
                again.remounts = options.remounts
                try hold(again == options, "\(options.list) handed on is another list")
                try holdSettings(file: nil, options.assignments)
            }
            let words = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
            _ = try? Command.parse(words)
            _ = try? HelperArguments.parse(words)
            _ = HelperArguments.isGiven(words)
        },
        FuzzTarget(name: "configuration", longest: 2048, seeds: []) { bytes in
            try holdSettings(file: String(decoding: bytes, as: UTF8.self), [])
        },
        FuzzTarget(name: "fetch", longest: 256, seeds: []) { bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            if let place = try? FetchPath.place(
                of: text, in: "/home/me", mounts: ["/media/a", "/media/a/b"], canonical: { $0 })
            {
                try hold(
                    !place.path.hasPrefix("/") && !place.path.split(separator: "/").contains(".."), "\(place.path)")
            }
            guard let newest = Day("2026-11-20"),
                let expansion = try? FetchPath.expand(
                    text, of: SourceName.standard.description, newest: { _ in newest })
            else { return }
            try hold((1...FetchPath.longestRange).contains(expansion.paths.count), "\(expansion.paths.count) paths")
        },
        FuzzTarget(name: "cookies", longest: 2048, seeds: []) { bytes in
            for takesBare in [false, true] {
                let found = try? SessionText.cookie(
                    in: bytes, host: "www.pixiv.net", takesBare: takesBare, now: 1_700_000_000)
                if let found { try holdCookie(found) }
            }
            let text = String(decoding: bytes, as: UTF8.self)
            if let cookie = try? SessionText.bare(text) {
                try holdCookie(cookie)
                let secret = cookie.header.utf8.drop { $0 != UInt8(ascii: "_") }.dropFirst()
                let isEvident = secret.count >= 16 && secret.allSatisfy { $0.isDigit || $0.isLetter }
                try hold(
                    !isEvident || SessionText.looksLikeCookie(text), "a cookie that is not refused on the command line")
            }
        },
        FuzzTarget(name: "state", longest: 600, seeds: []) { bytes in
            // As read, and with the seal that only its writer can put there.
            var sealed = Array(bytes.prefix(PartialState.size - 8))
            sealed += Array(repeating: 0, count: PartialState.size - 8 - sealed.count)
            let seal = XXH3.hash(sealed)
            sealed += (0..<8).map { UInt8(truncatingIfNeeded: seal >> UInt64($0 * 8)) }
            for state in [PartialState(bytes), PartialState(sealed)].compactMap(\.self) {
                try hold(state.present.ranges.count <= PartialState.mostRanges, "more ranges than a state has")
                try hold(state.present.count >= 0, "a negative count of bytes")
                let gaps = state.present.gaps(in: 0..<Int64.max)
                try hold(gaps.allSatisfy { !$0.isEmpty && !state.present.contains($0) }, "a gap that is there")
                if state.validator?.utf8.count ?? 0 <= PartialState.longestValidator {
                    try hold(PartialState(state.encoded) == state, "a state is read in two ways")
                }
            }
            if let picture = OlderFormat.picture(footer: Array(bytes.suffix(Int(OlderFormat.footerSize)))) {
                try hold((0...StoredPicture.longest).contains(picture.length), "a length that is no file's")
            }
            if let key = PictureID(name: bytes) { try hold(Array(key.key.utf8) == bytes, "a file has two names") }
            if let name = OlderName(bytes) { try hold(Array(name.name.utf8) == bytes, "a file has two names") }
            if let picture = StoredPicture(name: bytes) {
                try hold(Array(picture.name.utf8) == bytes, "a file has two names")
                try hold((0...StoredPicture.longest).contains(picture.length), "a length that is no file's")
            }
        },
        FuzzTarget(name: "status", longest: 8192, seeds: []) { bytes in
            guard let document = StatusDocument(json: bytes) else { return }
            _ = document.summary(at: document.number("time"))
            _ = document.line(rate: 7, clock: { "\($0)" })
            _ = document.progressSequence(at: document.number("time"))
            var rates = RateMeter()
            rates.look(0, at: 0)
            rates.look(document)
            for (width, height) in [(80, 24), (20, 5), (1, 1), (200, 3)] {
                let frame = WatchFrame(document: document, rate: rates.perSecond, now: 7, clock: { "\($0)" })
                let lines = frame.lines(width: width, height: height, colours: true)
                try hold(lines.count <= height, "more lines than the terminal has")
            }
        },
    ]

    /// Whatever is written, what comes of it lies within the bounds that everything else relies on.
    private static func holdSettings(file: String?, _ assignments: [Assignment]) throws {
        let loader = SettingsLoader(
            file: file.map { ("/etc/rankfs.conf", $0) }, environment: [:], commandLine: assignments, directory: "/work",
            home: "/home/me")
        guard let (settings, _) = try? loader.load() else { return }
        try hold((0.01...1000).contains(settings.rate ?? 1), "a rate out of bounds")
        try hold(settings.timeout >= .seconds(2) && settings.timeout <= .seconds(110), "a deadline out of bounds")
        try hold((1...32).contains(settings.connections), "connections out of bounds")
        try hold((0...8).contains(settings.preload), "a preload out of bounds")
        try hold((0...(1 << 50)).contains(settings.cacheSize), "a cache of \(settings.cacheSize) bytes")
        try hold((0...(1 << 50)).contains(settings.cacheFree), "\(settings.cacheFree) bytes left free")
        try hold((1...100_000).contains(settings.top ?? 1), "top out of bounds")
        try hold((0...100_000).contains(settings.days), "days out of bounds")
        for path in [settings.cacheDirectory, settings.certificates, settings.cookies, settings.logFile] {
            if let path { try hold(path.hasPrefix("/"), "\(path) is relative") }
        }
        try hold(
            (settings.userAgent ?? "").utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }, "a header with control characters")
        try hold(settings.apiURL?.hasUserInfo != true && settings.imageURL?.hasUserInfo != true, "a password in a URL")
    }

    /// Nothing in a cookie can end its line or begin another cookie.
    private static func holdCookie(_ cookie: SessionCookie) throws {
        try hold(cookie.user.rawValue > 0, "a session of nobody")
        try hold(
            cookie.header.dropFirst("Cookie: PHPSESSID=".count).utf8.allSatisfy {
                $0 > 0x20 && $0 < 0x7F && !";,=\"".utf8.contains($0)
            }, "a cookie that does not end where it should")
    }
}
