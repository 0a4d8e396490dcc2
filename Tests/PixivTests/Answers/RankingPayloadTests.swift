import Foundation
import Rankings
import Testing

@testable import Pixiv

@Suite("Recorded rankings")
struct RankingPayloadTests {
    @Test("the day 2022-05-01 has 49 entries, each as recorded, rank 36 missing")
    func daily() throws {
        let payload = try Payload(Payload.daily)
        let day = try #require(Day("2022-05-01"))
        let page = try ListAnswers.ranking(of: payload.json, mode: .daily, day: day, page: 1)
        #expect(page.entries.count == 49)
        #expect(page.entries.count == payload.count("\"illust_id\":"))
        #expect(page.entries.map(\.rank) == (1...50).filter { $0 != 36 })
        #expect(page.unreadable == 0)
        #expect(page.day == day)
        #expect(page.total == 500 && page.hasNext)
        try compare(page, payload)
    }

    @Test("the entry of a signed-in page 2")
    func signedIn() throws {
        let payload = try Payload(Payload.loggedIn)
        let page = try ListAnswers.ranking(of: payload.json, mode: .daily, day: nil, page: 2)
        #expect(page.entries.count == 1 && page.unreadable == 0)
        #expect(page.day?.description == "2020-06-01")
        try compare(page, payload)
    }

    private func compare(_ page: ListingPage, _ payload: Payload) throws {
        let contents = try #require(payload.root["contents"] as? [[String: Any]])
        #expect(contents.count == page.entries.count)
        for (entry, told) in zip(page.entries, contents) {
            let work = entry.work
            let url = try #require(told.text("url"))
            #expect(entry.rank == told.int("rank"))
            #expect(entry.previousRank ?? 0 == told.int("yes_rank"))
            #expect(Int(work.id.rawValue) == told.int("illust_id"))
            #expect(Int(work.author.rawValue) == told.int("user_id"))
            #expect(work.title == told.text("title"))
            #expect(work.authorName == told.text("user_name"))
            #expect(work.tags == told["tags"] as? [String])
            #expect(work.kind.rawValue == told.int("illust_type"))
            #expect(work.width == told.int("width") && work.height == told.int("height"))
            #expect(work.pageCount == told.int("illust_page_count"))
            #expect(work.views == told.int("view_count") && work.ratings == told.int("rating_count"))
            #expect(Int(work.uploaded) == told.int("illust_upload_timestamp"))
            #expect(try work.uploaded == pathTime(url))
            #expect(work.picture == reference(url))
            #expect(work.withheld == nil)
        }
    }

    @Test("every recorded answer reads as Foundation reads it")
    func sameValues() throws {
        let files = try Payload.all
        #expect(files.count >= 24)
        for file in files {
            let payload = try Payload(file)
            expectSame(try payload.json, payload.root, file)
        }
    }

    private func expectSame(_ json: JSON, _ told: Any, _ place: String) {
        switch json {
        case .null: #expect(told is NSNull, "\(place)")
        case .bool(let flag): #expect(told as? Bool == flag, "\(place)")
        case .integer(let number): #expect((told as? NSNumber)?.int64Value == number, "\(place)")
        case .real(let number): #expect((told as? NSNumber)?.doubleValue == number, "\(place)")
        case .string(let text): #expect(told as? String == text, "\(place)")
        case .array(let elements):
            let others = told as? [Any] ?? []
            #expect(others.count == elements.count, "\(place)")
            for (index, (element, other)) in zip(elements, others).enumerated() {
                expectSame(element, other, "\(place)/\(index)")
            }
        case .object(let members):
            let others = told as? [String: Any] ?? [:]
            #expect(others.count == members.count, "\(place)")
            for member in members { expectSame(member.value, others[member.name] ?? 0, "\(place)/\(member.name)") }
        }
    }
}
