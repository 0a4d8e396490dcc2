import Foundation
import TestSupport
import Testing

extension MountSuite {
    /// The smallest source that there is ("Adding a source" in the catalogue), mounted.
    @Suite struct SampleTests {
        @Test func theSmallestSourceIsAFileSystem() async throws {
            try await withWorkplace { workplace in
                let mountPoint = try workplace.folder("mount")
                workplace.willMount(at: mountPoint)
                let child = try workplace.start(
                    "\(TestPrograms.besideTests)/sample-mount", [mountPoint, try workplace.folder("cache")])
                guard poll({ child.outputText == "ready\n" || !child.process.isRunning }) else {
                    throw Failure("not mounted: \(child.errorText)")
                }
                let latest = "\(mountPoint)/ranking/day/latest"
                let copy = workplace.directory.appending(path: "copy").path
                let listed = try workplace.run("ls", mountPoint)
                #expect(listed.lines == ["by-date", "random.jpg", "ranking", "recent"], "\(listed.errors)")
                let names = try workplace.run("ls", latest).lines
                #expect(
                    names.count == 30 && names.prefix(3) == ["001-Post 0.jpg", "002-Post 1.png", "003-Post 2.webp"])
                #expect(try status(of: "\(latest)/003-Post 2.webp").st_size == 5020)
                #expect(try workplace.run("rsync", "-a", "\(latest)/", copy).status == 0)
                let again = try workplace.run("rsync", "-ai", "\(latest)/", copy)
                #expect(again.status == 0 && again.lines.isEmpty, "\(again.lines)")
                #expect(try read("\(copy)/002-Post 1.png").get().prefix(4) == Data([0x89, 0x50, 0x4E, 0x47]))
            }
        }
    }
}
