import Foundation
import Glibc
import TestSupport
import Testing

@testable import System

/// Whole files and directories, whatever stands in them.
@Suite struct PosixTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.path }

    /// Sizes on both sides of what is read at a time.
    @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 200_000])
    func whatIsWrittenIsRead(_ count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let descriptor = open("\(path)/file", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        #expect(Files.write(bytes, to: descriptor))
        #expect(try Files.read("\(path)/file", upTo: .max) == bytes)
        #expect(try Files.read("\(path)/file", upTo: count / 2) == Array(bytes.prefix(count / 2)))
        #expect(lseek(descriptor, off_t(count / 3), SEEK_SET) == off_t(count / 3))
        #expect(try Files.read(descriptor, upTo: .max) == Array(bytes[(count / 3)...]))
    }

    @Test func errorsAreThoseOfTheCalls() throws {
        #expect(throws: SystemError(code: ENOENT)) { try Files.read("\(path)/none", upTo: 1) }
        #expect(throws: SystemError(code: EISDIR)) { try Files.read(path, upTo: 1) }
        #expect(throws: SystemError(code: ENOENT)) { try Directory.entries(at: "\(path)/none") }
        #expect(throws: SystemError(code: EBADF)) { try Directory.entries(of: -1) }
        #expect(!Files.write([1], to: -1))
        #expect(SystemError(code: ENOENT).text == "No such file or directory")
    }

    @Test func directoriesAreListedWithoutTheirDots() throws {
        for name in ["plain", ".hidden", "…", "a b"] { close(open("\(path)/\(name)", O_CREAT | O_CLOEXEC, 0o600)) }
        mkdir("\(path)/folder", 0o700)
        symlink("plain", "\(path)/link")
        let expected: [String: ListedFile.Kind] = [
            "plain": .file, ".hidden": .file, "…": .file, "a b": .file, "folder": .directory, "link": .other,
        ]
        let entries = try Directory.entries(at: path)
        #expect(Dictionary(uniqueKeysWithValues: entries.map { ($0.name, $0.kind) }) == expected)
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { close(descriptor) }
        // Twice: listing leaves the descriptor's own place alone.
        for _ in 0..<2 { #expect(try Directory.entries(of: descriptor) == entries) }
    }
}
