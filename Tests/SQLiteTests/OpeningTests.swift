import CSQLite
import Foundation
@testable import System
import TestSupport
import Testing

@Suite struct OpeningTests {
    let directory = TemporaryFolder()
    var path: String { directory.path + "/a.sqlite" }
    let first = ("first", "CREATE TABLE t(a); INSERT INTO t VALUES(1)")
    let second = ("second", "CREATE TABLE u(a)")

    @Test func migrationsRunOnceAndInOrder() throws {
        let one = try Connection.openOrSetAside(path: path, migrations: [first])
        #expect(one.setAside == nil)
        one.connection.close()
        let two = try Connection.openOrSetAside(path: path, migrations: [first, second])
        #expect(two.setAside == nil)
        #expect(try two.connection.first("SELECT count(*) FROM t") { $0.int(0) } == 1)
        #expect(try two.connection.first("SELECT count(*) FROM u") { $0.int(0) } == 0)
    }

    @Test func aBrokenMigrationLeavesNothing() throws {
        let connection = try Connection(path: path)
        let broken = ("broken", "CREATE TABLE v(a); NONSENSE")
        #expect(throws: DatabaseError.self) { try connection.migrate([first, broken]) }
        #expect(try connection.first("SELECT count(*) FROM sqlite_schema WHERE name IN ('t', 'v')") { $0.int(0) } == 0)
    }

    /// All that was written, before and after somebody removed the file, with its directory or with its log left behind.
    @Test(arguments: [true, false]) func aRemovedDatabaseIsRestored(withItsDirectory: Bool) throws {
        let path = directory.path + "/sub/a.sqlite"
        mkdir(directory.path + "/sub", 0o700)
        let opened = try Connection.openOrSetAside(path: path, migrations: [first]).connection
        #expect(!opened.isAstray)
        unlink(path)
        if withItsDirectory {
            for end in ["-wal", "-shm"] { unlink(path + end) }
            rmdir(directory.path + "/sub")
        }
        #expect(opened.isAstray)
        try opened.run("INSERT INTO t VALUES(?)", .integer(2))
        let restored = try opened.restored()
        #expect(!restored.isAstray)
        try restored.run("INSERT INTO t VALUES(?)", .integer(3))
        restored.close()
        let next = try Connection.openOrSetAside(path: path, migrations: [first])
        #expect(next.setAside == nil)
        #expect(try next.connection.first("SELECT sum(a) FROM t") { $0.int(0) } == 6)
        next.connection.close()
    }

    @Test func aDirectoryInItsPlaceIsSetAside() throws {
        mkdir(path, 0o700)
        let opened = try Connection.openOrSetAside(path: path, migrations: [first])
        #expect(opened.setAside?.path == path + ".damaged-1" && !opened.isInMemory)
        #expect(try opened.connection.first("SELECT a FROM t") { $0.int(0) } == 1)
        opened.connection.close()
    }

    @Test func aFileThatHasTakenTheNameIsLeftAlone() throws {
        let opened = try Connection.openOrSetAside(path: path, migrations: [first]).connection
        unlink(path)
        let other = try Connection(path: path)
        #expect(opened.isAstray)
        #expect(throws: DatabaseError.self) { try opened.restored() }
        #expect(try opened.first("SELECT sum(a) FROM t") { $0.int(0) } == 1, "it goes on as it was")
        other.close()
    }

    /// Only a file that was closed in order is read as one that does not change.
    @Test func aReaderLeavesNothingBesideAFile() throws {
        let path = directory.path + "/50%3F? #1 絵.sqlite"
        let opened = try Connection.openOrSetAside(path: path, migrations: [first]).connection
        func sum() throws -> Int? {
            let reader = try Connection(path: path, isReadOnly: true)
            defer { reader.close() }
            #expect(throws: DatabaseError.self) { try reader.run("INSERT INTO t VALUES(1)") }
            return try reader.first("SELECT sum(a) FROM t") { $0.int(0) }
        }
        try opened.run("INSERT INTO t VALUES(2)")
        #expect(try sum() == 3, "what is still in the log")
        opened.close()
        let names = directory.names
        #expect(names.count == 1)
        #expect(try sum() == 3)
        #expect(directory.names == names)
    }

