import CLinux
import Glibc

/// A file system that shows the day's pictures: rankfs, or one of its peers.
protocol Subject: AnyObject {
    /// What the table calls it.
    var name: String { get }
    var mountPoint: String { get }
    /// Where the pictures are.
    var dayDirectory: String { get }
    /// What it keeps over restarts.
    var cache: String { get }
    /// The daemon; ended before the first start.
    var daemon: Child { get set }
    /// The command that mounts in the foreground.
    var command: [String] { get }
    /// Whether it asks for the listing and the sizes before the mount answers, which then is part of listing.
    var listsAtStart: Bool { get }
}

extension Subject {
    var listsAtStart: Bool { false }

    /// Mounts with what an earlier start left, and waits for the answer; returns the seconds that took.
    @discardableResult
    func start() -> Double {
        unsafe mkdir(mountPoint, 0o700)
        unsafe mkdir(cache, 0o700)
        return seconds {
            daemon = Child(command, output: "\(mountPoint).log")
            wait(for: "the mount of \(name)") { device(of: mountPoint) != device(of: "\(mountPoint)/..") }
        }
    }

    /// Ends the daemon, which is to unmount.
    func stop() {
        daemon.terminate()
        if device(of: mountPoint) != device(of: "\(mountPoint)/..") {
            Child(["fusermount3", "-uz", mountPoint]).wait()
        }
    }

    /// Forgets everything that is stored; while it is not mounted.
    func forget() {
        Child(["rm", "-rf", cache]).wait()
    }

    /// Unmounts, forgets everything stored and mounts again; returns the seconds that the mounting took.
    @discardableResult
    func startEmpty() -> Double {
        stop()
        forget()
        return start()
    }

    /// The pictures in the order of their ranks; asks for names only.
    func files() -> [(rank: String, path: String)] {
        names(in: dayDirectory).sorted().map {
            (rank: String($0.prefix { $0 != "-" }), path: "\(dayDirectory)/\($0)")
        }
    }

    /// The paths of pictures that have bytes, in the order of their ranks.
    func paths(_ site: Site) -> [String] {
        let known = Set(site.pictures.map(\.rank))
        return files().filter { known.contains($0.rank) }.map(\.path)
    }

    /// The path of a picture.
    func path(ofRank rank: String) -> String { files().first { $0.rank == rank }?.path ?? "" }

    private func device(of path: String) -> dev_t {
        var status = stat()
        return unsafe lstat(path, &status) == 0 ? status.st_dev : 0
    }
}

/// The file system of this project.
final class Rankfs: Subject {
    let name = "rankfs"
    let mountPoint: String
    let cache: String
    var daemon = Child.ended
    private let site: Site

    init(_ site: Site) {
        self.site = site
        mountPoint = "\(site.directory)/rankfs"
        cache = "\(site.directory)/rankfs.cache"
    }

    var dayDirectory: String { "\(mountPoint)/ranking/daily/\(Site.day)" }
    /// Where thumbnails go, in place of the user's own store.
    var home: String { "\(site.directory)/home" }

    var command: [String] {
        let authority = site.authority.map { ",ca_file=\($0)" } ?? ""
        return [
            "env", "XDG_CACHE_HOME=\(home)", "\(site.programs)/rankfs", "mount", "-f", "pixiv", mountPoint, "-o",
            "api_url=\(site.url),image_url=\(site.url),cache_dir=\(cache),rate=1000,cache_free=0\(authority)",
        ]
    }
}

/// rclone's mount of the origin's list of the day, with what makes it fast: files kept whole, many checkers, long time-outs.
final class Rclone: Subject {
    let name = "rclone"
    let mountPoint: String
    let cache: String
    var daemon = Child.ended
    private let site: Site
    private let extras: [String]

    /// Nil where rclone is not installed.
    init?(_ site: Site) {
        self.site = site
        mountPoint = "\(site.directory)/rclone"
        cache = "\(site.directory)/rclone.cache"
        let help = "\(site.directory)/rclone.help"
        guard isInstalled("rclone") else { return nil }
        Child(["rclone", "mount", "--help"], output: help).wait()
        // Since 1.67: several ranges of a file at a time.
        extras = contents(of: help).contains("--vfs-read-chunk-streams") ? ["--vfs-read-chunk-streams", "16"] : []
    }

    var dayDirectory: String { mountPoint }

    var command: [String] {
        let authority = site.authority.map { ["--ca-cert", $0] } ?? []
        return [
            "rclone", "mount", ":http:", mountPoint, "--http-url", "\(site.url)/index/daily/\(Site.day)/", "--config",
            "/dev/null",
            "--cache-dir", cache, "--vfs-cache-mode", "full", "--checkers", "128", "--transfers", "16", "--read-only",
            "--dir-cache-time", "24h", "--attr-timeout", "24h", "--vfs-cache-max-age", "24h", "--vfs-read-ahead", "4M",
        ] + extras + authority
    }
}

/// httpdirfs on the origin's list of the day, with its cache.
final class Httpdirfs: Subject {
    let name = "httpdirfs"
    let mountPoint: String
    let cache: String
    var daemon = Child.ended
    private let site: Site

    /// Nil where httpdirfs is not installed.
    init?(_ site: Site) {
        self.site = site
        mountPoint = "\(site.directory)/httpdirfs"
        cache = "\(site.directory)/httpdirfs.cache"
        guard isInstalled("httpdirfs") else { return nil }
    }

    var dayDirectory: String { mountPoint }
    var listsAtStart: Bool { true }

    var command: [String] {
        [
            "httpdirfs", "-f", "--cache", "--cache-location", cache, "--no-range-check",
        ] + (site.authority.map { ["--cacert", $0] } ?? []) + ["\(site.url)/index/daily/\(Site.day)/", mountPoint]
    }
}

/// Whether a program is in the usual places.
func isInstalled(_ program: String) -> Bool {
    ["/usr/local/bin", "/usr/bin"].contains { unsafe access("\($0)/\(program)", X_OK) == 0 }
}
