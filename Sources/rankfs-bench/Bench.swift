import CLinux
import Glibc

/// One run: an origin, a mount of it with an empty cache, and a temporary directory for both.
final class Bench {
    static let latency = 60
    static let rate = 4 * 1024 * 1024
    static let day = "2024-05-01"

    let directory: String
    let mountPoint: String
    private let programs: String
    private var origin: Child
    private(set) var daemon: Child
    private let front: Front?
    private let options: String

    /// Starts the origin with the conditions that the figures are for, and what stands before it on a wire.
    init(programs: String, wire: Wire) {
        self.programs = programs
        var template = Array("/tmp/rankfs-bench-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else {
            fatal("no temporary directory can be made in /tmp; make it writable")
        }
        directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        mountPoint = "\(directory)/mount"
        unsafe mkdir(mountPoint, 0o700)
        origin = Child(
            [
                "\(programs)/rankfs-origin", "--port", "0", "--log", "\(directory)/origin.log", "--latency",
                "\(Self.latency)",
                "--rate", "\(Self.rate)", "--no-chunked", "--large",
            ], output: "\(directory)/origin.out")
        var found = ""
        let announced = "\(directory)/origin.out"
        Self.wait(for: "the origin") { () -> Bool in
            let text = contents(of: announced)
            guard text.hasSuffix("\n"),
                let line = text.split(separator: "\n").first(where: { $0.hasPrefix("listening on ") })
            else { return false }
            found = String(line.dropFirst("listening on ".count))
            return true
        }
        front = wire == .secure ? Front(directory: directory, of: found) : nil
        let url = front?.url ?? found
        options =
            "api_url=\(url),image_url=\(url),cache_dir=\(directory)/cache,rate=1000,cache_free=0"
            + (front.map { ",ca_file=\($0.authority)" } ?? "")
        // Replaced by `mount`; ended already.
        daemon = Child(["true"])
    }

    var dayDirectory: String { "\(mountPoint)/ranking/daily/\(Self.day)" }

    /// Mounts and waits until the mount answers; returns the seconds that took.
    @discardableResult
    func mount() -> Double {
        seconds {
            daemon = Child(
                ["\(programs)/rankfs", "mount", "-f", "pixiv", mountPoint, "-o", options],
                output: "\(directory)/rankfs.log")
            Self.wait(for: "the mount") { size(of: "\(mountPoint)/ranking") >= 0 }
        }
    }

    func unmount() { daemon.terminate() }

    /// Unmounts, forgets everything stored and mounts again.
    func remountEmpty() {
        unmount()
        Child(["rm", "-rf", "\(directory)/cache"]).wait()
        mount()
    }

    func dropPageCache() {
        sync()
        let file = unsafe open("/proc/sys/vm/drop_caches", O_WRONLY)
        guard file >= 0 else { return }
        _ = unsafe write(file, "3", 1)
        Glibc.close(file)
    }

    /// Requests that the origin logged so far: of all kinds, HEADs of pictures, GETs of pictures, and picture bytes sent.
    func requests() -> (all: Int, heads: Int, gets: Int, bytes: Int) {
        var result = (all: 0, heads: 0, gets: 0, bytes: 0)
        for line in contents(of: "\(directory)/origin.log").split(separator: "\n") {
            result.all += 1
            guard line.contains("/img-master/") else { continue }
            if line.contains("\"HEAD\"") { result.heads += 1 } else { result.gets += 1 }
            if let place = line.firstRange(of: "\"bytes\":") {
                result.bytes += Int(line[place.upperBound...].prefix { $0.isNumber }) ?? 0
            }
        }
        return result
    }

    func close() {
        unmount()
        front?.close()
        origin.terminate()
        Child(["rm", "-rf", directory]).wait()
    }

    static func wait(for what: String, _ condition: () -> Bool) {
        for _ in 0..<3000 {
            if condition() { return }
            usleep(5000)
        }
        fatal("\(what) did not come within 15 s; run it by hand to see why")
    }
}
