import Testing

@testable import HTTP

@Suite("HTTPAnswer")
struct HTTPAnswerTests {
    private func answer(_ status: Int = 200, _ headers: (String, String)...) -> HTTPAnswer {
        HTTPAnswer(status: status, headers: headers.map { (name: $0.0, value: $0.1) })
    }

    private static let day = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let notANumber = "the length is not a number"
    private static let twoLengths = "two lengths contradict each other"

    @Test func whatNoHeaderSaysIsAbsent() {
        let answer = answer()
        #expect(answer.length == nil && answer.contradiction == nil && answer.part == nil && answer.total == nil)
        #expect(answer.contentType == nil && answer.mediaType == nil && !answer.isText && answer.codings.isEmpty)
        #expect(answer.etag == nil && answer.lastModified == nil && answer.validator == nil && answer.age == nil)
        #expect(answer.pause(now: 0) == nil && answer.date == nil && answer.sent == nil && answer.redirect == nil)
    }

    /// RFC 9110 section 15.
    @Test(
        arguments: [
            (200, .whole), (206, .part), (416, .beyondTheEnd), (404, .gone), (410, .gone), (401, .refused),
            (403, .refused), (429, .limited), (500, .troubled), (503, .troubled), (599, .troubled), (201, .unexpected),
            (204, .unexpected), (304, .unexpected), (400, .unexpected), (600, .unexpected), (999, .unexpected),
        ] as [(Int, HTTPAnswer.Outcome)])
    func statusesHaveAnOutcome(_ status: Int, _ outcome: HTTPAnswer.Outcome) {
        #expect(answer(status).outcome == outcome)
    }

    /// RFC 9110 section 8.6, RFC 9112 section 6.3.
    @Test(
        arguments: [
            (["12345"], 12_345), (["0"], 0), (["5", "5"], 5), (["5, 5"], 5), (["007"], 7),
            (["9223372036854775807"], .max), (["5 ,\t5"], 5),
        ] as [([String], Int64)])
    func lengthsAreDigits(_ values: [String], _ length: Int64) {
        let answer = HTTPAnswer(status: 200, headers: values.map { (name: "content-length", value: $0) })
        #expect(answer.length == length && answer.contradiction == nil)
    }

    @Test(
        arguments: [
            (["5", "6"], twoLengths), (["5,6"], twoLengths), (["5", "six"], notANumber), ([""], notANumber),
            (["-1"], notANumber), (["+7"], notANumber), (["1e3"], notANumber), (["12 34"], notANumber),
            (["5,"], notANumber), (["99999999999999999999"], notANumber), (["٣"], notANumber), (["0x10"], notANumber),
        ])
    func anythingElseIsAContradiction(_ values: [String], _ reason: String) {
        let answer = HTTPAnswer(status: 200, headers: values.map { (name: "content-length", value: $0) })
        #expect(answer.length == nil && answer.contradiction == reason)
    }

    /// RFC 9112 section 6.1.
    @Test func aLengthBesideChunksIsAContradiction() {
        let chunked = ("transfer-encoding", "chunked")
        #expect(answer(200, ("content-length", "5"), chunked).contradiction == Self.twoLengths)
        #expect(answer(200, chunked).contradiction == nil)
    }

    /// RFC 9110 section 14.4.
    @Test(
        arguments: [
            ("bytes 0-99/1000", 0..<100, 1000), ("bytes 5-5/*", 5..<6, nil), ("BYTES 1-2/3", 1..<3, 3),
            ("bytes 0-9223372036854775806/*", 0..<Int64.max, nil),
        ] as [(String, Range<Int64>, Int64?)])
    func aPartTellsItsRange(_ text: String, _ range: Range<Int64>, _ total: Int64?) {
        let answer = answer(206, ("content-range", text))
        #expect(answer.part == range && answer.total == total)
    }

    @Test(arguments: [
        "", "bytes", "bytes ", "bytes 5-4/10", "bytes 0-10/10", "bytes -5/10", "bytes 5-/10", "bytes a-b/c",
        "items 0-1/2", "bytes 0-9223372036854775807/*", "bytes 0-1/2/3", "bytes 0-1", "bytes 0-1/", "bytes 0-1/x",
        "bytes */1000", "bytes 0-1-2/3", "bytes +0-1/2", "bytes 0-1/-2", "bytes  0-1/2", "bytes=0-1/2",
    ])
    func anythingElseIsNoPart(_ text: String) {
        let answer = answer(206, ("content-range", text))
        #expect(answer.part == nil && answer.total == nil)
    }

    @Test func partsMustAgreeAmongThemselvesAndWithTheLength() {
        let (one, other) = (("content-range", "bytes 0-1/5"), ("content-range", "bytes 0-2/5"))
        #expect(answer(206, one, one).part == 0..<2)
        #expect(answer(206, one, other).part == nil)
        #expect(answer(206, one, ("content-length", "2")).length == 2)
        let wrong = "the part's length contradicts its range"
        #expect(answer(206, one, ("content-length", "5")).contradiction == wrong)
        // Only a 206 and a 416 have a part.
        let whole = answer(200, one, ("content-length", "5"))
        #expect(whole.length == 5 && whole.part == nil && whole.total == nil)
    }

