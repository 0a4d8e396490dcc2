import Rankings
import Testing

@testable import Catalog

@Suite struct EntryTableTests {
    static func listed(_ rank: Int?, _ number: Int64, _ title: String) -> ListedWork {
        ListedWork(rank: rank, previousRank: nil, work: FakeSource.work(number, title: title))
    }

    @Test func namesAreFoundByBytes() throws {
        var table = EntryTable()
        let rows = table.append((1...3000).map { Self.listed($0, Int64($0), "T") }, rendition: .regular)
        #expect(rows.count == 3000)
        for (position, row) in rows.enumerated() {
            #expect(table.position(of: Array(row.entry.name.utf8)) == position)
            #expect(table.position(of: row.entry.picture.work) == position)
        }
        #expect(table.position(of: Array("0001-T.jpg".utf8)) == nil)
        #expect(table.position(of: WorkID(rawValue: 3001)) == nil)
        #expect(table.lastRank == 3000)
    }

    @Test func aWorkThatMovedToTheNextPageIsListedOnce() {
        var table = EntryTable()
        table.append([Self.listed(50, 1, "A")], rendition: .regular)
        let rows = table.append([Self.listed(51, 1, "A"), Self.listed(52, 2, "B")], rendition: .regular)
        #expect(rows.map(\.entry.name) == ["052-B.jpg"])
    }

    @Test func equalRanksAndTitlesStillGetDifferentNames() {
        var table = EntryTable()
        let rows = table.append(
            [Self.listed(50, 1, "A"), Self.listed(50, 2, "A"), Self.listed(50, 3, "B")], rendition: .regular)
        #expect(rows.map(\.entry.name) == ["050-A.jpg", "050-2 A.jpg", "050-B.jpg"])
    }

    @Test func sizesBelongToOneUploadOnly() {
        var table = EntryTable()
        let picture = table.append([Self.listed(nil, 5, "A")], rendition: .regular)[0].entry.picture
        let older = PictureID(work: picture.work, page: 0, rendition: .regular, uploaded: 1)
        table.setSize(10, of: older)
        #expect(table.sizes == [0])
        table.setSize(10, of: picture)
        #expect(table.sizes == [10])
        #expect(table.entries[0].name == "5-A.jpg")
    }

    @Test func keysSurviveAsText() {
        for key in [ListingKey.ranking(.daily, Bench.day), .author(UserID(rawValue: 9_000_000_000))] {
            #expect(ListingKey(text: key.text) == key)
        }
        for text in ["", "ranking/none/2024-05-01", "ranking/daily/2024-05-32", "author/x", "other/1"] {
            #expect(ListingKey(text: text) == nil)
        }
    }

    @Test func worksSurviveAsBytes() {
        let works = [0, 1, -1, Int64.max, .min, 97_973_029].map(WorkID.init(rawValue:))
        #expect(Rows.works(in: Rows.bytes(of: works)) == works)
        #expect(Rows.works(in: [1, 2, 3]) == [])
    }
}
