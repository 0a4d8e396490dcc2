import Rankings
import Testing

@testable import rankfs

@Suite struct StatusTests {
    private var document: StatusDocument {
        StatusDocument(
            version: "1.2.3", source: "pixiv", mountPoint: "/m/ü\n", processID: 42, started: 1000, uptime: 3725,
            catalog: .init(
                storedListings: 3, loadedListings: 2, loadedEntries: 999, knownSizes: 500, originalQuestionsToHost: 9,
                originalQuestionsToService: 1),
            cache: .init(
                directory: "/c", storedPictures: 7, storedBytes: 5 << 20, budget: 2 << 30, openPictures: 1,
                receivedBytes: 1 << 20, preloaded: 2, evicted: 0,
                downloads: [
                    .init(picture: "1_p0", received: 1024, total: 4096, isRead: true),
                    .init(picture: "2_p0", received: 0, total: nil, isRead: false),
                ]),
            network: .init(activeTransfers: 2, queuedTransfers: 1, tokens: 39.5, closedUntil: 5000),
            signIn: .init(state: "signed_in", user: 123), thumbnails: .init(files: 120, receivedBytes: 3 << 20),
            waitingRequests: 4,
            inodes: 501,
            handles: 2,
            recent: [.init(time: 0, level: "warning", message: "no \"route\"")])
    }

    @Test func survivesTheWayThroughTheMount() throws {
        #expect(StatusDocument(json: document.json) == document)
    }

    @Test func namesAreStable() {
        let text = String(decoding: document.json, as: UTF8.self)
        for name in [
            "version", "source", "mount_point", "pid", "started", "uptime", "catalog", "cache", "network",
            "waiting_requests", "recent", "stored_listings", "loaded_listings", "loaded_entries", "known_sizes",
            "original_questions_to_host", "original_questions_to_service",
            "directory",
            "stored_pictures", "stored_bytes", "budget", "open_pictures", "received_bytes", "preloaded", "evicted",
            "downloads", "picture", "received", "total", "is_read", "active_transfers", "queued_transfers", "tokens",
            "closed_until", "time", "level", "message",
            "sign_in", "state", "user", "thumbnails", "files",
        ] {
            #expect(text.contains("\"\(name)\""), "\(name)")
        }
        #expect(text.hasSuffix("}\n"))
        #expect(text.contains(#""/m/ü\n""#))
    }

    @Test func otherTextsAreNotDocuments() {
        #expect(StatusDocument(json: []) == nil)
        #expect(StatusDocument(json: Array("{}".utf8)) == nil)
    }

    @Test func theSummaryIsForPeople() {
        #expect(
            StatusCommand.summary(of: document, now: 4000) == """
                /m/ü\\u{a}: pixiv, rankfs 1.2.3, process 42, up 1 h 2 min
                  stored     7 pictures, 5M of 2G, in /c
                  received   1M; 2 preloaded, 0 evicted
                  listings   3 stored, 2 in memory with 999 entries; 500 sizes known
                  now        1 open, 4 requests waiting, 2 transfers, 1 queued
                  reading    1_p0: 1K of 4K
                  preload    2_p0: 0
                  thumbnails 120 files for file managers, from 3M of previews
                  account    signed in as 123
                  waiting    the service asked to be left alone for another 16 min 40 s
                  warning    1970-01-01T00:00:00Z no "route"
                """)
        #expect(!StatusCommand.summary(of: document, now: 5000).contains("left alone"))
    }

    @Test func aSessionThatHasRunOutIsToldWithItsRemedy() {
        var document = document
        document.signIn = .init(.expired(UserID(rawValue: 123)))
        #expect(
            StatusCommand.summary(of: document, now: 4000).contains(
                "  account    the session of 123 has expired: sign in again with `rankfs login`\n"))
        document.signIn = .init(.signedOut)
        #expect(!StatusCommand.summary(of: document, now: 4000).contains("account"))
        #expect(String(decoding: document.json, as: UTF8.self).contains(#""state" : "signed_out""#))
        #expect(StatusDocument.SignInFigures(.signedIn(UserID(rawValue: 5))) == .init(state: "signed_in", user: 5))
    }

    @Test(arguments: [(5, "5 s"), (65, "1 min 5 s"), (3700, "1 h 1 min"), (90000, "1 d 1 h")])
    func durations(_ seconds: Int64, text: String) {
        #expect(StatusCommand.duration(seconds) == text)
    }
}
