import Rankings
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

    @Test func statesSurviveAndEveryChangedByteIsFound() throws {
        let state = PartialState(
            key: "1_p0_regular_2", total: nil, validator: "Sun, 23 Apr 2023 04:23:16 GMT", boot: "boot",
            present: ByteSet([0..<10, 20..<30]))
        let encoded = state.encoded
        #expect(encoded.count == PartialState.size)
        #expect(PartialState(encoded) == state)
        for index in encoded.indices {
            var changed = encoded
            changed[index] ^= 0x10
            #expect(PartialState(changed) == nil)
        }
    }

    @Test func keysOfPicturesAreReadBack() {
        for work in [0, 1, 97_973_029, Int64.max, .min] {
            for rendition in Rendition.allCases {
                for page in [0, 1, 199] {
                    let picture = PictureID(
                        work: WorkID(rawValue: work), page: page, rendition: rendition, uploaded: 1_589_900_000)
                    #expect(PictureID(name: picture.key.utf8) == picture)
                }
            }
        }
        #expect(PictureID(name: "97973029_p0_regular_1589900000".utf8)?.work == WorkID(rawValue: 97_973_029))
    }

    @Test(arguments: [
        "", "_", "___", "1_p0_regular", "1_p0_regular_2_3", "1_0_regular_2", "1_q0_regular_2", "1_p_regular_2",
        "1_p0_huge_2", "1_p0_Regular_2", "_p0_regular_2", "1_p0_regular_", "x_p0_regular_2", "1_p0_regular_2 ",
        " 1_p0_regular_2", "+1_p0_regular_2", "01_p0_regular_2", "1_p00_regular_2", "1_p+0_regular_2",
        "1_p0_regular_+2", "-0_p0_regular_2", "9223372036854775808_p0_regular_2", "1_p0_regular_2\n", "１_p0_regular_2",
        "../1_p0_regular_2", "1_p0_regular_2\u{0}",
    ])
    func otherTextsAreNoKeys(text: String) {
        #expect(PictureID(name: text.utf8) == nil)
    }

    @Test func fileNamesAreReadBackAndNothingElseIs() {
        let longest = PictureID(work: WorkID(rawValue: .min), page: .min, rendition: .matroska, uploaded: .min)
        let pictures = [
            PictureID(work: WorkID(rawValue: 97_973_029), page: 12, rendition: .original, uploaded: 1_651_244_415),
            PictureID(work: WorkID(rawValue: 0), page: 0, rendition: .largeThumbnail, uploaded: -1), longest,
        ]
        for key in pictures {
            #expect(PictureID(name: key.key.utf8) == key)
            let stored = StoredPicture(key: key, length: StoredPicture.longest, hash: 0xF)
            #expect(StoredPicture(name: stored.name.utf8) == stored)
            #expect(stored.name.utf8.count < 120)
            #expect(PictureID(name: stored.name.utf8) == nil && StoredPicture(name: key.key.utf8) == nil)
        }
        let hash = "00c7f2d0a8b1e394"
        #expect(StoredPicture(name: "1_p0_regular_2.3.\(hash)".utf8)?.hash == 0x00C7_F2D0_A8B1_E394)
        for other in [
            "", ".", "1_p0_regular_2", "1_p0_regular_2.3.", "1_p0_regular_2.3.\(hash) ", "1_p0_regular_2.3.\(hash)0",
            "1_p0_regular_2.3.\(hash.uppercased())", "1_p0_regular_2.03.\(hash)", "1_p0_regular_2.-3.\(hash)",
            "+1_p0_regular_2.3.\(hash)", "01_p0_regular_2.3.\(hash)", "-0_p0_regular_2.3.\(hash)",
            "1_p0_huge_2.3.\(hash)", "1_p0__2.3.\(hash)", "1_0_regular_2.3.\(hash)",
            "1_p0_regular_2.3.\(hash.dropLast())",
            "1_p0_regular_9223372036854775808.3.\(hash)", "1_p0_regular_2.1099511627777.\(hash)", "\(hash)\(hash)",
        ] { #expect(StoredPicture(name: other.utf8) == nil, "\(other)") }
        #expect(OlderName("\(hash)\(hash)".utf8)?.name == "\(hash)\(hash)")
        #expect(OlderName("\(hash)\(hash)0".utf8) == nil && OlderName("\(hash)\(hash).state".utf8) == nil)
    }
}
