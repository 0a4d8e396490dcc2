import Foundation
@testable import Fuse
import HTTP
@testable import System
import TestSupport
import Testing

@testable import rankfs

#if canImport(Glibc)
import Glibc
#endif

@Suite struct MountDecisionTests {
    private let own = [MountTable.Mount(path: Array("/m".utf8), type: "fuse.rankfs", source: "pixiv")]
    private let home = Home(variables: ["HOME": "/home/u"], userID: 1000, passwdHome: nil)
    private let other = [MountTable.Mount(path: Array("/m".utf8), type: "tmpfs", source: "tmp")]

    @Test func ourMountsAreFoundByType() {
        let table = MountTable(
            text: Array(
                """
                36 35 98:0 / /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
                37 35 0:44 / /home/u/My\\040Pictures ro,nosuid shared:7 - fuse.rankfs pixiv ro,user_id=0
                38 35 0:44 / /mnt2 ro - fuse.rankfs demo ro
                39 35 0:44 / /mnt2/x ro - fuse.sshfs pixiv ro
                """.utf8))
        #expect(table.ownMountPoints == ["/home/u/My Pictures", "/mnt2"])
        #expect(table.stack(at: "/mnt2").map(\.type) == ["ext3", "fuse.rankfs"])
        #expect(table.stack(at: "/mnt").isEmpty)
    }

    @Test func emptyFoldersAreMountedOnAndDeadMountsOfOursAreCleared() {
        for (mounts, look, decision) in [
            ([], .directory(isEmpty: true), .mount), (other, .directory(isEmpty: true), .mount),
            (own, .failed(ENOTCONN), .recover), (other + own, .failed(ENOTCONN), .recover),
        ] as [([MountTable.Mount], MountPoint.Look, MountPoint.Decision)] {
            #expect(MountPoint.decide(path: "/m", mounts: mounts, look: look) == decision, "\(look)")
        }
    }

    @Test func ofSeveralMountsThatBeginOneGoesOn() throws {
        let scratch = TemporaryFolder()
        let folder = scratch.path
        func prepare() throws -> MountPoint.Prepared { try MountPoint.prepare(folder, patience: .seconds(30)) { _ in } }
        var first: MountPoint.Prepared? = try prepare()
        let refusal = #expect(throws: ProgramError.self) { _ = try prepare() }
        #expect(refusal?.status == .mountFailure && refusal?.message.contains("being mounted by another") == true)
        #expect(first?.path == LocalFiles.canonical(folder))
        first = nil
        _ = try prepare()
    }

    @Test func everythingElseIsRefusedWithItsReason() {
        let cases: [([MountTable.Mount], MountPoint.Look, String)] = [
            (own, .directory(isEmpty: true), "already mounted"), (own, .directory(isEmpty: false), "already mounted"),
            (own, .silent, "busy"), (own, .failed(EACCES), "another user's"),
            ([], .directory(isEmpty: false), "not empty"), ([], .missing, "does not exist"),
            ([], .notADirectory, "not a folder"), ([], .failed(EACCES), "Permission denied"),
            (other, .failed(ENOTCONN), "not connected"), (own + other, .failed(ENOTCONN), "not connected"),
            ([], .silent, "does not answer"),
        ]
        for (mounts, look, reason) in cases {
            guard case .refuse(let sentence) = MountPoint.decide(path: "/m", mounts: mounts, look: look) else {
                Issue.record("not refused: \(look)")
                continue
            }
            #expect(sentence.contains(reason), "\(sentence)")
            #expect(sentence.hasPrefix("/m ") && sentence.hasSuffix("."))
        }
    }

    @Test func looksSeeWhatIsThere() throws {
        #expect(MountPoint.look(at: "/nowhere/at/all", mounts: [], patience: .seconds(30)) == .missing)
        #expect(MountPoint.look(at: "/proc/self/status", mounts: [], patience: .seconds(30)) == .notADirectory)
        #expect(MountPoint.look(at: "/proc", mounts: [], patience: .seconds(30)) == .directory(isEmpty: false))
    }

    @Test func aRefusedUnmountSaysWhatWasSaid() {
        let busy = "fusermount3: failed to unmount /m: Device or resource busy\n"
        #expect(MountTable.refusal("/m", busy).message.contains("in use"))
        let other = MountTable.refusal("/m", "fusermount3: failed to open /etc/mtab: No such file or directory\nx\n")
        #expect(other.message.contains("/etc/mtab: No such file or directory;") && !other.message.contains("in use"))
        #expect(other.status == .mountFailure && !other.message.contains("\n"))
        #expect(MountTable.refusal("/m", "").message.contains("does not say why"))
    }

    @Test func whatAProgramComplainsOfIsHeard() throws {
        let end = try ChildProcess.run("/bin/sh", ["sh", "-c", "echo one >&2; echo two; exit 3"])
        #expect(end == (3, Array("one\n".utf8)))
        let long = try ChildProcess.run("/bin/sh", ["sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x >&2"])
        #expect(long.status == 0 && long.text.count == 4096)
        #expect(throws: SystemError.self) { try ChildProcess.run("/nowhere/at/all", ["x"]) }
    }

