import Catalog
import Foundation
@testable import Fuse
import Media
import Rankings
import Render
import TestSupport
import Testing

@testable import RankFS

/// Directories of single works: originals, records, and files made of animations.
@Suite(.timeLimit(.minutes(2))) struct WorkTests {
    @Test func matroskaIsTheLayoutOverTheArchive() async throws {
        let film = try Film(count: 5)
        let bench = try Workbench()
        bench.add(film)
        let layout = try FilmLayout(
            width: 64, height: 48, frames: zip(film.frames, film.record.frames).map { (Int64($0.count), $1.delay) },
            title: "")
        let title = try await bench.stat("works/77/ugoira.mkv")
        let inode = title.inode
        let whole = try await bench.contents(inode)
        #expect(whole.count == Int(title.size) && whole.starts(with: [0x1A, 0x45, 0xDF, 0xA3]))
        #expect(Int64(whole.count) >= layout.length)
        // Each frame is there as it is in the archive.
        for frame in film.frames { #expect(Data(whole).range(of: Data(frame)) != nil) }
        let handle = try #require(await bench.open(inode).handle)
        // Every edge: one byte before and behind, pieces that span several, and what lies at and behind the end.
        var places: Set<Int> = [0, 1, whole.count - 1, whole.count, whole.count + 1, whole.count + 100_000]
        for frame in film.frames {
            guard let range = Data(whole).range(of: Data(frame)) else { continue }
            for edge in [range.lowerBound, range.upperBound] { places.formUnion([edge - 1, edge, edge + 1]) }
        }
        for place in places.sorted() {
            for size in [1, 2, 1000, 131_072] {
                let expected = place < whole.count ? Array(whole[place..<min(whole.count, place + size)]) : []
                #expect(await bench.read(inode, handle, Int64(place), size) == .bytes(expected), "\(place) \(size)")
            }
        }
        bench.fileSystem.release(inode, handle: handle)
        #expect(bench.fileSystem.figures.handles == 0)
        #expect(bench.host.downloads == ["GET 77"], "nothing but the archive")
    }

    @Test func aTitleThatGrewDoesNotCutTheFile() async throws {
        let film = try Film(count: 2)
        let bench = try Workbench()
        bench.add(film)
        bench.source.set { $0.hits["x"] = [film.listed] }
        _ = try await bench.catalog.listings.open(.search("x"))
        let before = try await bench.stat("works/77/ugoira.mkv")
        let shorter = try await bench.contents(before.inode)
        let former = try #require(await bench.open(before.inode).opened)
        // Another listing tells the title that the work has now.
        bench.source.set { state in
            state.hits["y"] = [film.listed]
            state.hits["y"]?[0].title = "A much longer title than before"
        }
        _ = try await bench.catalog.listings.open(.search("y"))
        let opened = try #require(await bench.open(before.inode).opened)
        #expect(opened.isDirect, "the kernel has pages of the former one, which is open")
        while bench.invalidated.isEmpty { await Task.yield() }
        #expect(bench.invalidated == [before.inode])
        let after = try await bench.stat("works/77/ugoira.mkv")
        #expect(after.size > before.size && shorter.count == before.size)
        guard case .bytes(let bytes) = await bench.read(before.inode, opened.handle, 0, 1 << 20) else {
            Issue.record("not read")
            return
        }
        #expect(bytes.count == after.size)
        #expect(await bench.read(before.inode, former.handle, 0, 1 << 20) == .bytes(shorter))
        for handle in [former.handle, opened.handle] { bench.fileSystem.release(before.inode, handle: handle) }
        let next = try #require(await bench.open(before.inode).opened)
        #expect(!next.isDirect && bench.invalidated.count == 2, "the pages are dropped")
        #expect(await bench.read(before.inode, next.handle, 0, 1 << 20) == .bytes(bytes))
    }

    @Test(arguments: [Rendition.webp, .gif])
    func whatIsEncodedIsMadeOnceForEverybodyAndStored(rendition: Rendition) async throws {
        let film = try Film(count: 3)
        let name = "works/77/ugoira.\(rendition.rawValue)"
        let bench = try Workbench()
        bench.add(film)
        let listing = try await bench.catalog.listings.open(.work(film.work))
        let inode = try await bench.stat(name).inode
        let expected = try AnimatedPicture.encode(
            as: rendition == .gif ? .gif : .webP, delays: film.record.frames.map(\.delay), bound: 1 << 20
        ) { film.frames[$0] }
        let askers = (0..<8).map { _ in Task { try await bench.contents(inode) } }
        for asker in askers { #expect(try await asker.value == expected) }
        #expect(try await bench.stat(name).size == expected.count)
        #expect(bench.host.downloads == ["GET 77"])
        let picture = try #require(AnimationFiles.picture(rendition, in: listing))
        #expect(bench.cache.storedSize(of: picture) == Int64(expected.count))
        // Without the archive and the network nothing can be made: what is served is what was stored.
        let archive = try #require(listing.entries.last).picture
        #expect(archive.rendition == .archive)
        try bench.removeStored(archive)
        bench.host.setManner(.unreachable)
        let again = try await bench.contents(inode)
        #expect(again == expected)
        #expect(try await bench.stat(name).size == expected.count)
    }

    @Test func aDroppedWebPIsMadeAgain() async throws {
        let film = try Film(count: 3)
        let bench = try Workbench(.init(budget: 500_000))
        bench.add(film)
        bench.source.setRanking(.daily, Workbench.day, Workbench.entries(3))
        let listing = try await bench.catalog.listings.open(.work(film.work))
        let inode = try await bench.stat("works/77/ugoira.webp").inode
        let before = try await bench.contents(inode)
        let picture = try #require(AnimationFiles.picture(.webp, in: listing))
        // From now on it is the one that was used longest ago.
        await bench.waitUntilStored(picture)
        for rank in 1...3 {
            let other = try await bench.stat("ranking/daily/2024-05-01/\(Workbench.name(rank))").inode
            _ = try await bench.contents(other)
        }
        // The three do not fit beside it.
        while bench.cache.storedSize(of: picture) != nil, !Task.isCancelled { await Task.yield() }
        #expect(bench.cache.storedSize(of: picture) == nil)
        #expect(try await bench.stat("works/77/ugoira.webp").size == before.count)
        #expect(try await bench.contents(inode) == before)
        #expect(bench.cache.storedSize(of: picture) == Int64(before.count))
    }

    @Test func aDrawnAvatarHasTheTimeSinceWhichThereIsNone() async throws {
        let bench = try Workbench()
        bench.source.setAuthor(UserID(rawValue: 11), [Workbench.work(5)])
        _ = try await bench.names("users/11")
        let avatar = try await bench.stat("users/11/avatar.jpg")
        #expect(avatar.modified == Workbench.now)
        bench.time += 7 * 3600
        #expect(try await bench.stat("users/11/avatar.jpg") == avatar)
        bench.source.setAuthor(UserID(rawValue: 11), [Workbench.work(6), Workbench.work(5)])
        _ = try await bench.names("users/11")
        #expect(try await bench.stat("users/11/avatar.jpg") == avatar)
    }

    // MARK: - Broken archives

    /// Whatever is read, one wrong HEAD costs one error.
    @Test(arguments: [
        "users/11/avatar.jpg", "works/77/p0.png", "works/77/ugoira.zip", "works/77/ugoira.mkv", "works/77/ugoira.webp",
        "ranking/daily/2024-05-01/001-Title 1001.jpg",
    ])
    func aSizeThatTurnedOutWrongIsDoubted(path: String) async throws {
        let film = try Film(count: 3)
        let bench = try Workbench()
        bench.add(film)
        bench.source.setRanking(.daily, Workbench.day, Workbench.entries(3))
        bench.source.setAuthor(UserID(rawValue: 11), [Workbench.work(1001)])
        bench.source.set { $0.avatar = "11.jpg" }
        bench.host.setManner(.headLying)
        switch await bench.walk(path) {
        case .entry(let wrong, _, _):
            await #expect(throws: (any Error).self) { try await bench.contents(wrong.inode) }
        case let answer: #expect(answer == .failure(.EIO))
        }
        let right = try await bench.stat(path)
        #expect(try await bench.contents(right.inode).count == Int(right.size))
        #expect(bench.fileSystem.figures.handles == 0)
    }

    enum Fault: CaseIterable, Sendable {
        case lacksAFrame, directoryLies, noEndRecord, overlap, notAPicture
    }

    @Test(arguments: Fault.allCases, ["ugoira.mkv", "ugoira.webp", "ugoira.gif"])
    func aBrokenArchiveIsAnErrorWithASentence(fault: Fault, name: String) async throws {
        let film = try Film(count: 3)
        var bytes = film.archive
        let files = zip(film.record.frames.map(\.file), film.frames).map { (name: $0, bytes: $1) }
        switch fault {
        case .lacksAFrame: bytes = StoredArchive.packed(Array(files.dropLast()))
        case .directoryLies: bytes[bytes.count - 6] ^= 0x10
        case .noEndRecord: bytes.replaceSubrange((bytes.count - 10)..<bytes.count, with: repeatElement(0xFF, count: 10))
        case .overlap:
            // The first frame's length in the directory: longer than what lies before the next one.
            let directory = bytes.count - 22 - 3 * (46 + 10)
            bytes[directory + 24 + 2] = 0x7F
        case .notAPicture: bytes = StoredArchive.packed(files.map { ($0.name, [UInt8](repeating: 7, count: 900)) })
        }
        let bench = try Workbench()
        bench.add(film)
        bench.host.setFile(film.record.archive, bytes)
        #expect(await bench.walk("works/77/\(name)") == .failure(.EIO))
        #expect(bench.reported.count == 1)
        #expect(bench.reported.first?.hasPrefix("works/77/\(name): ") == true, "\(bench.reported)")
        // The archive itself is served as it is.
        let archive = try await bench.stat("works/77/ugoira.zip").inode
        #expect(try await bench.contents(archive) == bytes)
        #expect(bench.fileSystem.figures.handles == 0)
    }
}

extension Workbench {
    /// Takes a stored picture's file away, as a damaged disk would.
    func removeStored(_ picture: PictureID) throws {
        let pictures = folder.url.appending(path: "pictures")
        let all = FileManager.default.enumerator(at: pictures, includingPropertiesForKeys: nil)
        var removed = 0
        while let file = all?.nextObject() as? URL {
            guard file.lastPathComponent.hasPrefix(picture.key + ".") else { continue }
            try FileManager.default.removeItem(at: file)
            removed += 1
        }
        #expect(removed == 1)
    }
}
