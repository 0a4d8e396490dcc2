import Foundation
import Testing

extension MountSuite.FleetTests {
    /// Options of a mount whose user has signed in.
    private func signedIn(_ user: Int, _ workplace: Workplace) throws -> [String] {
        try workplace.signedIn(user) + ["prefetch=0"]
    }

    /// Lists what is somebody's own, and reads a picture that is shown nowhere else.
    private func readOwn(_ mount: Mount, _ workplace: Workplace) throws {
        let marked = "\(mount.path)/bookmarks"
        #expect(try mount.names("\(mount.path)/following").count > 30)
        #expect(try mount.names("\(mount.path)/search/三枚だけの札").count > 0)
        let shown = try mount.names("\(marked)/").first { name in
            extendedAttribute("user.rankfs.withheld", of: "\(marked)/\(name)") == nil
        }
        #expect(try !MountTests.read("\(marked)/\(#require(shown))").get().isEmpty)
    }

    /// Reads the first picture of a ranking that needs signing in.
    private func readRestricted(_ mount: Mount) throws -> Data {
        try MountTests.read(mount.picture(1, in: mount.day("daily_r18"))).get()
    }

    @Test func whatIsOnesOwnDoesNotReachTheStore() async throws {
        try await withStore { workplace, origin, store in
            let mount = try store.machine("first", options: signedIn(1000, workplace))
            try readOwn(mount, workplace)
            #expect(try !readRestricted(mount).isEmpty)
            let author = "\(mount.path)/users/1001"
            _ = try mount.names(author)
            #expect(try !MountTests.read("\(author)/profile.json").get().isEmpty)
            // Of rankings that everybody sees one is shown more than others.
            _ = try read(mount)
            // Not asked either: a name tells something, too.
            #expect(try store.count(".*\(store.prefix)") == 0)
            #expect(try number("waiting", mount) == 0)
        }
    }

    @Test func whatNeedsSigningInIsSharedWithOnesOwnMachines() async throws {
        try await withStore { workplace, origin, store in
            let options = { (user: Int) in try signedIn(user, workplace) + ["tier_private=on"] }
            let first = try store.machine("first", options: options(1000))
            try readOwn(first, workplace)
            // The picture is; the lists are not.
            try settle(first, uploads: 1)
            #expect(try store.count(".*\(store.prefix)/.*documents/") == 0)
            let bytes = try readRestricted(first)
            let author = try mountedAuthor(first)
            try settle(first, uploads: 2)
            #expect(first.unmount())

            let before = asked(origin).count
            let second = try store.machine("second", options: options(1000))
            #expect(try readRestricted(second) == bytes)
            #expect(try mountedAuthor(second) == author)
            #expect(asked(origin).dropFirst(before).map(\.path) == [])
            try readOwn(second, workplace)
            let own = Set(asked(origin).dropFirst(before).map(\.path))
            #expect(own.contains { $0.contains("bookmark") } && own.contains { $0.contains("following") }, "\(own)")

            let others = asked(origin).count
            let third = try store.machine("third", options: options(1001))
            #expect(try readRestricted(third) == bytes)
            let paths = asked(origin).dropFirst(others).map(\.path)
            #expect(paths.contains { $0.contains("mode=daily_r18") }, "\(paths)")
            #expect(try store.count("PUT .*\(store.prefix)/documents/.*-user-1000/days/daily_r18/") > 0)
            #expect(try store.count(".*\(store.prefix)/documents/(?!.*-user-).*daily_r18") == 0)
        }
    }

    /// What an author's folder has.
    private func mountedAuthor(_ mount: Mount) throws -> [String] {
        try mount.names("\(mount.path)/users/1001") + [
            String(decoding: MountTests.read("\(mount.path)/users/1001/profile.json").get(), as: UTF8.self)
        ]
    }
}
