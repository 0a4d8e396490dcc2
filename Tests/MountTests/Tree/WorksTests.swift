import CLinux
import Foundation
import Testing

extension MountSuite {
    /// Semantics: "Works, animations and originals".
    @Suite struct WorksTests {
        @Test func everyPageOfAWorkCopiesWhole() async throws {
            try await withMount { workplace, origin, mount in
                let work = "\(mount.path)/works/\(Works.twelvePages)"
                let names = try mount.names(work)
                #expect(Set(names) == Set((0..<12).map { "p\($0).png" } + ["info.json"]))
                let copies = try workplace.folder("copies")
                #expect(try workplace.run(["cp", "-a"] + names.map { "\(work)/\($0)" } + [copies]).status == 0)
                for page in 0..<12 {
                    let copy = try Data(contentsOf: URL(filePath: "\(copies)/p\(page).png"))
                    #expect(copy == (try origin.fetch(try origin.original(of: Works.twelvePages, page: page))))
                    #expect(Int64(copy.count) == Int64(try status(of: "\(work)/p\(page).png").st_size))
                }
                let record = try object(read("\(work)/info.json").get())
                #expect(record["id"] as? Int == Works.twelvePages)
                #expect(record["page_count"] as? Int == 12)
                #expect(record["pages"] as? [String] == (0..<12).map { "p\($0).png" })
                #expect(try status(of: "\(work)/info.json").st_size == read("\(work)/info.json").get().count)
                #expect(try mount.names("\(mount.path)/works") == ["\(Works.twelvePages)"])
            }
        }

        /// What is made anew for each reader goes past the page cache; Linux 6.6 is the first to map that.
        @Test(.enabled(if: (try? Self.kernel()).map { $0 >= (6, 6) } ?? false))
        func textsCanBeMapped() async throws {
            try await withMount { workplace, origin, mount in
                for name in ["works/\(Works.twelvePages)/info.json", "users/1001/profile.json", ".rankfs/status.json"] {
                    let file = open("\(mount.path)/\(name)", O_RDONLY)
                    defer { close(file) }
                    var status = stat()
                    #expect(file >= 0 && fstat(file, &status) == 0)
                    let count = Int(status.st_size)
                    let mapped = mmap(nil, count, PROT_READ, MAP_SHARED, file, 0)
                    guard let mapped, mapped != MAP_FAILED else {
                        Issue.record("\(name): \(String(cString: strerror(errno)))")
                        continue
                    }
                    let text = Data(bytes: mapped, count: count)
                    munmap(mapped, count)
                    var bytes = [UInt8](repeating: 0, count: count + 1)
                    #expect(
                        pread(file, &bytes, bytes.count, 0) == count && text.elementsEqual(bytes.dropLast()), "\(name)")
                }
            }
        }

        private static func kernel() throws -> (Int, Int) {
            let parts = try String(contentsOfFile: "/proc/sys/kernel/osrelease", encoding: .utf8).split { !$0.isNumber }
            return (Int(parts[0]) ?? 0, Int(parts[1]) ?? 0)
        }

        @Test func theFullRecordIsAskedForOnlyWhenItIsNeeded() async throws {
            try await withMount { workplace, origin, mount in
                let picture = try mount.picture(1, in: mount.day())
                let work = try #require(extendedAttribute("user.rankfs.work", of: picture))
                let record = "/ajax/illust/\(work)"
                _ = try mount.names("\(mount.path)/works/\(work)")
                #expect(!origin.requests.contains { $0.path == record })
                _ = try read("\(mount.path)/works/\(work)/info.json").get()
                _ = try read("\(mount.path)/works/\(work)/info.json").get()
                #expect(origin.requests.filter { $0.path == record }.count == 1)
                let caption = "\(mount.path)/works/\(Works.fullCaption)/info.json"
                let text = try #require(try object(read(caption).get())["caption"] as? String)
                #expect(!text.contains("<br") && !text.contains("href") && text.contains("<3") && text.contains("\n"))
            }
        }