    /// A link to another file's place is refused; one on the way to the directory is the user's own choice.
    @Test func aLinkInTheDatabasesPlaceIsNotFollowed() throws {
        let (other, sub) = (directory.path + "/other", directory.path + "/sub")
        symlink(other, path)
        for isReadOnly in [false, true] {
            let error = #expect(throws: DatabaseError.self) { try Connection(path: path, isReadOnly: isReadOnly) }
            #expect(error?.code.primary == .cannotOpen && error?.message.contains("is a link") == true)
        }
        #expect(directory.names == ["a.sqlite"])
        unlink(path)
        symlink(".", sub)
        let opened = try Connection.openOrSetAside(path: sub + "/a.sqlite", migrations: [first]).connection
        unlink(path)
        symlink(other, path)
        #expect(throws: DatabaseError.self) { try opened.restored() }
        #expect(!directory.names.contains("other"))
        unlink(path)
        #expect(try opened.restored().first("SELECT sum(a) FROM t") { $0.int(0) } == 1)
    }

    @Test func aDatabaseInMemoryIsNeverAstray() throws {
        #expect(try !Connection(path: ":memory:").isAstray)
    }

    @Test func aNewerSchemaIsRefusedByNameAndLeftAsItIs() throws {
        let newer = try Connection.openOrSetAside(path: path, migrations: [first, second])
        try newer.connection.execute("INSERT INTO u VALUES(7)")
        newer.connection.close()
        let error = DatabaseError(
            code: .newerSchema, message: "it was written by a later rankfs (second); update rankfs")
        #expect(throws: error) { try Connection.openOrSetAside(path: path, migrations: [first]) }
        let again = try Connection.openOrSetAside(path: path, migrations: [first, second])
        #expect(again.setAside == nil)
        #expect(try again.connection.first("SELECT max(a) FROM u") { $0.int(0) } == 7)
    }

    @Test func whatIsNoDatabaseIsSetAside() throws {
        for number in 1...2 {
            try Data(repeating: 0x41, count: 8192).write(to: URL(filePath: path))
            let opened = try Connection.openOrSetAside(path: path, migrations: [first])
            #expect(opened.setAside?.path == "\(path).damaged-\(number)")
            opened.connection.close()
        }
    }

    @Test func aDamagedPageIsFoundAndSetAside() throws {
        let opened = try Connection.openOrSetAside(path: path, migrations: [first])
        try opened.connection.execute("CREATE TABLE big(a); CREATE INDEX i ON big(a)")
        for number in 0..<500 { try opened.connection.run("INSERT INTO big VALUES(?)", .text("row \(number) of many")) }
        opened.connection.close()
        let file = try FileHandle(forUpdating: URL(filePath: path))
        try file.seek(toOffset: 4096 * 4)
        try file.write(contentsOf: Data(repeating: 0xFF, count: 3000))
        try file.close()
        let again = try Connection.openOrSetAside(path: path, migrations: [first])
        #expect(again.setAside != nil)
        #expect(try again.connection.finding(of: "quick_check") == nil)
    }

    @Test func aLockedFileIsAnErrorAndStays() throws {
        let owner = try Connection.openOrSetAside(path: path, migrations: [first]).connection
        try owner.execute("PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE; INSERT INTO t VALUES(2)")
        let error = #expect(throws: DatabaseError.self) {
            try Connection.openOrSetAside(path: path, migrations: [first, second])
        }
        #expect(error?.code.primary.rawValue == SQLITE_BUSY)
        #expect(!directory.names.contains { $0.contains("damaged") })
    }

    @Test func aDirectoryThatIsMissingIsAnError() {
        let error = #expect(throws: DatabaseError.self) {
            try Connection.openOrSetAside(path: directory.path + "/none/a.sqlite", migrations: [first])
        }
        #expect(error?.code.primary == .cannotOpen)
    }
}
