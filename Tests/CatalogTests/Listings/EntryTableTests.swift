import Rankings
import TestSupport
import Testing

@testable import Catalog

@Suite struct EntryTableTests {
    static func listed(_ rank: Int?, _ number: Int64, _ title: String) -> ListedWork {
        ListedWork(rank: rank, previousRank: nil, work: FakeSource.work(number, title: title))
    }

    @Test func equalRanksAndTitlesStillGetDifferentNames() {
        var table = EntryTable()
        let rows = table.append(
            [Self.listed(50, 1, "A"), Self.listed(50, 2, "A"), Self.listed(50, 3, "B")])
        #expect(rows.map(\.entry.name) == ["050-A.jpg", "050-2 A.jpg", "050-B.jpg"])
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