        @Test func anAnimationIsServedFourWays() async throws {
            try await withMount { workplace, origin, mount in
                let work = "\(mount.path)/works/\(Works.animation)"
                #expect(
                    Set(try mount.names(work)) == [
                        "p0.jpg", "info.json", "ugoira.zip", "ugoira.mkv", "ugoira.webp", "ugoira.gif",
                    ])
                let meta = try object(origin.fetch("/ajax/illust/\(Works.animation)/ugoira_meta"))["body"]
                let told = try #require(meta as? [String: Any])
                let frames = try #require(told["frames"] as? [[String: Any]])
                let delays = frames.compactMap { $0["delay"] as? Int }
                #expect(delays.count == 60)
                // Sizes first: they are true before anything is read.
                let size = try status(of: "\(work)/ugoira.mkv").st_size
                #expect(!origin.downloads.contains { $0.range == nil && $0.path.hasSuffix(".zip") })
                let matroska = try read("\(work)/ugoira.mkv").get()
                #expect(matroska.count == size)
                #expect(
                    try read("\(work)/ugoira.mkv", offset: Int64(size) / 2, count: 5000).get()
                        == matroska[(matroska.count / 2)..<(matroska.count / 2 + 5000)])
                let packets = try workplace.run(
                    "ffprobe", "-v", "error", "-show_entries", "packet=duration_time", "-of", "csv=p=0",
                    "\(work)/ugoira.mkv")
                #expect(
                    packets.lines.compactMap { Double($0.filter { $0 != "," }) }.map { Int(($0 * 1000).rounded()) }
                        == delays)
                let source = try #require(told["originalSrc"] as? String)
                let zip = try origin.fetch(URL(string: source)?.path ?? "")
                #expect(try read("\(work)/ugoira.zip").get() == zip)
                let webp = try read("\(work)/ugoira.webp").get()
                #expect(webp.count == Int(try status(of: "\(work)/ugoira.webp").st_size))
                #expect(webp.starts(with: Array("RIFF".utf8)))
                let gif = try read("\(work)/ugoira.gif").get()
                #expect(gif.count == Int(try status(of: "\(work)/ugoira.gif").st_size))
                let shown = try workplace.run(
                    "ffprobe", "-v", "error", "-show_entries", "packet=duration_time", "-of", "csv=p=0",
                    "\(work)/ugoira.gif")
                #expect(
                    shown.lines.compactMap { Double($0.filter { $0 != "," }) }.map { Int(($0 * 1000).rounded()) }
                        == delays)
                let decoded = try workplace.run("ffmpeg", "-v", "error", "-i", "\(work)/ugoira.gif", "-f", "null", "-")
                #expect(decoded.status == 0 && decoded.errors.isEmpty, "\(decoded.errors)")
                // Everything that was seen works without the service.
                origin.stop()
                #expect(try read("\(work)/ugoira.mkv").get() == matroska)
                #expect(try read("\(work)/ugoira.gif").get() == gif)
                #expect(try read("\(work)/ugoira.webp").get() == webp)
                // Encoded files can be dropped as pictures can; what is open for the kernel yet stays for a moment.
                for (path, dropped) in [("\(work)/ugoira.gif", 1), (work, 2)] {
                    var left = dropped
                    #expect(
                        poll {
                            let output = try? workplace.rankfs("evict", path).output
                            left -= Int(output?.split(separator: " ").dropFirst().first ?? "") ?? 0
                            return left <= 0
                        }, "\(path)")
                }
                #expect(throws: (any Error).self) { try read("\(work)/ugoira.gif").get() }
            }
        }

        /// Rank 78 is listed and not shown in this country: its record says so, its pages are said not to be there.
        @Test func whatACountryMayNotSeeIsWithheldNotGone() async throws {
            try await withMount { workplace, origin, mount in
                let entry = try #require(try origin.ranking().first { $0.rank == 78 })
                for _ in 0..<2 {
                    let listed = try workplace.run("ls", "\(mount.path)/works/\(entry.work)")
                    #expect(listed.status != 0 && listed.errors.contains("Permission denied"), "\(listed.errors)")
                    // As one that a listing told it does not look either.
                    _ = try mount.names(mount.day())
                }
                #expect(poll { mount.child.errorText.contains("the service withholds this (location)") })
                #expect(!mount.child.errorText.contains("gone"))
            }
        }

        @Test func originalsHaveTheirOwnNamesAndBytes() async throws {
            try await withMount(options: ["images=original", "top=20"]) { workplace, origin, mount in
                let names = try mount.names(mount.day())
                #expect(names.contains { $0.hasSuffix(".png") } && names.contains { $0.hasSuffix(".jpg") })
                // The image host tells the formats: the service is asked for rankings alone.
                #expect(!origin.requests.contains { $0.path.hasPrefix("/ajax/") })
                for entry in try origin.ranking().prefix(6) where !entry.isWithheld {
                    let path = try mount.picture(entry.rank, in: mount.day())
                    let original = try origin.original(of: entry.work, page: 0)
                    #expect(path.hasSuffix(".\(original.split(separator: ".").last ?? "")"))
                    #expect(try read(path).get() == (try origin.fetch(original)), "\(path)")
                }
                let catalog = try mount.figures("catalog")
                #expect(catalog["original_questions_to_host"] as? Int ?? 0 > 0)
                #expect(catalog["original_questions_to_service"] as? Int == 0)
            }
        }

        @Test func anOriginalThatFailsForGoodIsReplacedByItsRendition() async throws {
            try await withMount(options: ["images=original"]) { workplace, origin, mount in
                let path = try mount.picture(77, in: mount.day())
                #expect(path.hasSuffix(".jpg"))
                let entry = try #require(try origin.ranking().first { $0.rank == 77 })
                #expect(try read(path).get() == (try origin.fetch(entry.picture)))
                #expect(poll { mount.child.errorText.contains("no original of work \(entry.work)") })
            }
        }

        @Test func allPagesAreEntriesIfWanted() async throws {
            try await withMount(options: ["pages=all"]) { workplace, origin, mount in
                let names = try mount.names(mount.day())
                let first = names.filter { !$0.contains("_p") }
                #expect(first.count == (try origin.ranking().count))
                let further = try #require(names.first { $0.hasSuffix("_p1.jpg") })
                let path = "\(mount.day())/\(further)"
                #expect(extendedAttribute("user.rankfs.page", of: path) == "1")
                let rank = Int(further.prefix(3)) ?? 0
                let entry = try #require(try origin.ranking().first { $0.rank == rank })
                let picture = entry.picture.replacingOccurrences(of: "_p0_", with: "_p1_")
                #expect(try read(path).get() == (try origin.fetch(picture)))
            }
        }
    }
}

/// Works of the origin that have what is rare elsewhere.
enum Works {
    static let animation = 900_600_000
    static let twelvePages = 900_600_001
    static let fullCaption = 900_600_006
}

/// A JSON object.
func object(_ data: Data) throws -> [String: Any] {
    try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
}

extension OriginProcess {
    /// The path of a page's original, as the service tells it.
    func original(of work: some BinaryInteger, page: Int) throws -> String {
        let answer = try object(fetch("/ajax/illust/\(work)/pages"))
        let pages = answer["body"] as? [[String: Any]] ?? []
        let url = (pages[page]["urls"] as? [String: Any])?["original"] as? String
        return url.flatMap { URL(string: $0)?.path } ?? ""
    }
}
