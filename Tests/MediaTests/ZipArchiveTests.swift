import Render
import Testing

@testable import Media

@Suite struct ZipArchiveTests {
    @Test(arguments: [0, 9, 28])
    func theLayoutIsToldWithAndWithoutLocalHeaders(localExtra: Int) throws {
        let file = ZipFile(ZipFile.frames(12, localExtra: localExtra), comment: Array("PK\u{5}\u{6} a comment".utf8))
        let archive = try file.bytes.archive()
        #expect(archive.entries.map(\.name).first == "000000.jpg")
        #expect(archive.entries.count == 12)
        for (index, entry) in archive.entries.enumerated() {
            #expect(archive.data(of: entry) == file.data[index])
            #expect(try file.bytes.read(entry, in: archive) == file.data[index])
            #expect(archive.entry(named: entry.name) == entry)
        }
        #expect(archive.entry(named: "000012.jpg") == nil)
    }

    @Test func theDirectoryNeedNotBeInTheOrderOfTheBytes() throws {
        let file = ZipFile(ZipFile.frames(2))
        let place = file.directory
        let half = file.bytes[place].count / 2
        let turned = Array(file.bytes[place].suffix(half) + file.bytes[place].prefix(half))
        #expect(try ZipArchive(directory: turned, at: place) == file.bytes.archive())
    }

    @Test func dataBeforeADescriptorIsFoundByTheLocalHeader() throws {
        var files = ZipFile.frames(3, localExtra: 4)
        files[1].hasDescriptor = true
        let file = ZipFile(files)
        let archive = try file.bytes.archive()
        #expect(archive.entries.map { archive.data(of: $0) } == [file.data[0], nil, file.data[2]])
        for (index, entry) in archive.entries.enumerated() {
            #expect(try file.bytes.read(entry, in: archive) == file.data[index])
        }
    }

    @Test func aLongCommentLiesWithinTheTail() throws {
        let file = ZipFile(ZipFile.frames(1), comment: Array(repeating: 0x50, count: 65_535))
        #expect(try file.bytes.archive().entries.count == 1)
    }

    @Test func whatIsNotStoredPlainlyIsRefused() {
        func refused(_ change: (inout ZipFile.File) -> Void) -> Bool {
            var files = ZipFile.frames(3)
            change(&files[1])
            return (try? ZipFile(files).bytes.archive()) == nil
        }
        #expect(!refused { $0.directoryExtra = 5 })
        #expect(refused { $0.method = 8 })
        #expect(refused { $0.flags = 1 })
        #expect(refused { $0.flags = 0x40 })
        #expect(refused { $0.flags = 0x2000 })
        #expect(refused { $0.name = "000000.jpg" })
        #expect(refused { $0.name = "" })
        #expect(refused { $0.name = String(repeating: "n", count: 256) })
        #expect((try? ZipFile(ZipFile.frames(FrameLimits.count)).bytes.archive())?.entries.count == FrameLimits.count)
        #expect((try? ZipFile(ZipFile.frames(FrameLimits.count + 1)).bytes.archive()) == nil)
    }

    @Test func filesThatOverlapAreRefused() throws {
        let file = ZipFile(ZipFile.frames(2))
        // the second file's header, one byte too early
        var directory = Array(file.bytes[file.directory])
        let at = directory.count / 2 + 42
        directory[at] -= 1
        #expect(throws: MediaError.archive("files overlap or lie outside")) {
            try ZipArchive(directory: directory, at: file.directory)
        }
        #expect(throws: MediaError.archive("files overlap or lie outside")) {
            try ZipArchive(
                directory: Array(file.bytes[file.directory]),
                at: file.directory.lowerBound - 1..<file.directory.upperBound - 1)
        }
    }

    @Test func everyTruncationIsRefused() {
        let bytes = ZipFile(ZipFile.frames(3), comment: [1, 2, 3]).bytes
        for count in bytes.indices {
            #expect((try? Array(bytes.prefix(count)).archive()) == nil, "\(count) bytes")
        }
    }

    @Test func everyMutationAnswersALayoutWithinTheArchiveOrAnError() {
        let file = ZipFile(ZipFile.frames(4, localExtra: 3))
        var refused = 0
        for index in file.bytes.indices {
            for value in [0, 1, 0x7f, 0x80, 0xff, file.bytes[index] ^ 1, file.bytes[index] &+ 1] as [UInt8] {
                var bytes = file.bytes
                bytes[index] = value
                guard let archive = try? bytes.archive() else {
                    refused += 1
                    continue
                }
                for entry in archive.entries {
                    let whole = 0..<file.directory.lowerBound
                    if let data = archive.data(of: entry) { #expect(whole.clamped(to: data) == data) }
                    if let data = try? bytes.read(entry, in: archive) { #expect(whole.clamped(to: data) == data) }
                }
            }
        }
        #expect(refused > 200)
    }

    @Test func everyTruncatedDirectoryIsRefusedOrShorter() {
        let file = ZipFile(ZipFile.frames(4))
        let directory = Array(file.bytes[file.directory])
        for count in directory.indices {
            let begin = file.directory.lowerBound
            let archive = try? ZipArchive(
                directory: Array(directory.prefix(count)), at: begin..<begin + Int64(count))
            #expect((archive != nil) == (count % (directory.count / 4) == 0), "\(count) bytes")
            #expect((try? ZipArchive(directory: Array(directory.prefix(count)), at: file.directory)) == nil)
        }
    }

    @Test func everyWrongLocalHeaderIsRefused() throws {
        let file = ZipFile(ZipFile.frames(2))
        let archive = try file.bytes.archive()
        let entry = archive.entries[0]
        let header = Array(file.bytes[..<30])
        for count in header.indices {
            #expect(throws: MediaError.self) { try archive.dataOffset(of: entry, localHeader: Array(header[..<count])) }
        }
        // signature, encryption, method, length, lengths of name and extra fields
        for index in [0, 1, 2, 3, 6, 8, 9, 22, 23, 24, 25, 26, 27, 28, 29] {
            var wrong = header
            wrong[index] ^= 1
            #expect(throws: MediaError.self, "\(index)") { try archive.dataOffset(of: entry, localHeader: wrong) }
        }
    }
}
