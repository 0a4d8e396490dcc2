import HTTP
import Rankings
import Testing

@testable import Sourcing

@Suite struct PictureSizeTests {
    static func head(_ status: Int, _ headers: (String, String)...) -> HTTPAnswer {
        HTTPAnswer(status: status, headers: headers.map { (name: $0.0, value: $0.1) })
    }

    static let jpeg = ("content-type", "image/jpeg")

    @Test func aHeadTellsTheLength() {
        #expect(PictureSize(head: Self.head(200, Self.jpeg, ("content-length", "12345"))) == .size(12345))
    }

    @Test(arguments: ["0", "9000000000000000000"])
    func whatNoPictureHasIsNoLength(length: String) {
        #expect(PictureSize(head: Self.head(200, Self.jpeg, ("content-length", length))) == .notTold)
    }

    @Test func aMissingLengthLeadsToTheProbe() {
        #expect(PictureSize(head: Self.head(200, Self.jpeg)) == .notTold)
        #expect(PictureSize(head: Self.head(405)) == .notTold)
        #expect(
            PictureSize(head: Self.head(200, Self.jpeg, ("content-length", "9"), ("content-encoding", "gzip")))
                == .notTold)
    }

    @Test func aPageOfTextIsNoPicture() {
        for head in [
            Self.head(200, ("content-type", "text/html"), ("content-length", "5")),
            Self.head(200, ("content-length", "5")),
        ] {
            #expect(PictureSize(head: head) == .failed(.unreadable("the image host did not answer with a picture")))
        }
    }

    @Test func statusesBecomeTypedErrors() {
        #expect(PictureSize(head: Self.head(404)) == .failed(.notFound))
        #expect(PictureSize(head: Self.head(429, ("retry-after", "7"))) == .failed(.limited(retryAfter: nil)))
        #expect(PictureSize(head: Self.head(503)) == .failed(.answered(status: 503)))
        #expect(
            PictureSize(firstByte: Self.head(403)) == .failed(.unreadable("the image host refused with status 403")))
    }

    @Test func theFirstBytesRangeTellsTheTotal() {
        func probe(_ range: String) -> PictureSize {
            PictureSize(firstByte: Self.head(206, Self.jpeg, ("content-range", range)))
        }
        #expect(probe("bytes 0-0/777") == .size(777))
        #expect(probe("bytes 0-0/*") == .notTold)
        #expect(probe("bytes 1-1/777") == .notTold)
        #expect(probe("bytes 0-0/0") == .notTold)
        #expect(PictureSize(firstByte: Self.head(206, Self.jpeg)) == .notTold)
        #expect(PictureSize(firstByte: Self.head(200, Self.jpeg, ("content-length", "9"))) == .size(9))
        #expect(PictureSize(firstByte: Self.head(416)) == .notTold)
    }
}
