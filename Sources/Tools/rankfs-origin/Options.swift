import Glibc
import Origin

/// The command line of `rankfs-origin`.
struct Options {
    var configuration: OriginServer.Configuration
    /// A socket to the program that this one serves, and ends with.
    var parent: Int32?

    /// Why the command line cannot be used, or that only help was asked for.
    enum Problem: Error {
        case help
        case usage(String)
    }

    /// Reads the arguments after the program's name.
    init(_ arguments: [String]) throws(Problem) {
        configuration = OriginServer.Configuration(now: Self.clock(startingAt: nil))
        var rest = arguments[...]
        while let option = rest.popFirst() {
            switch option {
            case "--help", "-h":
                throw .help
            case "--no-chunked":
                configuration.chunks = false
            case "--large":
                configuration.large = true
            case "--unsafe":
                configuration.allRatings = true
            case "--old-records":
                configuration.oldRecords = true
            case "--service", "--log", "--replay", "--faults", "--port", "--seed", "--latency", "--rate", "--now",
                "--parent":
                guard let value = rest.popFirst() else { throw .usage("\(option) needs a value: see --help.") }
                try set(option, to: value)
            default:
                throw .usage("\(option) is no option of rankfs-origin: see --help.")
            }
        }
    }

    private mutating func set(_ option: String, to value: String) throws(Problem) {
        switch option {
        case "--service": configuration.service = try service(value)
        case "--log": configuration.log = value
        case "--replay": configuration.replay = value
        case "--faults": configuration.faults = value
        case "--port": configuration.port = try number(option, value)
        case "--seed": configuration.seed = try number(option, value)
        case "--latency": configuration.latency = Int(try number(option, value) as UInt32)
        case "--parent": parent = try number(option, value)
        case "--rate": configuration.rate = Int(max(1, try number(option, value) as UInt32))
        default: configuration.now = Self.clock(startingAt: Int64(try number(option, value) as UInt32))
        }
    }

    private func service(_ name: String) throws(Problem) -> OriginServer.Service {
        guard let service = OriginServer.Service(rawValue: name) else {
            let names = OriginServer.Service.allCases.map(\.rawValue).joined(separator: ", ")
            throw .usage("--service is one of \(names), not \(name).")
        }
        return service
    }

    private func number<Number: FixedWidthInteger>(_ option: String, _ text: String) throws(Problem) -> Number {
        guard let number = Number(text) else {
            throw .usage("\(option) needs a whole number from 0 to \(Number.max), not \(text).")
        }
        return number
    }

    /// The machine's clock, or one that starts at a given moment and runs on.
    private static func clock(startingAt start: Int64?) -> @Sendable () -> Int64 {
        guard let start else { return { Int64(time(nil)) } }
        let begun = Int64(time(nil))
        return { start + Int64(time(nil)) - begun }
    }

    static let help = """
        usage: rankfs-origin [OPTION]...

        Serves the API and the picture hosts of a service on 127.0.0.1 and draws every picture itself. Prints one line,
        "listening on http://127.0.0.1:PORT", when it is ready; ends on SIGTERM or SIGINT.

          --service S    pixiv (the default), danbooru, yandere or konachan
          --port N       listen on this port; 0, the default, picks a free one
          --seed N       another universe of works, authors and pictures (default 1)
          --latency MS   wait before each answer
          --rate BYTES   send at most so many bytes a second on each connection
          --log FILE     append one JSON line per request: t, end (ms since the start), connection, method, path,
                         range, status, bytes (of the body), completed, fault,
                         signed_in
          --replay DIR   answer from recorded answers (*.json anywhere below DIR) and draw the pictures they name
          --faults FILE  scripted faults, one JSON object a line; read again when the file changes, and replaced by
                         what is posted to /_control; POST /_control/expire-sessions and
                         /_control/renew-sessions make all sessions invalid and valid
                         {"action":"challenge","path":"/ranking.php?"} is a front that lets in browsers only; "status":
                         403 (the default), 429, 503; "kind": cloudflare, old, ddos-guard, blocked; "lets": the text of
                         a cookie, or a User-Agent, that passes
          --now SECONDS  start the clock at this moment (Unix time); rankings appear at noon in Japan
          --parent FD    tell it on this descriptor, not on standard output, and end when its other end is closed
          --no-chunked   tell the length of every picture (else one in ten comes without)
          --unsafe       Danbooru with every rating, as danbooru.donmai.us has it; without, only rating g exists, as on
                         safebooru.donmai.us (a request with one of these hosts in its Host header is answered so)
          --old-records  Moebooru's records with the 36 keys of 2015 to 2023 instead of 44
          --large        1200-pixel renditions of 0.1 to 12 MB, 1.5 MB on average, as benchmarks want them

        /index/MODE/DAY/ lists a day's pictures with links, for file systems over HTTP: rclone, httpdirfs.

        Authors to try besides those of the rankings: 1001 has 5000 works, 1002 one, 1003 none, 1004 2000 (half of
        them comics), 1005 exactly 100, 1006 101 and a name that file systems dislike, 1007 one of each rare kind: work
        900600000 is an animation of 60 frames, 900600001 has 12 pages of PNG, the original of 900600002 answers 500, as
        does that of rank 77 of each day. Pictures are answered only to requests with a Referer of www.pixiv.net, as the
        real host does.

        The cookie PHPSESSID=1000_visitorsecret signs in user 1000, who has bookmarks and follows authors; so does
        <user>_<at least 8 letters or digits> for every other user. User 1008 follows 2100 authors.

        Danbooru and the Moebooru sites: addresses in their answers are the real ones (https://cdn.donmai.us/...,
        https://files.yande.re/..., https://konachan.net/...); the same paths are served here. md5 and file_size are those of
        the bytes served. Danbooru answers nobody without a User-Agent or with a browser's. Posts to try, the first and best
        of 2024-04-30, whose numbers start at 10622977 (danbooru), 829697 (yandere) and 380929 (konachan):
        +0 plain, +1 banned, +2 deleted, +3 mp4, +4 webm, +5 zip, +6 webp, +7 avif, +8 no artist, +9 hostile tags,
        +10 a PNG for fault scripts, +11 small, +12 gif, +13 three artists, +14 child of +0, +15 restricted, +16 expunged,
        +17 and +18 sources at pixiv, +19 free text, +20 no source, +21 pending, +22 flagged, +23 many tags, +24 large.
        (zip and avif are gif on Moebooru, where banned and restricted do not exist.) The tag slow_query takes Danbooru too
        long; busy_artist has many posts. Searches without a day look through the newest 60 (Moebooru 400) days.
        With --replay, recorded posts answer every search; their md5, file_size and addresses are changed to those of
        pictures drawn for them, at most two megapixels large.

        """
}
