import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import System

/// What is closed when descriptors run out, and how it comes back.
@Suite(.timeLimit(.minutes(1))) struct DescriptorsTests {
    /// A folder with files, and an owner that finds its next opens to be above the bound.
    final class Shelf: Sendable {
        private let folder = TemporaryFolder()
        let owner: Descriptors
        private let refusals = Counter()

        init() {
            let refusals = refusals
            owner = Descriptors { refusals.take() ? 0 : .max }
        }

        /// So many looks at the bound find that there is no number left.
        func refuse(_ count: Int) { refusals.set(count) }

        func path(_ name: String) -> String { "\(folder.path)/\(name)" }

        func write(_ name: String, _ text: String) throws {
            try text.write(toFile: path(name), atomically: true, encoding: .utf8)
        }

        /// A file that holds its own name.
        func file(_ name: String) throws -> StoredFile {
            try write(name, name)
            let path = path(name)
            return StoredFile(owning: owner.open(path, O_RDONLY), of: owner) { open(path, O_RDONLY | O_CLOEXEC) }
        }

        /// Closes everything that nobody uses.
        func exhaust() {
            refuse(.max)
            #expect(owner.open("/dev/null", O_RDONLY) == -1)
            #expect(errno == EMFILE)
            refuse(0)
        }
    }

    final class Counter: Sendable {
        private let left = Mutex(0)
        func set(_ count: Int) { left.withLock { $0 = count } }
        func take() -> Bool {
            left.withLock { left in
                defer { left = max(0, left - 1) }
                return left > 0
            }
        }
    }

    private func text(_ file: StoredFile) throws -> String {
        let open = try file.opened()
        defer { withExtendedLifetime(open) {} }
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = pread(open.descriptor, &bytes, bytes.count, 0)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }

    private func isClosed(_ file: StoredFile) -> Bool { file.idleSince == nil }

    @Test func whatWasUsedLongestAgoIsClosedAndComesBack() throws {
        let shelf = Shelf()
        let files = try ["a", "b", "c"].map { try shelf.file($0) }
        #expect(try text(files[0]) == "a")
        shelf.refuse(1)
        let more = OpenFile(owning: shelf.owner.open("/dev/null", O_RDONLY))
        #expect(more.descriptor >= 0)
        #expect(files.map(isClosed) == [false, true, false])
        #expect(try files.map(text) == ["a", "b", "c"])
        #expect(files.map(isClosed) == [false, false, false])
        shelf.exhaust()
        #expect(files.map(isClosed) == [true, true, true])
        #expect(try files.map(text) == ["a", "b", "c"])
    }

    @Test func whatIsUsedStaysOpenAndThenThereIsNoneLeft() throws {
        let shelf = Shelf()
        let (used, idle) = (try shelf.file("used"), try shelf.file("idle"))
        let open = try used.opened()
        shelf.exhaust()
        #expect(isClosed(idle))
        #expect(fcntl(open.descriptor, F_GETFD) >= 0)
        #expect(try used.opened() === open)
    }

    @Test func aFileThatWasMadeForItIsNotMadeAgain() throws {
        let shelf = Shelf()
        let idle = try shelf.file("idle")
        shelf.refuse(1)
        let made = shelf.owner.open(shelf.path("made"), O_WRONLY | O_CREAT | O_EXCL, 0o600)
        #expect(made >= 0)
        #expect(isClosed(idle))
        close(made)
    }

    @Test func anotherFileInItsPlaceIsNotTakenForIt() throws {
        let shelf = Shelf()
        let files = try ["replaced", "removed"].map { try shelf.file($0) }
        shelf.exhaust()
        try shelf.write("new", "replaced")
        #expect(rename(shelf.path("new"), shelf.path("replaced")) == 0)
        #expect(unlink(shelf.path("removed")) == 0)
        #expect(throws: SystemError(code: ESTALE)) { try files[0].opened() }
        #expect(throws: SystemError(code: ENOENT)) { try files[1].opened() }
    }

    @Test func aFileWithoutANameStaysOpenAndAFileWithAnotherNameIsFound() throws {
        let shelf = Shelf()
        let (nameless, moved) = (try shelf.file("nameless"), try shelf.file("moved"))
        shelf.exhaust()
        nameless.keepOpen()
        #expect(unlink(shelf.path("nameless")) == 0)
        let place = shelf.path("place")
        #expect(rename(shelf.path("moved"), place) == 0)
        moved.move { open(place, O_RDONLY | O_CLOEXEC) }
        shelf.exhaust()
        #expect(try text(nameless) == "nameless")
        #expect(try text(moved) == "moved")
    }

    @Test func whatHelpsIsSaidOfBothLimits() {
        #expect(SystemError(code: EMFILE).lackOfDescriptors?.contains("LimitNOFILE=") == true)
        #expect(SystemError(code: ENFILE).lackOfDescriptors?.contains("fs.file-max") == true)
        #expect(SystemError(code: ENOSPC).lackOfDescriptors == nil)
    }
}
