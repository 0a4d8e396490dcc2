@testable import Boards
import Rankings

/// Answers of image boards, and what is kept of them.
extension FuzzTarget {
    static let boards: [FuzzTarget] = [
        FuzzTarget(
            name: "posts", longest: 16_384,
            seeds: ["BooruTests/Payloads/danbooru", "BooruTests/Payloads/moebooru", "BooruTests/Payloads/pools"]
        ) { bytes in
            guard let root = try? JSONReader.read(bytes) else { return }
            for engine in engines {
                let hosts = hosts(engine)
                var entries = (try? engine.entries(in: root, hosts: hosts)) ?? []
                let told = root.elements.count + root["posts"].elements.count
                try hold(entries.count <= told, "posts were invented")
                if let (entry, fields) = try? engine.record(in: root, hosts: hosts) {
                    entries.append(entry)
                    try holdRecord(entry, fields)
                }
                for post in entries.compactMap(\.post) { try holdPost(post, hosts) }
            }
            let pools = (try? BooruPool.all(in: root)) ?? []
            try hold(pools.allSatisfy { $0.id > 0 }, "a pool has no number")
        },
        FuzzTarget(name: "reference", longest: 2048, seeds: []) { bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            for engine in engines {
                let hosts = hosts(engine)
                guard let files = PostReference.files(text, hosts: hosts) else { continue }
                try holdFiles(files, hosts)
                try hold(
                    PostReference.files(PostReference.text(of: files), hosts: hosts) == files,
                    "files do not come back as they were")
            }
            let place = hosts(engines[0]).place(text)
            try hold(place.map { hosts(engines[0]).isPlace($0) } ?? true, "a place is none")
        },
    ]

    private static let engines: [any BooruEngine] = [
        DanbooruEngine(), MoebooruEngine(.yandere), MoebooruEngine(.konachan),
    ]

    private static func hosts(_ engine: any BooruEngine) -> PictureHosts {
        PictureHosts(hosts: engine.description.access.hosts, home: "cdn.donmai.us")
    }

    private static func holdRecord(_ entry: PostEntry, _ fields: [JSON.Member]) throws {
        guard let post = entry.post else { return }
        var details = WorkDetails(work: post.work)
        details.more = fields
        let document = details.json(pages: ["original.jpg"])
        guard let read = try? JSONReader.read(Array(document.utf8)) else {
            throw BrokenProperty(description: "info.json is no JSON")
        }
        try hold(read["title"].text == post.work.title, "info.json tells another title")
    }

    private static func holdPost(_ post: BooruPost, _ hosts: PictureHosts) throws {
        let work = post.work
        try hold(work.id.rawValue > 0 && work.author.rawValue == 0, "a number is not positive")
        try hold(!work.title.isEmpty && work.title.utf8.count <= 8192, "a title is empty or endless")
        try hold(work.tags.count <= BooruLimits.tags, "more tags than are kept")
        try hold((0...1_000_000).contains(work.width) && (0...1_000_000).contains(work.height), "odd pixels")
        try hold((work.ratings ?? 0) >= 0 && work.uploaded >= 0, "a figure is negative")
        try hold((work.withheld == nil) != work.picture.isEmpty, "withheld and shown at once, or neither")
        if let origin = work.origin {
            try hold(
                origin.utf8.count <= 2100 && origin.lowercased().hasPrefix("http")
                    && origin.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }, "an origin is no address")
        }
        if !work.picture.isEmpty {
            guard let files = PostReference.files(work.picture, hosts: hosts) else {
                throw BrokenProperty(description: "a reference cannot be read back: \(work.picture)")
            }
            try hold(files == post.files, "files do not come back as they were")
            try holdFiles(files, hosts)
        }
        try holdName(FileName.work(work.id, title: work.title, fileExtension: "jpg"))
    }

    /// Files are where pictures may be, and of a format that they may have.
    private static func holdFiles(_ files: PostFiles, _ hosts: PictureHosts) throws {
        for file in [files.original, files.sample, files.still, files.small].compactMap(\.self) {
            let address = hosts.address(of: file.place)
            try hold(hosts.place(address) == file.place, "\(address) is elsewhere")
            try hold(PostFormat.all.contains(file.fileExtension), "\(file.fileExtension) is no format")
            try hold(file.size.map { (1...PictureLimits.largest).contains($0) } ?? true, "a size is out of bounds")
        }
        try hold(files.md5.utf8.count == 32 && files.original.size != nil, "a digest is none")
    }
}
