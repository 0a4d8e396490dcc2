@testable import Catalog
import Rankings
import Testing

@testable import RankFS

/// The inode table: stable numbers, lookup counts, collisions.
@Suite struct InodeTableTests {
    private let daily = Node.mode(.daily)

    @Test(arguments: [Rendition.regular, .original, .archive, .small])
    func aPictureHasTheNumberOfItsIdentity(rendition: Rendition) {
        let day = ListingKey.ranking(.daily, Day(ordinal: 19844))
        let author = ListingKey.author(UserID(rawValue: 11))
        for (work, page, uploaded) in [(97_973_029, 0, 1_589_900_000), (1, 12, 0), (Int64.max, 999, -1)] {
            let picture = PictureID(
                work: WorkID(rawValue: work), page: page, rendition: rendition, uploaded: Int64(uploaded))
            for (key, rank) in [(day, Int32(7)), (author, 0)] {
                let entry = ListingEntry(
                    name: "a.jpg", rank: rank, picture: picture, reference: "", isWithheld: false)
                let order: InodeOrder =
                    rank > 0 ? .rank(Int(rank), page: page) : .newestFirst(picture.work, page: page)
                #expect(
                    PictureNumbers(key).number(of: entry)
                        == InodeNumber.of(Node.identity(of: picture, in: key), in: key.path.text, order: order))
            }
        }
    }

    @Test func forgettingReturnsToTheBase() {
        let table = InodeTable()
        var numbers: [UInt64] = []
        for id in 1...20_000 {
            numbers.append(table.adopt(.author(UserID(rawValue: Int64(id)))))
        }
        #expect(table.count == 20_001)
        for number in numbers { table.forget(number, lookups: 1) }
        #expect(table.count == 1)
        #expect(numbers.allSatisfy { table.node($0) == nil })
    }

    @Test func countsAreKeptPerReplyAndNeverBelowZero() {
        let table = InodeTable()
        let number = table.adopt(daily)
        #expect(table.adopt(daily) == number)
        #expect(table.adopt(daily) == number)
        table.forget(number, lookups: 2)
        #expect(table.node(number) != nil)
        table.forget(number, lookups: 100)
        #expect(table.node(number) == nil)
        table.forget(number, lookups: 1)
        table.forget(InodeTable.root, lookups: 1000)
        #expect(table.node(InodeTable.root) != nil)
        #expect(table.adopt(daily) == number)
        table.forget(number, lookups: 1)
        #expect(table.count == 1)
    }

    @Test func identitiesThatShareANumberStayApart() {
        let table = InodeTable(ownNumber: { _ in .max })
        let first = table.adopt(daily)
        let second = table.adopt(.users)
        let third = table.adopt(.rankings)
        #expect(Set([first, second, third]).count == 3)
        #expect([second, third].allSatisfy { $0 > InodeTable.root }, "wraps around the root")
        #expect(table.number(of: .users) == second)
        table.forget(first, lookups: 1)
        #expect(table.adopt(.users) == second, "a number once given is kept")
        #expect(table.node(second)?.identity == "users")
        #expect(table.node(third)?.identity == "ranking")
    }

    @Test func anIdleInodeIsSmall() {
        #expect(MemoryLayout<InodeTable.Slot>.stride + MemoryLayout<UInt64>.stride <= 100)
    }
}
