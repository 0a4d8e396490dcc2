import HTTP
import Rankings
import Testing

@testable import Sourcing

@Suite struct PictureSizeTests {
    private static func head(_ status: Int, _ headers: (String, String)...) -> HTTPAnswer {
        HTTPAnswer(status: status, headers: headers.map { (name: $0.0, value: $0.1) })
    }

    private static let jpeg = ("content-type", "image/jpeg")
    private static let noPicture = PictureSize.failed(
        .unreadable("the image host did not answer with a picture"))

    /// What is not told leads to the probe.
    @Test(
        arguments: [
            (head(200, jpeg, ("content-length", "12345")), .size(12345)), (head(200, jpeg), .notTold),
            (head(200, jpeg, ("content-length", "0")), .notTold),
            (head(200, jpeg, ("content-length", "9000000000000000000")), .notTold), (head(405), .notTold),
            (head(200, jpeg, ("content-length", "9"), ("content-encoding", "gzip")), .notTold),
            (head(200, ("content-type", "text/html"), ("content-length", "5")), noPicture),
            (head(200, ("content-length", "5")), .size(5)), (head(404), .failed(.notFound)),
            (head(200, ("content-type", "binary/octet-stream"), ("content-length", "5")), .size(5)),
            (head(429, ("retry-after", "7")), .failed(.limited(retryAfter: nil))),
            (head(503), .failed(.answered(status: 503))),
        ] as [(HTTPAnswer, PictureSize)])
    func aHeadTellsTheLength(head: HTTPAnswer, size: PictureSize) {
        #expect(PictureSize(head: head) == size)
    }

    @Test(
        arguments: [
            (head(206, jpeg, ("content-range", "bytes 0-0/777")), .size(777)),
            (head(206, jpeg, ("content-range", "bytes 0-0/*")), .notTold),
            (head(206, jpeg, ("content-range", "bytes 1-1/777")), .notTold),
            (head(206, jpeg, ("content-range", "bytes 0-0/0")), .notTold), (head(206, jpeg), .notTold),
            (head(200, jpeg, ("content-length", "9")), .size(9)), (head(416), .notTold),
            (head(403), .failed(.unreadable("the image host refused with status 403"))),
        ] as [(HTTPAnswer, PictureSize)])
    func theFirstByteTellsTheTotal(head: HTTPAnswer, size: PictureSize) {
        #expect(PictureSize(firstByte: head) == size)
    }
}