    @Test func foldersOfOthersBecomeNoCaches() {
        for names in [
            [], ["catalog", "rankfs.log"], ["lost+found"], [".busy", "v2", "catalog"], ["catalog", "v2"],
            ["CACHEDIR.TAG", ".nomedia", ".trackerignore", "source", "v2", "demo", "rankfs.log"],
        ] {
            #expect(CachePlace.mayHoldCache(names), "\(names)")
        }
        for names in [["passwd"], ["catalog", "Documents"], ["v2"], ["CACHEDIR.TAG"], ["source", "Documents"]] {
            #expect(!CachePlace.mayHoldCache(names), "\(names)")
        }
    }

    @Test func aNamedDirectoryBelongsToTheSourceThatUsedItFirst() throws {
        let scratch = TemporaryFolder()
        let folder = "\(scratch)/place"
        var settings = Settings()
        settings.cacheDirectory = folder
        func place(_ source: SourceName) throws -> CachePlace { try CachePlace(settings, source: source, home: home) }
        let other = try #require(SourceName.all.first { $0 != .standard && $0 != .demo })
        // Both look before either is there, as mounts of fstab(5) do.
        let (first, second) = (try place(.standard), try place(other))
        #expect(first.directory == folder && second.directory == folder)
        #expect(try first.prepared(home) == first)
        #expect(try second.prepared(home).directory == "\(folder)/\(other.rawValue)")
        for _ in 0..<2 {
            #expect(try place(.standard).prepared(home).directory == folder)
            #expect(try place(other).prepared(home).directory == "\(folder)/\(other.rawValue)")
            #expect(try place(.demo).prepared(home).directory == "\(folder)/demo")
        }
        // As version 1.0.0 left it: who comes first, but no demo.
        try FileManager.default.removeItem(atPath: "\(folder)/source")
        #expect(try place(.demo).directory == "\(folder)/demo")
        #expect(try place(other).prepared(home).directory == folder)
        #expect(try place(.standard).directory == "\(folder)/\(SourceName.standard.rawValue)")
        settings.cacheDirectory = "\(folder)/new"
        #expect(try place(.demo).directory == "\(folder)/new")
    }

