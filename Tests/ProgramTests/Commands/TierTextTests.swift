import RankFS
import Rankings
import Testing
@testable import Tier

@testable import rankfs

/// What `rankfs tier` says.
@Suite struct TierTextTests {
    private func figures(uploads: Int64 = 0, hits: Int64 = 0, dropped: Int64? = 0) -> StatusDocument {
        var document = StatusDocument()
        document["tier.uploads"] = .integer(uploads)
        document["tier.hits"] = .integer(hits)
        document["tier.dropped"] = dropped.map(JSON.integer) ?? .null
        return document
    }

    private func files(_ fetched: Int, stored: Int = 0) -> FetchTally.Group {
        var group = FetchTally.Group()
        (group.fetched, group.skipped) = (fetched, stored)
        return group
    }

    @Test func whatWasNotBroughtIsTold() {
        let before = figures(uploads: 7, hits: 1)
        let all = Command.warmed(files(5), before: before, after: figures(uploads: 9, hits: 4))
        #expect(all.text == "brought to the tier: 2 pictures; there already: 3")
        let stored = Command.warmed(
            files(6, stored: 3), before: before, after: figures(uploads: 9, hits: 4, dropped: 1))
        #expect(stored.dropped == 1)
        #expect(stored.text.contains("not looked for there: 3 files that the mount had stored before"))
        // A mount that was made anew meanwhile, or is of an older version.
        let anew = Command.warmed(files(5), before: before, after: figures(dropped: nil))
        #expect(anew.text.hasPrefix("brought to the tier: 0 pictures; there already: 0\nnot looked for there: 5 files"))
    }

    @Test func whatWasRemovedIsTold() {
        var found = TierInspection.Trimming()
        (found.removed.objects, found.removed.bytes) = (2, 3 << 20)
        found.failures = [.init(key: "pictures/a", reason: "it refused (403)")]
        #expect(
            Command.text(of: found, removed: false) == """
                too much   2 pictures, 3M
                stays      0 pictures
                not removed pictures/a: it refused (403)
                """)
        #expect(Command.text(of: found).hasPrefix("removed    2 pictures"))
        let tally = ActTally(done: 1, documents: 2)
        #expect(
            MountCommand.pin.outcome(ActTally(done: 3, failed: 1, partial: 1)).hasSuffix(
                "; of 1 listing not all is stored, and no request brings the rest"))
        #expect(MountCommand.pin.outcome(ActTally(done: 3, failed: 1, isDiskFull: true)).contains("the disk"))
        #expect(MountCommand.pin.outcome(ActTally(done: 3, failed: 1, isOffline: true)).contains("is offline"))
        #expect(MountCommand.unshare.outcome(tally) == "removed from the tier: 1 picture, 2 documents")
    }

    /// Documents are stored under the name of what is chosen, pictures are not; existing names stay.
    @Test(
        arguments: [
            (nil, "danbooru"), ("http://127.0.0.1:8080", "danbooru-127.0.0.1_8080"),
            ("http://127.0.0.1:8080/", "danbooru-127.0.0.1_8080"),
        ] as [(String?, String)])
    func namesOfServicesStay(_ url: String?, _ name: String) throws {
        var settings = Settings()
        settings.apiURL = try url.map { try OriginURL($0) }
        let source = try SourceName(argument: "danbooru")
        #expect(TierMeans.service(source, settings, [:]) == name)
        #expect(TierMeans.service(source, settings, ["rating": "explicit"]) == name + "-rating_explicit")
        var inner = settings
        inner.apiURL = try OriginURL("http://127.0.0.1:8080/Inner/one")
        let found = TierMeans.service(source, inner, [:])
        #expect(
            found.hasPrefix("danbooru-127.0.0.1_8080-")
                && found.utf8.count == "danbooru-127.0.0.1_8080-".utf8.count + 16)
        inner.apiURL = try OriginURL("http://127.0.0.1:8080/inner/one")
        #expect(TierMeans.service(source, inner, [:]) != found)
    }

    @Test func whatIsInventedIsNoService() throws {
        let demo = SourceName.demo(of: try SourceName(argument: "danbooru"))
        #expect(TierMeans.service(demo, Settings(), [:]) == demo.rawValue)
        var settings = Settings()
        settings.apiURL = try OriginURL("http://127.0.0.1:8080")
        #expect(TierMeans.service(demo, settings, [:]) == "danbooru-127.0.0.1_8080")
    }

    @Test func whatWasVerifiedIsTold() {
        var found = TierInspection.Verification()
        found.pictures.objects = 2
        found.others.objects = 1
        found.mistakes = [.init(key: "pictures/a", reason: "its bytes are wrong")]
        found.failures = [.init(key: "pictures/b", reason: "it answered 500")]
        found.stopped = "gone"
        #expect(
            Command.text(of: found) == """
                removed    pictures/a: its bytes are wrong
                not read   pictures/b: it answered 500
                in order   2 pictures, 0, 0 documents
                left       1 object, 0 of others
                stopped    gone; not everything was looked at
                """)
    }
}
