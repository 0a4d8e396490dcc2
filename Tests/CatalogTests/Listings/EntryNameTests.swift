import Rankings
import Testing

@testable import Catalog

/// Names that are made of the frozen ones, whatever stands beside their dash and dot.
@Suite(.timeLimit(.minutes(1))) struct EntryNameTests {
    /// Every scalar that is one character with the dash before it or the dot behind it.
    private static let joining: [Unicode.Scalar] = (0...0x10FFFF as ClosedRange<UInt32>).compactMap { value in
        guard let scalar = Unicode.Scalar(value) else { return nil }
        var text = String.UnicodeScalarView()
        text.append(contentsOf: ["-", scalar, "."])
        return String(text).count == 3 ? nil : scalar
    }

    private func entry(_ title: String) -> ListingEntry {
        ListingEntry(
            name: "001-\(title).jpg", rank: 1,
            picture: PictureID(work: WorkID(rawValue: 7), page: 0, rendition: .regular, uploaded: 1), reference: "",
            isWithheld: false)
    }

    @Test func everyScalarBesideADashOrDotLeavesThemWhereTheyAre() {
        #expect(Self.joining.count > 1000)
        for scalar in Self.joining {
            for title in ["\(scalar)", "\(scalar)a", "a\(scalar)", "-\(scalar).\(scalar)"] {
                let entry = entry(title)
                let (page, numbered) = (entry.ofPage(3).name, entry.withNumber.name)
                #expect(page.utf8.elementsEqual("001-\(title)_p3.jpg".utf8), "U+\(String(scalar.value, radix: 16))")
                #expect(numbered.utf8.elementsEqual("001-7 \(title).jpg".utf8), "U+\(String(scalar.value, radix: 16))")
            }
        }
    }
}
