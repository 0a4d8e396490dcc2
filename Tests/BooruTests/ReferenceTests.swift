import Rankings
import TestSupport
import Testing

@testable import Boards

/// What listings keep of a post's files, and which addresses are believed.
@Suite struct ReferenceTests {
    private let places = hosts(yandere)

    private func file(_ place: String, _ fileExtension: String = "jpg", size: Int64? = nil) -> PostFile {
        PostFile(place: place, fileExtension: fileExtension, size: size)
    }

    private static let md5 = "3a453ffae99c4de46e4fb5bf82236842"

    @Test func filesComeBackAsTheyWere() throws {
        let md5 = Self.md5
        let stem = "files.yande.re/image/\(md5)/yande.re%201%20a%20b"
        let sample = file("files.yande.re/sample/\(md5)/yande.re%201%20sample%20a%20b.jpg", size: 7)
        let cases: [(PostFile, PostFile?, PostFile?, PostFile?)] = [
            (file("files.yande.re/a.png", "png", size: 5), nil, nil, nil),
            (file(stem + ".png", "png", size: 5), sample, nil, nil),
            (
                file(stem + ".zip", "zip", size: 5), nil, file("yande.re/720/\(md5).webp", "webp"),
                file("assets.yande.re/p/\(md5)\(md5).jpg")
            ),
            // Nothing in common, the same, one inside the other, an odd suffix, colons.
            (
                file("files.yande.re/x", size: 5), file("files.yande.re/x"), file("files.yande.re/xx"),
                file("yande.re/a:b.c:d/e.f.jp:g")
            ),
        ]
        for (original, sample, still, small) in cases {
            var files = try #require(PostFiles(original: original, md5: md5))
            (files.sample, files.still, files.small) = (sample, still, small)
            let text = PostReference.text(of: files)
            #expect(PostReference.files(text, hosts: places) == files, "\(text)")
        }
    }

    @Test(arguments: [
        // A # stands for the digest.
        "", " ", "1", "1 jpg", "2 jpg 5 # files.yande.re/a.jpg", "1 exe 5 # files.yande.re/a.exe",
        "1 jpg x # files.yande.re/a.jpg", "1 jpg 5 md5 files.yande.re/a.jpg", "1 jpg 5 # evil.example/a.jpg",
        "1 jpg 5 # files.yande.re/../a.jpg", "1 jpg 5 # files.yande.re/a.jpg q:jpg:0:0:0::x",
        "1 jpg 5 # files.yande.re/a.jpg s:jpg:0:99:0::x", "1 jpg 5 # files.yande.re/a.jpg s:jpg:0:-1:0::x",
        // As they were kept once: nothing proves what they lead to.
        "1 jpg 5 - files.yande.re/a.jpg", "1 jpg 0 # files.yande.re/a.jpg",
        "1 jpg 5 # files.yande.re/a.jpg s:jpg:0:0:0:.jpg:evil.example/a", "1 jpg 5 # files.yande.re@evil.example/a.jpg",
    ])
    func otherTextsAreNone(mark: String) {
        let text = mark.replacing("#", with: Self.md5)
        #expect(PostReference.files(text, hosts: places) == nil)
        #expect(
            FakeBoard().source(yandere).location(
                of: WorkID(rawValue: 1), picture: text, page: 0, rendition: .original) == nil)
    }

    @Test func onlyListedHostsAreBelieved() {
        let good = [
            "https://files.yande.re/image/1.jpg": "files.yande.re/image/1.jpg",
            "http://files.yande.re/image/1.jpg": "files.yande.re/image/1.jpg",
            "//files.yande.re/image/1.jpg": "files.yande.re/image/1.jpg",
            "HTTPS://Files.Yande.RE/Image/1.jpg": "files.yande.re/Image/1.jpg",
            "/data/1.jpg": "yande.re/data/1.jpg",
            "https://files.yande.re/a*b.jpg": "files.yande.re/a%2Ab.jpg",
        ]
        for (address, place) in good { #expect(places.place(address) == place) }
        for address in [
            "https://files.yande.re.evil.example/1.jpg", "https://evil.example/files.yande.re/1.jpg",
            "https://user@files.yande.re/1.jpg", "https://files.yande.re:8443/1.jpg", "ftp://files.yande.re/1.jpg",
            "https://files.yande.re/../1.jpg", "https://files.yande.re/1.jpg?x=1", "https://files.yande.re/1.jpg#x",
            "https://files.yande.re/1 .jpg", "https://files.yande.re/1\r\nX: y", "https://files.yande.re", "", "1.jpg",
            "https://127.0.0.1/1.jpg", "https://files.yande.re/" + String(repeating: "a", count: 2048), "https://",
            "https://files.yande.re/あ.jpg", "///files.yande.re/1.jpg",
        ] { #expect(places.place(address) == nil, "\(address)") }
    }

    @Test func anOriginOfOnesOwnTakesEveryHostsPlace() throws {
        let work = try #require(try moebooru().post?.work)
        let source = FakeBoard().source(yandere, imageURL: "http://127.0.0.1:8080")
        let small = source.location(of: work, .small)
        #expect(small?.url == "http://127.0.0.1:8080/data/preview/ab/cd/00000000000000000000000000000005.jpg")
        // A listing costs its pages and nothing else: no connection is made ahead.
        #expect(source.imageHost == nil)
        // Also if it names itself.
        let own = hosts(yandere, replacement: "http://127.0.0.1:8080")
        #expect(own.place("http://127.0.0.1:8080/image/1.jpg") == "yande.re/image/1.jpg")
        #expect(own.place("http://127.0.0.1:8081/image/1.jpg") == nil)
    }

    @Test func aWorkHasOnePage() throws {
        let work = try #require(try moebooru().post?.work)
        let source = FakeBoard().source(yandere)
        #expect(source.location(of: work, .original, page: 1) == nil)
        #expect(source.location(of: work, .archive) == nil)
        #expect(source.files(of: work)?.map(\.stem) == ["original", "sample"])
        #expect(source.files(of: work)?.map(\.rendition) == [.original, .regular])
        #expect(source.originalCandidates(of: work) == [work.picture])
        let plain = try #require(try moebooru(["sample_file_size": 0]).post?.work)
        #expect(source.files(of: plain)?.map(\.stem) == ["original"])
    }
}
