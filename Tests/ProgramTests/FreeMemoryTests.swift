import Testing

@testable import rankfs

@Suite struct FreeMemoryTests {
    /// Mappings as proc_pid_smaps(5) tells them, with the two of their figures that count.
    private func maps(_ mappings: [(line: String, anonymous: Int, swap: Int)]) -> [UInt8] {
        Array(
            mappings.map { mapping in
                """
                \(mapping.line)
                Size:                 64 kB
                Anonymous:      \(mapping.anonymous) kB
                Swap:                  \(mapping.swap) kB
                VmFlags: rd ex mr mw me

                """
            }.joined().utf8)
    }

    @Test func onlyCodeOfFilesIsGivenBack() {
        let maps = maps(
            [
                "5600-5700 r--p 00000000 fe:00 1 /usr/bin/a program",
                "5700-5800 r-xp 00001000 fe:00 1 /usr/bin/a program",
                "5800-5900 rwxp 00002000 fe:00 1 /usr/bin/a program",
                "5900-5a00 rw-p 00003000 fe:00 1 /usr/bin/a program",
                "7000-7100 r-xp 00000000 00:00 0",
                "7f000000a000-7f000000c000 r-xp 00000000 fe:00 2                  /lib/libc.so.6",
                "7fff0000-7fff1000 r-xp 00000000 00:00 0                          [vdso]",
                "nonsense r-xp 00000000 fe:00 2 /lib/x",
                "9000-8000 r-xp 00000000 fe:00 2 /lib/x",
            ].map { ($0, 0, 0) })
        #expect(FreeMemory.code(in: maps) == [0x5700..<0x5800, 0x7f00_0000_a000..<0x7f00_0000_c000])
        #expect(FreeMemory.code(in: Array(maps.prefix { $0 != UInt8(ascii: "\n") })).isEmpty)
    }

    @Test func codeThatSomethingHasChangedIsKept() {
        let line = "5700-5800 r-xp 00001000 fe:00 1 /usr/bin/a"
        #expect(FreeMemory.code(in: maps([(line, 4, 0)])) == [])
        #expect(FreeMemory.code(in: maps([(line, 0, 4)])) == [])
        #expect(FreeMemory.code(in: maps([(line, 4, 0), ("6000-6100 r-xp 0 fe:00 1 /b", 0, 0)])) == [0x6000..<0x6100])
    }
}
