import Glibc
import Testing

@testable import RankFS

/// What proc(5) tells of the programs that call.
@Suite struct ProcessesTests {
    private let processes = Processes.system

    @Test func theProgramOfAThreadIsThatOfItsProcess() throws {
        let status = "Name:\tpool-org.gnome.\nUmask:\t0022\nState:\tS\nTgid:\t4711\nNgid:\t0\nPid:\t4712\nPPid:\t81\n"
        #expect(Processes.number("Tgid:", in: status) == 4711)
        #expect(Processes.number("PPid:", in: status) == 81)
        #expect(Processes.number("Tgid:", in: "") == nil)
        #expect(processes.program(0) == nil)
        #expect(processes.program(.max) == nil)
        let own = try #require(processes.program(getpid()))
        #expect(own.process == getpid() && !own.name.isEmpty)
        #expect(processes.arguments(getpid()).first == CommandLine.arguments.first)
        let starter = try #require(processes.starters(getpid()).first)
        #expect(starter.process == getppid())
    }

    @Test func whatIsWatchedIsToldByItsInode() throws {
        let descriptor = inotify_init1(Int32(IN_CLOEXEC))
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        var status = stat()
        try #require(stat("/", &status) == 0)
        #expect(!Processes.watches(UInt64(status.st_ino) + 1, of: getpid()))
        try #require(inotify_add_watch(descriptor, "/", UInt32(IN_CREATE)) >= 0)
        #expect(Processes.watches(UInt64(status.st_ino), of: getpid()))
        #expect(!Processes.watches(UInt64(status.st_ino), of: .max))
    }

    @Test func onlyTheWholeNumberCounts() {
        let text = Array(
            "pos:\t0\nflags:\t02004000\ninotify wd:2 ino:cfae1f sdev:32 mask:fc6 ignored_mask:0\n".utf8)
        #expect(Processes.tells(of: 0xcf_ae1f, text))
        #expect(!Processes.tells(of: 0xcfae1, text))
        #expect(!Processes.tells(of: 0x32, text))
        #expect(!Processes.tells(of: 1, []))
    }

    @Test(arguments: [
        (
            ["/usr/bin/gdk-pixbuf-thumbnailer", "-s", "256", "file:///a.jpg", "/tmp/b.png"],
            Thumbnailer.ofOneFile(edge: 256)
        ),
        (["gdk-pixbuf-thumbnailer", "--size", "1024", "a", "b"], .ofOneFile(edge: 1024)),
        (["glycin-thumbnailer", "-i", "a", "-s", "x"], .ofOneFile(edge: .max)),
        (["ffmpegthumbnailer", "-i", "a", "-o", "b"], .ofOneFile(edge: 128)),
        (["/lib/libexec/kf5/kioslave5", "/lib/qt5/plugins/kf5/kio/thumbnail.so", "thumbnail", "local:/x"], .worker),
        (["/lib/libexec/kf6/kioworker", "/lib/qt6/plugins/kf6/kio/thumbnail.so", "thumbnail"], .worker),
        (["/lib/libexec/kf5/kioslave5", "/lib/qt5/plugins/kf5/kio/file.so", "file", "local:/x"], nil),
        (["/usr/bin/gthumb", "/a.jpg"], .strip), (["gthumb"], .strip), (["/opt/gthumb/viewer"], nil), (["/"], nil),
        (["/usr/bin/pcmanfm-qt", "/mnt"], .window), (["pcmanfm", "/mnt"], nil),
        (["cp", "-s", "256", "thumbnailer"], nil), ([], nil),
    ]) func thumbnailersAreToldByTheirCommandLine(arguments: [String], expected: Thumbnailer?) {
        #expect(Thumbnailer(arguments: arguments) == expected)
    }
}