    /// Nothing is made or written where another user has prepared a directory, or a link in it.
    @Test(.enabled(if: geteuid() == 0, "needs root")) func cachesOfOtherUsersAreRefused() throws {
        let folder = TemporaryFolder()
        let (cache, catalog, elsewhere) = ("\(folder)/cache", "\(folder)/cache/catalog", "\(folder)/elsewhere")
        for path in [cache, elsewhere] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
        var settings = Settings()
        settings.cacheDirectory = cache
        func refusal() -> String? {
            do {
                _ = try CachePlace(settings, source: .standard, home: home).prepared(home)
                return nil
            } catch {
                #expect(error.status == .cannotCreate)
                return error.message
            }
        }
        func names(_ path: String) throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: path) }
        chown(cache, 65534, 65534)
        #expect(refusal()?.contains("\(cache) belongs to user 65534: ") == true)
        chown(cache, 0, 0)
        #expect(symlink(elsewhere, catalog) == 0)
        #expect(refusal()?.contains("\(catalog) is a link") == true)
        #expect(try names(elsewhere).isEmpty && names(cache) == ["catalog"])
        #expect(unlink(catalog) == 0 && mkdir(catalog, 0o700) == 0 && chown(catalog, 65534, 65534) == 0)
        #expect(refusal()?.contains("\(catalog) belongs to user 65534: ") == true)
        #expect(try names(cache) == ["catalog"])
        #expect(Finding.DirectoryLook.at(cache) == .foreign(CachePlace.obstacle(in: cache) ?? ""))
        // The folder above may be another's.
        #expect(rmdir(catalog) == 0 && chown(folder.path, 65534, 65534) == 0)
        #expect(refusal() == nil)
        // Another's link to this user's own directory is not followed.
        settings.cacheDirectory = "\(folder)/link"
        #expect(symlink(cache, "\(folder)/link") == 0 && lchown("\(folder)/link", 65534, 65534) == 0)
        #expect(refusal()?.contains("\(folder)/link is a link") == true)
    }

    /// A machine that starts with a fast clock may be asked to slow down before the clock is set.
    @Test func aPauseOfAFastClockIsOver() throws {
        let scratch = TemporaryFolder()
        var settings = Settings()
        settings.cacheDirectory = scratch.path
        let place = try CachePlace(settings, source: .standard, home: home)
        let now = TimeSource.wallClock()
        let front = FrontStop(refusal: .challenge, step: 2, mark: "m")
        for (end, isKept) in [(now + 6 * 3600, true), (now + 2 * 365 * 86_400, false), (.max, false)] {
            place.store(coolDown: end)
            place.store(hostPauses: ["h": HostPause(end: end, front: front)])
            #expect(place.storedCoolDown() == (isKept ? end : 0))
            #expect(place.storedHostPauses() == ["h": HostPause(end: isKept ? end : 0, front: front)])
        }
    }

    /// A disk without room takes no note of the source; the note comes once it has.
    @Test func aDirectoryWithoutANoteIsNotedLater() throws {
        let scratch = TemporaryFolder()
        let folder = "\(scratch)/place"
        var settings = Settings()
        settings.cacheDirectory = folder
        // In the way of the file that becomes the note.
        let obstacle = "\(folder)/source.new"
        try FileManager.default.createDirectory(atPath: obstacle, withIntermediateDirectories: true)
        let place = try CachePlace(settings, source: .demo, home: home)
        #expect(place.directory == folder && place.claim())
        #expect(CachePlace.owner(of: folder) == nil && fileStatus(at: "\(folder)/source") == nil)
        #expect(rmdir(obstacle) == 0 && place.claim())
        #expect(CachePlace.owner(of: folder) == SourceName.demo.rawValue)
        // An empty note is of a later version than 1.0.0: what lies there is the demo's own.
        #expect(truncate("\(folder)/source", 0) == 0 && mkdir("\(folder)/v2", 0o700) == 0)
        try Data().write(to: URL(filePath: "\(folder)/.busy"))
        #expect(try CachePlace(settings, source: .demo, home: home).directory == folder)
    }

    @Test func aLinkOfOnesOwnToTheCacheIsFollowed() throws {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: "\(folder)/disk", withIntermediateDirectories: true)
        var settings = Settings()
        settings.cacheDirectory = "\(folder)/link"
        func place() throws -> CachePlace { try CachePlace(settings, source: .standard, home: home) }
        #expect(symlink("disk", "\(folder)/link") == 0)
        let disk = try #require(LocalFiles.canonical("\(folder)/disk"))
        #expect(try place().prepared(home).directory == disk)
        #expect(CachePlace.owner(of: disk) == SourceName.standard.rawValue)
        guard case .usable = Finding.DirectoryLook.at(try place().directory) else {
            Issue.record("the doctor takes the same way")
            return
        }
        #expect(unlink("\(folder)/link") == 0 && symlink("gone", "\(folder)/link") == 0)
        #expect(throws: ProgramError.self) { try place().prepared(home) }
        let obstacle = try #require(CachePlace.obstacle(in: "\(folder)/link"))
        #expect(Finding.DirectoryLook.at(try place().directory) == .foreign(obstacle))
        #expect(try Set(FileManager.default.contentsOfDirectory(atPath: folder.path)) == ["disk", "link"])
    }

    @Test func cachesInsideTheMountAreRefused() throws {
        var settings = Settings()
        settings.cacheDirectory = "/m/cache"
        let place = try CachePlace(settings, source: .standard, home: home)
        #expect(throws: ProgramError.self) { try place.check(against: "/m") }
        #expect(throws: ProgramError.self) { try place.check(against: "/m/cache") }
        #expect(throws: Never.self) { try place.check(against: "/m/cac") }
    }
}

@Suite struct HomeTests {
    @Test func basesFollowTheSpecification() {
        let home = Home(variables: ["HOME": "/home/u"], userID: 1000, passwdHome: "/x")
        #expect(home.cacheDirectory(named: "pixiv") == "/home/u/.cache/rankfs/pixiv")
        #expect(home.configurationFile == "/home/u/.config/rankfs/rankfs.conf")
        let named = Home(
            variables: ["HOME": "/home/u", "XDG_CACHE_HOME": "/c", "XDG_CONFIG_HOME": "relative"], userID: 1000,
            passwdHome: nil)
        #expect(named.cacheDirectory(named: "pixiv") == "/c/rankfs/pixiv")
        #expect(named.configurationFile == "/home/u/.config/rankfs/rankfs.conf")
    }

    @Test func anEmptyEnvironmentStillHasAHome() {
        let user = Home(variables: [:], userID: 1000, passwdHome: "/home/u")
        #expect(user.cacheDirectory(named: "pixiv") == "/home/u/.cache/rankfs/pixiv")
        let root = Home(variables: [:], userID: 0, passwdHome: "/root")
        #expect(root.cacheDirectory(named: "pixiv") == "/var/cache/rankfs/pixiv")
        #expect(root.configurationFile == "/etc/xdg/rankfs/rankfs.conf")
        let nobody = Home(variables: ["HOME": "relative"], userID: 1000, passwdHome: nil)
        #expect(nobody.cacheDirectory(named: "pixiv") == nil)
        #expect(throws: ProgramError.self) { try CachePlace(Settings(), source: .standard, home: nobody) }
    }

    @Test func originsOfOnesOwnHaveCachesOfTheirOwn() throws {
        var settings = Settings()
        settings.apiURL = try OriginURL("http://127.0.0.1:8080")
        let home = Home(variables: ["HOME": "/home/u"], userID: 1000, passwdHome: nil)
        let place = try CachePlace(settings, source: .standard, home: home)
        #expect(place.directory == "/home/u/.cache/rankfs/pixiv-127.0.0.1_8080")
    }
}
