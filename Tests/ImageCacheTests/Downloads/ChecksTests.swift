import Testing

@testable import ImageCache

@Suite struct ChecksTests {
    @Test func knowsFormatsByBothEnds() {
        let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        let end: [UInt8] = [0, 0, 0, 0, 0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82]
        let webp: [UInt8] = Array("RIFF".utf8) + [4, 1, 0, 0] + Array("WEBP".utf8)
        #expect(PictureFormat(head: png + [0, 0, 0, 0]) == .png)
        #expect(PictureFormat(head: webp) == .webp)
        #expect(PictureFormat(head: Array("<html>".utf8)) == nil)
        #expect(PictureFormat.png.isWhole(tail: end, head: png, length: 100))
        #expect(!PictureFormat.png.isWhole(tail: end.dropLast() + [0], head: png, length: 100))
        #expect(PictureFormat.webp.isWhole(tail: [], head: webp, length: 268))
        #expect(!PictureFormat.webp.isWhole(tail: [], head: webp, length: 267))
        #expect(
            PictureFormat.zip.isWhole(
                tail: [0, 0, 0x50, 0x4B, 5, 6] + Array(repeating: 0, count: 18), head: [], length: 99))
        #expect(PictureFormat.gif.isWhole(tail: [0x3B], head: [], length: 9))
    }

    @Test func footersAndStatesSurviveAndEveryChangedByteIsFound() throws {
        let footer = Footer(key: "1_p0_regular_2", length: 99, hash: 7)
        let encoded = footer.encoded
        #expect(encoded.count == Footer.size)
        #expect(Footer(encoded) == footer)
        let state = PartialState(
            key: "1_p0_regular_2", total: nil, validator: "Sun, 23 Apr 2023 04:23:16 GMT", boot: "boot",
            present: RangeSet([0..<10, 20..<30]))
        #expect(state.encoded.count == PartialState.size)
        #expect(PartialState(state.encoded) == state)
        for index in 0..<Footer.size {
            var changed = encoded
            changed[index] ^= 0x10
            #expect(Footer(changed) == nil)
        }
    }

    @Test func fileNamesAreReadBackAndNothingElseIs() {
        let key = FileKey(key: "1_p0_regular_2")
        #expect(FileKey(name: key.name) == key)
        #expect(FileKey(name: key.name.uppercased()) == nil || key.name == key.name.uppercased())
        #expect(FileKey(name: key.name + ".state") == nil)
        #expect(FileKey(name: "+" + key.name.dropFirst()) == nil)
    }
}
