import Glibc

/// What all subjects are measured on: an origin with the design's conditions, what stands before it on a wire, and a directory.
final class Site {
    /// Milliseconds before each answer.
    static let latency = 60
    /// Bytes a second of each answer.
    static let rate = 4 * 1024 * 1024
    static let day = "2024-05-01"

    /// Of this run; everything of it lies below.
    let directory: String
    /// Where the programs of this project are.
    let programs: String
    let wire: Wire
    /// The pictures of the day by rank, with their sizes; without those that the service withholds.
    private(set) var pictures: [(rank: String, size: Int)] = []
    private let origin: Child
    private let front: Front?
    private let address: String

    /// Starts the origin, and nginx before it where the wire is a secure one.
    init(programs: String, wire: Wire) {
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
                "\(Self.latency)", "--rate", "\(Self.rate)", "--no-chunked", "--large",
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

    /// The address that subjects are given.
    var url: String { front?.url ?? address }

    /// The certificate to trust; nil where none is needed.
    var authority: String? { front?.authority }

    /// Learns the pictures of the day, and has the origin draw those that will be read: that must not be timed.
    func prepare(with subject: any Subject) {
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

    /// Requests that the origin has logged: of all kinds, and of pictures HEADs, GETs and the bytes sent.
    func requests() -> (all: Int, heads: Int, gets: Int, bytes: Int) {
        var result = (all: 0, heads: 0, gets: 0, bytes: 0)
        for line in contents(of: "\(directory)/origin.log").split(separator: "\n") {
            result.all += 1
            guard line.contains("/img-master/") || line.contains(".jpg") else { continue }
            if line.contains("\"HEAD\"") { result.heads += 1 } else { result.gets += 1 }
            if let place = line.firstRange(of: "\"bytes\":") {
                result.bytes += Int(line[place.upperBound...].prefix { $0.isNumber }) ?? 0
            }
        }
        return result
    }

    func close() {
        front?.close()
        origin.terminate()
        Child(["rm", "-rf", directory]).wait()
    }
}

/// Waits until something is so, or ends the benchmark.
func wait(for what: String, _ condition: () -> Bool) {
    for _ in 0..<3000 {
        if condition() { return }
        usleep(5000)
    }
    fatal("\(what) did not come within 15 s; run it by hand to see why")
}

/// Empties the page cache, so that what is read next comes from the disk; needs root.
func dropPageCache() {
    sync()
    let file = unsafe open("/proc/sys/vm/drop_caches", O_WRONLY)
    guard file >= 0 else { return }
    _ = unsafe write(file, "3", 1)
    Glibc.close(file)
}
