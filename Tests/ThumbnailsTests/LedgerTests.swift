import Foundation
import Media
import TestSupport
import Testing

@testable import RankFS

/// Which thumbnails are known to be rankfs's own, and that no other one is ever removed.
@Suite struct LedgerTests {
    private let folder = TemporaryFolder()
    private var ledger: ThumbnailLedger { ThumbnailLedger(path: folder.path + "/list") }
    private var store: HomeThumbnails { store(with: ledger) }

    private func store(with ledger: ThumbnailLedger) -> HomeThumbnails {
        HomeThumbnails(path: folder.path + "/thumbnails", ledger: ledger, user: geteuid(), mountPoint: "/m")
    }

    private func thumbnail(_ number: Int, _ size: ThumbnailSize = .large) -> Thumbnail {
        Thumbnail(uri: "file:///m/\(number).jpg", size: size, modified: 1, length: nil)
    }

    private func bytes(_ thumbnail: Thumbnail) throws -> [UInt8] {
        try #require(thumbnail.file(of: Pixels(width: 9, height: 9)))
    }

    private func write(_ numbers: Range<Int>, with ledger: ThumbnailLedger? = nil) throws {
        let store = store(with: ledger ?? self.ledger)
        for number in numbers { #expect(store.store(try bytes(thumbnail(number)), as: thumbnail(number))) }
    }

    private func path(_ thumbnail: Thumbnail) -> String { "\(store.path)/\(thumbnail.path)" }

    private func isThere(_ number: Int) -> Bool { FileManager.default.fileExists(atPath: path(thumbnail(number))) }

    @Test func whatWasWrittenIsRemovedAndNothingElse() throws {
        try write(1..<4)
        // Another program's thumbnail of the second, a user's picture in the place of the third, a stranger beside them.
        let image = try #require(Pixels(width: 9, height: 9).png())
        let foreign = PNG.setting([("Thumb::URI", thumbnail(2).uri)], of: image)
        try Data(try #require(foreign)).write(to: URL(filePath: path(thumbnail(2))))
        try Data(try bytes(thumbnail(77))).write(to: URL(filePath: path(thumbnail(3))))
        try Data(try bytes(thumbnail(4))).write(to: URL(filePath: path(thumbnail(4))))
        let length = try Int64(bytes(thumbnail(1)).count)
        #expect(ledger.survey() == .init(files: 1, bytes: length))
        #expect(ledger.clear() == .init(files: 1, bytes: length))
        #expect(!isThere(1))
        #expect(isThere(2) && isThere(3) && isThere(4))
        #expect(ledger.survey() == .init())
        #expect(ledger.clear() == .init())
    }

    @Test func noLedgerIsAnEmptyOneAndIsNotMade() {
        #expect(ledger.clear() == .init())
        #expect(!FileManager.default.fileExists(atPath: ledger.path))
    }

    @Test func aNoteThatACrashCutOffSpoilsNoOther() throws {
        try write(1..<2)
        let handle = try #require(FileHandle(forWritingAtPath: ledger.path))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data("/home/me/.cache/thumb".utf8))
        try handle.close()
        try write(2..<3)
        #expect(ledger.clear().files == 2)
    }

    /// Whatever a damaged or forged ledger says, only thumbnails of rankfs's under their own names are removed.
    @Test(arguments: ["letter.txt", "large/letter.png", "thumbnails/large/../../letter.txt"])
    func aForgedNoteRemovesNothing(name: String) throws {
        let file = folder.url.appending(path: name)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(try bytes(thumbnail(1))).write(to: file)
        try Data((file.path + "\0").utf8).write(to: URL(filePath: ledger.path))
        #expect(ledger.clear().files == 0)
        #expect(FileManager.default.fileExists(atPath: file.path))
    }

    @Test func aLinkIsNotFollowed() throws {
        try write(1..<2)
        let target = folder.url.appending(path: "target.png").path
        try FileManager.default.moveItem(atPath: path(thumbnail(1)), toPath: target)
        try FileManager.default.createSymbolicLink(atPath: path(thumbnail(1)), withDestinationPath: target)
        #expect(ledger.clear().files == 0)
        #expect(FileManager.default.fileExists(atPath: target))
    }

    @Test func aFullLedgerLetsTheOldestGo() throws {
        let note = path(thumbnail(1)).utf8.count + 2
        let small = ThumbnailLedger(path: ledger.path, bound: note * 8)
        // Written again, so the first is the fourth to be noted.
        try write(1..<4, with: small)
        try write(1..<2, with: small)
        try write(4..<9, with: small)
        #expect((1..<9).filter(isThere) == [5, 6, 7, 8])
        #expect(small.survey().files == 4)
        let length = try FileManager.default.attributesOfItem(atPath: ledger.path)[.size] as? Int
        #expect(length == note * 4)
    }

    @Test func withoutANoteNothingIsWritten() throws {
        let nowhere = ThumbnailLedger(path: folder.url.appending(path: "missing/list").path)
        let store = store(with: nowhere)
        #expect(!store.store(try bytes(thumbnail(1)), as: thumbnail(1)))
        #expect(!isThere(1))
    }

    @Test func manyAtOnceLoseNoNote() async throws {
        let small = ThumbnailLedger(path: ledger.path, bound: 1 << 20)
        try await withThrowingTaskGroup { group in
            for part in 0..<4 {
                group.addTask { try self.write(part * 10..<part * 10 + 10, with: small) }
            }
            try await group.waitForAll()
        }
        #expect(small.clear().files == 40)
    }
}
