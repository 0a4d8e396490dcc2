import Glibc
import System

/// A file system that shows the day's pictures: rankfs, or one of its peers.
final class Subject {
    /// The name in the table.
    let name: String
    let mountPoint: String
    /// The directory of the pictures.
    let dayDirectory: String
    /// The directory of the data that outlives a restart.
    let cache: String
    /// The command that mounts in the foreground.
    let command: [String]
    /// Whether the listing and the sizes are requested before the mount answers; the time to mount then counts as listing.
    let listsAtStart: Bool
    /// The daemon; before the first start a process that has ended.
    private(set) var daemon = Child.ended

    /// A subject with its pictures at `place` below its mount point.
    private init(
        _ name: String, _ site: Site, at place: String = "", listsAtStart: Bool = false,
        _ command: (_ mountPoint: String, _ cache: String) -> [String]
    ) {
        self.name = name
        self.listsAtStart = listsAtStart
        mountPoint = "\(site.directory)/\(name)"
        cache = "\(mountPoint).cache"
        dayDirectory = mountPoint + place
        self.command = command(mountPoint, cache)
    }

    /// The file system of this project; thumbnails go below the site's home, not into the user's own store.
    static func rankfs(_ site: Site) -> Subject {
        Subject("rankfs", site, at: "/ranking/daily/\(Site.day)") { mountPoint, cache in
            let authority = site.authority.map { ",ca_file=\($0)" } ?? ""
            return [
                "env", "XDG_CACHE_HOME=\(site.home)", "\(site.programs)/rankfs", "mount", "-f", "pixiv", mountPoint,
                "-o",
                "api_url=\(site.url),image_url=\(site.url),cache_dir=\(cache),rate=1000,cache_free=0\(authority)",
            ]
        }
    }

    /// rclone's mount of the origin's list of the day, with fast settings: files stored whole, many checkers, long time-outs;
    /// nil if rclone is not installed.
    static func rclone(_ site: Site) -> Subject? {
        guard isInstalled("rclone") else { return nil }
        let help = "\(site.directory)/rclone.help"
        Child(["rclone", "mount", "--help"], output: help).wait()
        // Since 1.67, rclone reads several ranges of a file at a time.
        let streams = contents(of: help).contains("--vfs-read-chunk-streams") ? ["--vfs-read-chunk-streams", "16"] : []
        return Subject("rclone", site) { mountPoint, cache in
            [
                "rclone", "mount", ":http:", mountPoint, "--http-url", "\(site.url)/index/daily/\(Site.day)/",
                "--config", "/dev/null", "--cache-dir", cache, "--vfs-cache-mode", "full", "--checkers", "128",
                "--transfers", "16", "--read-only", "--dir-cache-time", "24h", "--attr-timeout", "24h",
                "--vfs-cache-max-age", "24h", "--vfs-read-ahead", "4M",
            ] + streams + (site.authority.map { ["--ca-cert", $0] } ?? [])
        }
    }

    /// httpdirfs on the origin's list of the day, with its cache; nil if it is not installed.
    static func httpdirfs(_ site: Site) -> Subject? {
        guard isInstalled("httpdirfs") else { return nil }
        return Subject("httpdirfs", site, listsAtStart: true) { mountPoint, cache in
            ["httpdirfs", "-f", "--cache", "--cache-location", cache, "--no-range-check"]
                + (site.authority.map { ["--cacert", $0] } ?? [])
                + ["\(site.url)/index/daily/\(Site.day)/", mountPoint]
        }
    }

    /// Mounts with the data of an earlier start and waits for the mount; returns the elapsed seconds.
    @discardableResult
    func start() -> Double {
        unsafe mkdir(mountPoint, 0o700)
        unsafe mkdir(cache, 0o700)
        return seconds {
            daemon = Child(command, output: "\(mountPoint).log")
            wait(for: "the mount of \(name)") { device(of: mountPoint) != device(of: "\(mountPoint)/..") }
        }
    }

    /// Ends the daemon and unmounts if the daemon did not.
    func stop() {
        daemon.terminate()
        if device(of: mountPoint) != device(of: "\(mountPoint)/..") {
            Child(["fusermount3", "-uz", mountPoint]).wait()
        }
    }

    /// Removes all stored data; to be called while unmounted.
    func forget() {
        Child(["rm", "-rf", cache]).wait()
    }

    /// Unmounts, removes all stored data and mounts again; returns the seconds that mounting took.
    @discardableResult
    func startEmpty() -> Double {
        stop()
        forget()
        return start()
    }

    /// The pictures in the order of their ranks; reads names only.
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
        fileStatus(link: path)?.st_dev ?? 0
    }
}
