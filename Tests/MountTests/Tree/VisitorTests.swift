import Foundation
import Testing

extension MountSuite {
    /// Semantics: "Looking is cheap".
    @Suite struct VisitorTests {
        /// More than who watches is told of at once; each is drawn and scaled by unoptimised programs.
        private static let shown = 12
        /// The entries that may be told before a file manager looks.
        private static let toldBefore = 9

        /// One that shows itself as a file manager when it has read for 300 ms, as Dolphin.
        @Test(arguments: Service.allCases)
        func aVisitorIsKnownBeforeItIsToldOfMuch(service: Service) async throws {
            try await withMount(service, options: ["top=\(Self.shown)"]) { workplace, origin, mount in
                let output = try workplace.run("python3", "-c", Self.visitor, mount.day())
                #expect(output.status == 0, "\(output.errors)")
                let told = output.lines.first?.split(separator: " ").compactMap { Int($0) } ?? []
                #expect((told.first ?? 0) <= Self.toldBefore)
                #expect(told.last == Self.shown)
                #expect(origin.downloads.allSatisfy { $0.path.contains(service.previews) || $0.range == "bytes=0-0" })
            }
        }

        /// Prints how many entries it was told of before it looked, and in all.
        private static let visitor = """
            import ctypes, os, sys, time
            day = sys.argv[1]
            libc = ctypes.CDLL(None)
            assert libc.inotify_add_watch(libc.inotify_init(), day.encode(), 0x100) >= 0
            names, begin, before = os.listdir(day), time.monotonic(), None
            for number, name in enumerate(names, 1):
                os.stat(os.path.join(day, name))
                if before is None and time.monotonic() - begin >= 0.3:
                    before = number
                    os.access(day + "/.hidden", os.F_OK)
            print(before or len(names), len(names))
            """
    }
}
