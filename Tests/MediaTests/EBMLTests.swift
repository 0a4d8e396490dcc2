import Testing

@testable import Media

@Suite struct EBMLTests {
    @Test func lengthsTakeAsFewBytesAsTheyNeed() {
        #expect(EBML.size(0) == [0x80])
        #expect(EBML.size(126) == [0xfe])
        // 0xff would mean an unknown length
        #expect(EBML.size(127) == [0x40, 0x7f])
        #expect(EBML.size(16_382) == [0x7f, 0xfe])
        #expect(EBML.size(16_383) == [0x20, 0x3f, 0xff])
        #expect(EBML.size(1 << 40) == [0x05, 0, 0, 0, 0, 0])
        #expect(EBML.size((1 << 49) - 1) == [0x01, 0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])
    }
}
