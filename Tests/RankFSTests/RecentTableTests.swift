import Testing

@testable import RankFS

/// The tables that keep what was used last.
@Suite struct RecentTableTests {
    @Test func theLeastRecentlyUsedValueGoes() {
        var table = RecentTable<Int, String>(most: 3)
        for key in 1...3 { table[key] = "\(key)" }
        // Only writing is a use; a known key pushes none out.
        table[1] = "one"
        #expect(table[2] == "2" && table.count == 3)
        table[4] = "4"
        #expect(table[2] == nil && table[1] == "one" && table[3] == "3" && table[4] == "4")
        table[3] = nil
        #expect(table.count == 2)
        table[5, default: "5"] += "!"
        #expect(table[5] == "5!" && table[1] == "one" && table[6, default: "6"] == "6" && table[6] == nil)
    }
}
