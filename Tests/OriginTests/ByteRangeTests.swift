import Testing

@testable import Origin

@Suite struct ByteRangeTests {
    @Test(
        arguments: [
            (nil, .whole), ("bytes=0-0", .part(0..<1)), ("bytes=0-", .part(0..<100)), ("bytes=99-", .part(99..<100)),
            ("bytes=100-", .unsatisfiable), ("bytes=-1", .part(99..<100)), ("bytes=-1000", .part(0..<100)),
            ("bytes=-0", .unsatisfiable), ("bytes=10-19", .part(10..<20)), ("bytes=10-1000", .part(10..<100)),
            ("bytes=20-10", .whole), ("bytes=0-1,5-6", .whole), ("lines=0-1", .whole), ("bytes=", .whole),
            ("bytes=-", .whole), ("bytes=a-b", .whole), ("bytes=0-99999999999999999999", .part(0..<100)),
        ] as [(String?, PictureHost.Part)])
    func decides(header: String?, decision: PictureHost.Part) {
        #expect(PictureHost.Part(header, length: 100) == decision)
    }
}
