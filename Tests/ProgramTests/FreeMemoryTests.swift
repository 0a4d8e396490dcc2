import Testing

@testable import rankfs

@Suite struct FreeMemoryTests {
    @Test func onlyCodeOfFilesIsGivenBack() {
        let maps = """
            5600-5700 r--p 00000000 fe:00 1 /usr/bin/a program
            5700-5800 r-xp 00001000 fe:00 1 /usr/bin/a program
            5800-5900 rwxp 00002000 fe:00 1 /usr/bin/a program
            5900-5a00 rw-p 00003000 fe:00 1 /usr/bin/a program
            7000-7100 r-xp 00000000 00:00 0
            7f000000a000-7f000000c000 r-xp 00000000 fe:00 2                  /lib/libc.so.6
            7fff0000-7fff1000 r-xp 00000000 00:00 0                          [vdso]
            nonsense r-xp 00000000 fe:00 2 /lib/x
            9000-8000 r-xp 00000000 fe:00 2 /lib/x

            """
        #expect(
            FreeMemory.code(in: Array(maps.utf8)) == [0x5700..<0x5800, 0x7f00_0000_a000..<0x7f00_0000_c000])
    }
}