    /// RFC 9110 section 15.5.17.
    @Test(
        arguments: [
            ("bytes */1000", 1000), ("Bytes */0", 0), ("bytes */", nil), ("bytes */*", nil), ("", nil),
            ("bytes */-1", nil), ("bytes 0-1/1000", nil), ("bytes */10000000000000000000", nil),
        ] as [(String, Int64?)])
    func anAnswerBehindTheEndTellsTheWhole(_ text: String, _ total: Int64?) {
        let answer = answer(416, ("content-range", text), ("content-length", "7"))
        #expect(answer.total == total && answer.part == nil && answer.length == 7)
    }

    /// RFC 9110 section 8.3.1.
    @Test(
        arguments: [
            ("image/jpeg", "image/jpeg", false), ("Image/PNG ;q=1", "image/png", false),
            ("TEXT/HTML; charset=UTF-8", "text/html", true), ("text/plain;x", "text/plain", true), ("", "", false),
            ("application/text/", "application/text/", false),
        ])
    func mediaTypesAreComparable(_ text: String, _ type: String, _ isText: Bool) {
        let answer = answer(200, ("content-type", text))
        #expect(answer.contentType == text && answer.mediaType == type && answer.isText == isText)
    }

    /// RFC 9110 section 8.4.
    @Test(
        arguments: [
            (["gzip"], ["gzip"]), (["GZip"], ["gzip"]), (["identity"], []), (["Identity, ,"], []), ([""], []),
            (["gzip, br"], ["gzip", "br"]), (["gzip", "identity"], ["gzip"]), (["gzip", "gzip"], ["gzip", "gzip"]),
        ])
    func codingsAreAList(_ values: [String], _ codings: [String]) {
        let headers = values.map { (name: "content-encoding", value: $0) }
        #expect(HTTPAnswer(status: 200, headers: headers).codings == codings)
    }

    /// RFC 9110 sections 8.8 and 13.1.5: `If-Range` takes a strong entity tag or a date.
    @Test(
        arguments: [
            ("\"a\"", day, "\"a\""), ("\"a\"", nil, "\"a\""), ("W/\"a\"", day, day), ("W/\"a\"", nil, nil),
            (nil, day, day), ("a", nil, nil), ("", "soon", "soon"),
            ("\"\"", day, day), ("\"\"", nil, nil),
        ] as [(String?, String?, String?)])
    func versionsHaveAName(_ etag: String?, _ date: String?, _ validator: String?) {
        let headers = [("etag", etag), ("last-modified", date)].compactMap { name, value in
            value.map { (name: name, value: $0) }
        }
        let answer = HTTPAnswer(status: 200, headers: headers)
        #expect(answer.etag == etag && answer.lastModified == date && answer.validator == validator)
    }

    /// RFC 9110 section 10.2.3.
    @Test(
        arguments: [
            ("0", 0), ("120", 120), ("3601", 3600), ("99999999999999999999999", 3600), (day, 77),
            ("Sun, 06 Nov 1994 08:00:00 GMT", 0), ("Mon, 07 Nov 1994 08:49:37 GMT", 3600), ("soon", nil), ("", nil),
            ("-5", nil), ("+5", nil), ("1.5", nil),
        ] as [(String, Int64?)])
    func pausesAreSecondsOrADate(_ text: String, _ seconds: Int64?) {
        #expect(answer(503, ("retry-after", text)).pause(now: 784_111_700) == seconds)
        let verdict = AnswerVerdict.limited(
            by: answer(503, ("retry-after", text)), usual: 9, now: 784_111_700)
        #expect(verdict == .limited(seconds: seconds.map { max($0, 1) } ?? 9, told: seconds != nil))
    }

    @Test func aPauseUntilADateIsCountedByTheServersClock() {
        let answer = answer(429, ("date", "Sun, 06 Nov 1994 08:48:37 GMT"), ("retry-after", Self.day))
        #expect(AnswerVerdict.limited(by: answer, usual: 9, now: 0) == .limited(seconds: 60, told: true))
    }

    /// RFC 9111 section 5.1.
    @Test(
        arguments: [
            (day, nil, 784_111_777), (day, "3", 784_111_780), (day, "-3", 784_111_777), (day, "x", 784_111_777),
            (day, "9223372036854775807", 784_111_777 + 31_556_952_000), ("now", "3", nil), (nil, "3", nil),
        ] as [(String?, String?, Int64?)])
    func aCachesTimeIsAddedToTheDate(_ date: String?, _ age: String?, _ sent: Int64?) {
        let headers = [("date", date), ("age", age)].compactMap { name, value in
            value.map { (name: name, value: $0) }
        }
        #expect(HTTPAnswer(status: 200, headers: headers).sent == sent)
    }

    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:27 GMT", "5", 15), (day, nil, 0), ("Mon, 07 Nov 1994 08:49:37 GMT", nil, 0),
            ("soon", nil, nil), (nil, nil, nil),
        ] as [(String?, String?, Int64?)])
    func anAgeIsByTheServersClock(_ written: String?, _ kept: String?, _ age: Int64?) {
        let headers = [("last-modified", written), ("age", kept), ("date", Self.day)].compactMap { name, value in
            value.map { (name: name, value: $0) }
        }
        #expect(HTTPAnswer(status: 200, headers: headers).age == age)
    }

    /// RFC 9110 section 15.4.
    @Test func onlyRedirectsLeadElsewhere() {
        for status in [301, 302, 303, 307, 308] {
            #expect(answer(status, ("location", "/b")).redirect == "/b" && answer(status).redirect == nil)
        }
        for status in [200, 201, 300, 304, 305, 306, 404] {
            #expect(answer(status, ("location", "/b")).redirect == nil)
        }
    }
}
