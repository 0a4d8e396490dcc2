import CLinux
import Foundation
import Testing

extension MountSuite {
    /// Semantics: "Fetching ahead".
    @Suite struct FetchTests {
        private static let range = "2024-05-01..2024-05-03"
        private static let days = ["2024-05-01", "2024-05-02", "2024-05-03"]

        private func fetch(_ workplace: Workplace, _ words: String..., before: [String] = []) throws -> Output {
            try workplace.run(before + [Workplace.rankfs, "fetch"] + words, upTo: 120)
        }

        @Test(arguments: Service.allCases) func aRangeIsExportedWholeAndOnce(service: Service) async throws {
            try await withMount(service, options: ["top=12", "prefetch=2"]) { workplace, origin, mount in
                let folder = workplace.directory.appending(path: "out").path
                let words = ["\(mount.path)/ranking/\(service.daily)/\(Self.range)", "--to", folder, "--sidecars"]
                let estimate = try fetch(workplace, words[0], "--dry-run")
                #expect(estimate.status == 0 && estimate.output.contains("3 listings, about 30 requests"))
                #expect(origin.requests.isEmpty, "an estimate of unknown days asks nobody")

                let first = try fetch(workplace, words[0], words[1], words[2], words[3])
                #expect(first.status == 0, "\(first.output)\(first.errors)")
                if service == .pixiv {
                    // Days that are listed anyway: a known one costs no request.
                    let listed = try mount.names("\(mount.path)/ranking/\(service.daily)").filter { $0 != "latest" }
                    let recent = "\(mount.path)/ranking/\(service.daily)/\(listed.sorted().dropLast().last ?? "")"
                    #expect(try fetch(workplace, recent, "--dry-run").output.contains("to ask     1 listing"))
                    _ = try mount.names(recent)
                    let known = try fetch(workplace, recent, "--dry-run").output
                    #expect(known.contains("in 1 known listing") && !known.contains("to ask"), "\(known)")
                }
                #expect(
                    first.output.unicodeScalars.allSatisfy { $0 == "\n" || $0.value >= 0x20 }, "no control characters")
                var withheld = 0
                for day in Self.days {
                    let entries = try origin.ranking("daily", day)
                    let names = try mount.names(mount.day(nil, day))
                    #expect(names.count == 12)
                    for (name, entry) in zip(names, entries) {
                        let (source, copy) = (
                            "\(mount.day(nil, day))/\(name)", "\(folder)/ranking/\(service.daily)/\(day)/\(name)"
                        )
                        guard !entry.isWithheld else {
                            withheld += 1
                            #expect(!FileManager.default.fileExists(atPath: copy))
                            continue
                        }
                        #expect(try Data(contentsOf: URL(filePath: copy)) == origin.fetch(entry.picture), "\(name)")
                        let (there, here) = try (status(of: source), status(of: copy))
                        #expect(there.st_mtim.tv_sec == here.st_mtim.tv_sec && here.st_mtim.tv_nsec == 0)
                        #expect(here.st_mode & 0o777 == 0o644)
                        try expectSameAttributes(source, copy)
                        try expectSidecar(of: entry, "\(copy).json", day: day)
                    }
                }
                #expect(first.output.contains("withheld by the service") == (withheld > 0))
                #expect(files(below: folder).count == (36 - withheld) * 2, "nothing else is left")

                let before = origin.requests.count
                let inodes = try files(below: folder).sorted().map { try status(of: "\(folder)/\($0)").st_ino }
                let second = try fetch(workplace, words[0], words[1], words[2], words[3])
                #expect(
                    second.status == 0 && second.output.contains("\(36 - withheld) there already"), "\(second.output)")
                #expect(!second.output.contains(" fetched ("))
                #expect(origin.requests.count == before, "a second run asks nothing")
                #expect(try files(below: folder).sorted().map { try status(of: "\(folder)/\($0)").st_ino } == inodes)
            }
        }

        private func expectSameAttributes(_ source: String, _ copy: String) throws {
            // A file system without attributes takes none, which the program says.
            guard extendedAttribute("user.rankfs.work", of: copy) != nil else { return }
            for name in ["rankfs.rank", "rankfs.views", "dublincore.title", "xdg.tags", "xdg.origin.url", "mime_type"] {
                let value = extendedAttribute("user.\(name)", of: source)
                #expect(value == extendedAttribute("user.\(name)", of: copy), "\(name)")
            }
            #expect(state(of: copy) == nil, "tells of the mount only")
        }

        private func expectSidecar(of entry: OriginEntry, _ path: String, day: String) throws {
            let data = try Data(contentsOf: URL(filePath: path))
            let json = try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
            #expect(json["work"] as? Int64 == entry.work && json["rank"] as? Int == entry.rank)
            #expect(json["date"] as? String == day)
            // The attribute is one comma-separated text, so a comma within a tag is full-width there.
            let tags = entry.tags.map { $0.replacingOccurrences(of: ",", with: "，") }
            guard entry.fields["md5"] == nil else {
                // Boards have neither titles nor numbers of authors, and tags come by their kind.
                #expect((json["author"] as? [String: Any])?["id"] == nil && json["title"] is String)
                return #expect(Set(json["tags"] as? [String] ?? []) == Set(tags))
            }
            #expect(json["title"] as? String == entry.title && json["tags"] as? [String] == tags)
            #expect((json["author"] as? [String: Any])?["id"] as? Int64 == entry.user)
        }

        @Test(arguments: Service.kinds) func aStormOfRefusalsEndsByItself(service: Service) async throws {
            try await withMount(service, options: ["top=4"]) { workplace, origin, mount in
                // The second day is refused three times, while the first one is being fetched.
                let page = service.page(1, of: Self.days[1])
                try origin.spoil([FaultKind.status(429, retryAfter: "2").rule(page, count: 3)], in: workplace)
                let folder = workplace.directory.appending(path: "out").path
                let path = "\(mount.path)/ranking/\(service.daily)/\(Self.range)"
                let result = try fetch(workplace, path, "--to", folder)
                #expect(result.status == 0, "\(result.output)\(result.errors)")
                #expect(result.output.contains("the service asks to slow down; going on at"))
                for day in Self.days {
                    let readable = try origin.ranking("daily", day).prefix(4).filter { !$0.isWithheld }.count
                    #expect(files(below: "\(folder)/ranking/\(service.daily)/\(day)").count == readable, "\(day)")
                }
                let asked = origin.requests.filter { $0.path.hasPrefix(service.lists) }
                let refused = asked.filter { $0.status == 429 }
                #expect(refused.count == 3)
                // Within a cool-down nothing is asked: each refusal is followed by one probe, not before its time is over.
                for (refusal, next) in zip(refused, refused.dropFirst()) {
                    #expect(next.t - refusal.end >= 900)
                    let between = asked.filter { $0.t > refusal.end && $0.t < next.t }
                    #expect(between.isEmpty, "\(between.map(\.path))")
                }
            }
        }

        @Test(arguments: Service.kinds) func aKilledFetchGoesOn(service: Service) async throws {
            try await withOrigin(service) { workplace, origin in
                let options = ["top=16", "prefetch=0"]
                let mount = try Mount(workplace, of: origin, options: options)
                let folder = workplace.directory.appending(path: "out").path
                let target = "\(folder)/ranking/\(service.daily)/\(Mount.day)"
                let pictures = try mount.pictures(of: origin)
                // In the middle: some files are whole, and one is not.
                let last = try #require(pictures.last)
                try origin.spoil([FaultKind("stallbody").rule(last.entry.picture, method: "GET")], in: workplace)
                let child = try workplace.start("rankfs", ["fetch", mount.day(), "--to", folder])
                let part = ".\(URL(filePath: last.path).lastPathComponent).part"
                let partial = { files(below: target).contains(part) }
                #expect(poll { files(below: target).contains { !$0.hasSuffix(".part") } && partial() })
                child.signal(SIGKILL)
                _ = child.wait()
                #expect(partial(), "a kill leaves what was under way")
                let whole = files(below: target).filter { !$0.hasSuffix(".part") }
                let inodes = try whole.map { try status(of: "\(target)/\($0)").st_ino }

                // What does not come is left with the mount.
                #expect(mount.unmount())
                try origin.spoil([], in: workplace)
                let another = try Mount(workplace, of: origin, options: options)
                let again = try fetch(workplace, another.day(), "--to", folder)
                #expect(again.status == 0, "\(again.output)\(again.errors)")
                #expect(try whole.map { try status(of: "\(target)/\($0)").st_ino } == inodes, "whole files stay")
                #expect(files(below: target) == Set(pictures.map { URL(filePath: $0.path).lastPathComponent }))
                for (path, entry) in pictures {
                    let copy = path.replacing(mount.path, with: folder)
                    #expect(try Data(contentsOf: URL(filePath: copy)) == origin.fetch(entry.picture))
                }
            }
        }

        @Test(arguments: Service.kinds) func ctrlCStopsAtOnceAndLeavesNothingHalf(service: Service) async throws {
            try await withMount(service, options: ["top=16", "prefetch=0"]) { workplace, origin, mount in
                _ = try workplace.run("ls", "-l", mount.day())
                let folder = workplace.directory.appending(path: "out").path
                try origin.spoil([FaultKind("stallbody").rule(service.pictures, method: "GET")], in: workplace)
                let child = try workplace.start("rankfs", ["fetch", mount.day(), "--to", folder])
                #expect(poll { files(below: folder).contains { $0.hasSuffix(".part") } })
                child.signal(SIGINT)
                let output = try #require(child.wait(upTo: 10))
                #expect(output.status == 130 && output.errors.contains("the same command goes on"), "\(output.errors)")
                #expect(files(below: folder).isEmpty)
            }
        }

        @Test(arguments: [Service.pixiv, .danbooru])
        func whatCannotBeFetchedIsCountedAndNamed(service: Service) async throws {
            try await withMount(service) { workplace, origin, mount in
                let folder = workplace.directory.appending(path: "out").path
                let entries = try zip(mount.names(mount.day()), origin.ranking())
                let withheld = try #require(entries.first { $1.isWithheld }, "the day has a withheld picture")
                let one = try fetch(workplace, "\(mount.day())/\(withheld.0)", "--to", folder)
                #expect(one.status == 0 && one.output.contains("1 withheld by the service"), "\(one.output)")
                #expect(files(below: folder).isEmpty)

                let future = try fetch(workplace, mount.day(nil, "2099-01-01"), "--to", folder)
                #expect(future.status == 1 && future.output.contains("may not be published yet"), "\(future.output)")
                let inside = try fetch(workplace, mount.day(), "--to", "\(mount.path)/x")
                #expect(inside.status == 64 && inside.errors.contains("is in a mount"))
                let elsewhere = try fetch(workplace, workplace.directory.path)
                #expect(elsewhere.status == 64)
                let work = try fetch(workplace, "\(mount.path)/works/\(withheld.1.work + 0)", "--dry-run")
                #expect(work.status == 0)
                // What is not listed is counted all the same.
                #expect(mount.unmount())
                let plain = try Mount(workplace, of: origin, options: ["withheld=hide", "top=50"])
                let count = entries.prefix(50).count { $1.isWithheld }
                let day = try fetch(workplace, plain.day(), "--dry-run")
                #expect(count == 0 || day.output.contains("\(count) withheld by the service"), "\(day.output)")
            }
        }

        @Test(arguments: Service.kinds)
        func aChangedFileIsReplacedAloudAndAFullDiskIsOneSentence(service: Service) async throws {
            try await withMount(service, options: ["top=6"]) { workplace, origin, mount in
                let folder = workplace.directory.appending(path: "out").path
                #expect(try fetch(workplace, mount.day(), "--to", folder).status == 0)
                let copy = try #require(files(below: folder).sorted().first)
                try Data("mine".utf8).write(to: URL(filePath: "\(folder)/\(copy)"))
                let again = try fetch(workplace, mount.day(), "--to", folder)
                #expect(again.status == 0 && again.output.contains("changed: \(copy)"), "\(again.output)")
                #expect(again.output.contains("1 file fetched"))
                #expect(try status(of: "\(folder)/\(copy)").st_size == status(of: "\(mount.path)/\(copy)").st_size)

                // A limit on the size of files stands for a disk that takes no more.
                let small = workplace.directory.appending(path: "small").path
                let full = try fetch(workplace, mount.day(), "--to", small, before: ["prlimit", "--fsize=1000"])
                #expect(full.status == 73 && full.errors.split(separator: "\n").count == 1, "\(full.errors)")
                #expect(full.errors.contains("larger than files may be there"))
                #expect(files(below: small).isEmpty)
            }
        }
    }
}
