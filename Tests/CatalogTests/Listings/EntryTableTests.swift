import Rankings
import TestSupport
import Testing

@testable import Catalog

@Suite struct EntryTableTests {
    static func listed(_ rank: Int?, _ number: Int64, _ title: String) -> ListedWork {
        ListedWork(rank: rank, previousRank: nil, work: FakeSource.work(number, title: title))
    }

    @Test func namesAreFoundByBytes() throws {
        var table = EntryTable()
        let rows = table.append((1...3000).map { Self.listed($0, Int64($0), "T") })
        #expect(rows.count == 3000)
        for (position, row) in rows.enumerated() {
            #expect(table.position(of: Array(row.entry.name.utf8)) == position)
            #expect(table.position(of: row.entry.picture.work) == position)
        }
        #expect(table.position(of: Array("0001-T.jpg".utf8)) == nil)
        #expect(table.position(of: WorkID(rawValue: 3001)) == nil)
        #expect(table.entries.last?.rank == 3000)
    }

    @Test func aWorkThatMovedToTheNextPageIsListedOnce() {
        var table = EntryTable()
        table.append([Self.listed(50, 1, "A")])
        let rows = table.append([Self.listed(51, 1, "A"), Self.listed(52, 2, "B")])
        #expect(rows.map(\.entry.name) == ["052-B.jpg"])
    }

    @Test func equalRanksAndTitlesStillGetDifferentNames() {
        var table = EntryTable()
        let rows = table.append(
            [Self.listed(50, 1, "A"), Self.listed(50, 2, "A"), Self.listed(50, 3, "B")])
        #expect(rows.map(\.entry.name) == ["050-A.jpg", "050-2 A.jpg", "050-B.jpg"])
    }

    @Test func anOlderRowWhoseNameIsTakenGetsANameOfItsOwnOrNone() {
        var older = EntryTable()
        older.append([Self.listed(5, 7, "A"), Self.listed(6, 8, "B")])
        var table = EntryTable()
        table.append([Self.listed(5, 1, "A"), Self.listed(5, 2, "7 B")])
        #expect(older.rows.map { table.appendOlder($0)?.entry.name } == ["005-7 A.jpg", "006-B.jpg"])
        #expect(table.position(of: "005-7 A.jpg".utf8) == 2)
        #expect(table.appendOlder(older.rows[0]) == nil)
        #expect(table.rowCount == 4)
    }

    @Test func sizesBelongToOneUploadOnly() {
        var table = EntryTable()
        let picture = table.append([Self.listed(nil, 5, "A")])[0].entry.picture
        let older = PictureID(work: picture.work, page: 0, rendition: .regular, uploaded: 1)
        table.setSize(10, of: older)
        #expect(table.sizes == [0])
        table.setSize(10, of: picture)
        #expect(table.sizes == [10])
        #expect(table.entries[0].name == "5-A.jpg")
    }

    @Test func keysSurviveAsText() {
        let keys: [ListingKey] = [
            .ranking(.daily, Bench.day), .author(UserID(rawValue: 9_000_000_000)), .work(WorkID(rawValue: 7)),
            .search("風景 a/b"), .bookmarks(UserID(rawValue: 3)), .artist("a_(b)"),
        ]
        let originals = StoredVariant(ListingView(rendition: .original))
        let others = StoredVariant(ListingView(rendition: .small))
        for key in keys {
            #expect(ListingKey(text: key.text) == key)
            for audience in [AnswerAudience.everybody, .user(UserID(rawValue: 12))] {
                let stored = StoredKey(listing: key, audience: audience)
                #expect(originals.key(originals.text(of: stored)) == stored)
                #expect(others.key(others.text(of: stored)) == stored)
                // Names of originals are others than those of renditions; a work shows its originals either way.
                #expect((others.key(originals.text(of: stored)) == nil) == !key.isWork)
                #expect((originals.key(others.text(of: stored)) == nil) == !key.isWork)
            }
        }
        for text in ["@", "@12", "@x/ranking/daily/2024-05-01", "@12/", "@12/@13/ranking/daily/2024-05-01"] {
            #expect(others.key(text) == nil)
        }
        for text in ["", "ranking/None/2024-05-01", "ranking/daily/2024-05-32", "author/x", "other/1"] {
            #expect(ListingKey(text: text) == nil)
        }
    }

    @Test func worksSurviveAsBytes() {
        let works = [0, 1, -1, Int64.max, .min, 97_973_029].map(WorkID.init(rawValue:))
        #expect(Rows.works(in: Rows.bytes(of: works)) == works)
        #expect(Rows.works(in: [1, 2, 3]) == [])
    }
}

extension EntryTable {
    @discardableResult
    fileprivate mutating func append(_ listed: [ListedWork]) -> [ListingRow] {
        append(
            listed.map { ListedPicture($0, rendition: .regular, of: FakeSource(newest: Bench.day)) },
            of: .ranking(.daily, Bench.day),
            view: ListingView(rendition: .regular))
    }
}
