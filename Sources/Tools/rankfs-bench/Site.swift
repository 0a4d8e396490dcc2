import Glibc

/// The environment of all subjects: an origin with the design's conditions, the front before it on a secure wire, and a directory.
final class Site {
    /// Milliseconds before each answer, by default.
    static let latency = 60
    /// Bytes a second of each answer.
    static let rate = 4 * 1024 * 1024
    static let day = "2024-05-01"

    /// The directory of this run, which holds all of its files.
    let directory: String
    /// The directory of this project's programs.
    let programs: String
    let wire: Wire
    /// The pictures of the day by rank, with their sizes; without withheld entries.
    private(set) var pictures: [(rank: String, size: Int)] = []
    private let origin: Child
    private let front: Front?
    private let address: String

    /// Starts the origin, and nginx before it on the secure wire.
    init(programs: String, wire: Wire, latency: Int = Site.latency) {
        self.programs = programs
        self.wire = wire
        var template = Array("/tmp/rankfs-bench-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else {
            fatal("no temporary directory can be made in /tmp; make it writable")
        }
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        origin = Child(
            [
                "\(programs)/rankfs-origin", "--port", "0", "--log", "\(directory)/origin.log", "--latency",
                "\(latency)", "--rate", "\(Self.rate)", "--no-chunked", "--large",
            ], output: "\(directory)/origin.out")
        var found = ""
        let announced = "\(directory)/origin.out"
        wait(for: "the origin") { () -> Bool in
            let text = contents(of: announced)
            guard text.hasSuffix("\n"),
                let line = text.split(separator: "\n").first(where: { $0.hasPrefix("listening on ") })
            else { return false }
            found = String(line.dropFirst("listening on ".count))
            return true
        }
        address = found
        front = wire == .secure ? Front(directory: directory, of: found) : nil
    }

    /// The address that subjects use.
    var url: String { front?.url ?? address }

    /// The directory of thumbnails, in place of the user's own store.
    var home: String { "\(directory)/home" }

    /// The certificate to trust; nil without TLS.
    var authority: String? { front?.authority }

    /// Finds the pictures of the day and makes the origin draw those that will be read, so that no measurement includes drawing.
    func prepare(with subject: Subject) {
        subject.start()
        pictures = subject.files().map { (rank: $0.rank, size: size(of: $0.path)) }.filter { $0.size > 0 }
        let wanted = Set(pictures.prefix(130).map(\.rank) + largest.prefix(2).map(\.rank))
        let paths = subject.files().filter { wanted.contains($0.rank) }.map(\.path)
        onThreads(8) { reader in
            for number in stride(from: reader, to: paths.count, by: 8) { readFile(paths[number]) }
        }
        subject.stop()
        subject.forget()
    }

    /// The pictures, the largest first.
    var largest: [(rank: String, size: Int)] { pictures.sorted { $0.size > $1.size } }

    /// An answered request for a picture's bytes, or for its size, which brings none; it began so many milliseconds after the origin.
    typealias Sent = (began: Int, path: Substring, bytes: Int)

    /// Bytes of pictures that the origin has sent so far.
    var sentBytes: Int { sent().reduce(0) { $0 + $1.bytes } }

    /// The origin's logged answers about pictures, after the first `lines` lines of its log.
    func sent(after lines: Int = 0) -> [Sent] {
        contents(of: log).split(separator: "\n").dropFirst(lines).compactMap { line in
            guard line.contains("/img-master/") || line.contains(".jpg") else { return nil }
            return (
                Self.number(in: line, after: "\"t\":"), Self.text(in: line, after: "\"path\":\""),
                Self.number(in: line, after: "\"bytes\":")
            )
        }
    }

    /// The number of lines of the origin's log so far.
    var logged: Int { contents(of: log).split(separator: "\n").count }

    private var log: String { "\(directory)/origin.log" }

    private static func number(in line: Substring, after key: String) -> Int {
        line.firstRange(of: key).flatMap { Int(line[$0.upperBound...].prefix { $0.isNumber }) } ?? 0
    }

    private static func text(in line: Substring, after key: String) -> Substring {
        line.firstRange(of: key).map { line[$0.upperBound...].prefix { $0 != "\"" } } ?? ""
    }

    func close() {
        front?.close()
        origin.terminate()
        Child(["rm", "-rf", directory]).wait()
    }
}
