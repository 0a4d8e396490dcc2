import Foundation
import Glibc
import Testing

extension MountSuite {
    /// Semantics: "A read returns the right bytes or an error", while the source replaces its pictures by others of equal length.
    @Suite struct VersionTests {
        /// A way to have two versions of a picture under one name.
        enum Way: String, CaseIterable, Sendable {
            /// Opened, read in part, closed; replaced; opened again.
            case twoOpens
            /// Stored and in part among the kernel's pages; evicted; replaced; opened again.
            case eviction
            /// As `twoOpens`, while the first reader still has it open and goes on, too.
            case together
        }

        /// Whether the source says which version it serves, and in which order the picture is read then.
        struct Manner: Sendable, CustomTestStringConvertible {
            var way: Way
            var isNamed: Bool
            var isInOrder: Bool
            var testDescription: String {
                "\(way) \(isNamed ? "named" : "unnamed") \(isInOrder ? "in order" : "at random")"
            }
        }

        static let manners = Way.allCases.flatMap { way in
            [true, false].flatMap { isNamed in
                [true, false].map { Manner(way: way, isNamed: isNamed, isInOrder: $0) }
            }
        }

        static let block = 64 << 10

        /// Every manner with pixiv; where a digest tells the one true version the manner matters less.
        private static let cases: [(Manner, Service)] =
            manners.map { ($0, .pixiv) } + [
                (Manner(way: .eviction, isNamed: true, isInOrder: true), .danbooru),
                (Manner(way: .together, isNamed: false, isInOrder: false), .danbooru),
                (Manner(way: .eviction, isNamed: false, isInOrder: false), .yandere),
                (Manner(way: .twoOpens, isNamed: true, isInOrder: true), .yandere),
            ]

        @Test(arguments: cases)
        func theBytesOfAFileAreOfOneVersion(_ manner: Manner, service: Service) async throws {
            try await withWorkplace { workplace in
                let large = service == .pixiv ? ["--large"] : []
                let origin = try OriginProcess(
                    workplace, ["--no-chunked", "--rate", "2000000"] + large, service: service)
                let mount = try Mount(workplace, of: origin, options: ["prefetch=0", "connections=16"])
                let entries = try mount.pictures(40, of: origin)
                let lengths = try origin.lengths(of: entries.map(\.entry), in: workplace)
                let fitting = entries.filter { (500_000...2_000_000).contains(lengths[$0.entry.picture] ?? 0) }
                let olds = try origin.fetch(fitting.prefix(4).map(\.entry.picture), in: workplace)
                let chosen = Array(zip(fitting, olds))
                try #require(chosen.count >= 3)
                let sizes = chosen.map(\.1.count)
                if !manner.isNamed {
                    try origin.spoil([#"{"action":"unnamed","path":"\#(service.pictures)"}"#], in: workplace)
                }
                let paths = chosen.map(\.0.path)
                let files = paths.map { path in
                    let file = open(path, O_RDONLY)
                    // Among the kernel's pages are then the first blocks and one in the middle.
                    let blocks = manner.way == .eviction ? [0, 1, 5] : [0, 1]
                    for block in blocks { #expect((try? Self.readBlock(file, block, 1).get())?.isEmpty == false) }
                    if manner.way != .together { close(file) }
                    return file
                }
                if manner.way == .eviction {
                    for path in paths { _ = try read(path).get() }
                    #expect(poll { mount.isIdle })
                    for path in paths { Self.dropPages(path, from: 8 * Self.block) }
                    #expect(evict(paths, of: paths, workplace))
                }
                let unnamed = manner.isNamed ? 0 : 1
                let replaced = #"{"action":"replaced","path":"\#(service.pictures)","unnamed":\#(unnamed)}"#
                try origin.spoil([replaced], in: workplace)
                let news = try origin.fetch(chosen.map(\.0.entry.picture), in: workplace)

                let outcomes = MountTests.together(
                    upTo: 40,
                    paths.indices.map { index in
                        {
                            let second = open(paths[index], O_RDONLY)
                            defer { close(second) }
                            let whole = Self.readBlocks(second, sizes[index], inOrder: manner.isInOrder)
                            guard manner.way == .together else { return [whole] }
                            let first = Self.readBlocks(files[index], sizes[index], inOrder: manner.isInOrder)
                            close(files[index])
                            return [whole, first]
                        }
                    })
                for (index, found) in outcomes.enumerated() {
                    #expect(found != nil, "\(paths[index]) hangs")
                    expectOneVersion(found ?? [], of: paths[index], chosen[index].1, news[index], manner, service)
                }
                #expect(mount.unmount())
            }
        }

        /// Holds what readers met, and what one meets afterwards, against the two versions.
        private func expectOneVersion(
            _ found: [Result<Data, ReadFailure>], of path: String, _ old: Data, _ new: Data, _ manner: Manner,
            _ service: Service
        ) {
            #expect(old != new && old.count == new.count)
            // Under a digest only one version is the picture.
            let versions = service.isProven ? [old] : [old, new]
            for (reader, result) in found.enumerated() {
                let isHonest = (try? result.get()).map(versions.contains) ?? true
                #expect(isHonest, "\(path), reader \(reader) got a mixture")
            }
            // What was evicted comes from the source as that is now.
            if manner.way == .eviction {
                #expect((try? found.first?.get()) == (service.isProven ? nil : new), "\(path)")
            }
            // Nobody has it open any more: one of them, whole, though what was begun before may be stored by now.
            let afterwards = read(path)
            let isOne = (try? afterwards.get()).map(versions.contains) ?? false
            let isRefused = service.isProven && manner.way == .eviction
            #expect(isOne != isRefused, "\(path) afterwards: \(Self.description(of: afterwards, old, new))")
        }

        /// Of which version each block is, or the error.
        private static func description(of found: Result<Data, ReadFailure>, _ old: Data, _ new: Data) -> String {
            switch found {
            case .failure(let failure): "\(failure)"
            case .success(let data) where data.count != old.count: "\(data.count) bytes of \(old.count)"
            case .success(let data):
                stride(from: 0, to: data.count, by: block).map { start in
                    let part = start..<min(start + block, data.count)
                    return data[part] == old[part] ? "o" : data[part] == new[part] ? "n" : "?"
                }.joined()
            }
        }

        /// All blocks of a picture through one descriptor, each from the kernel's pages if it has them.
        private static func readBlocks(_ file: Int32, _ size: Int, inOrder: Bool) -> Result<Data, ReadFailure> {
            let count = (size + block - 1) / block
            var order = Array(0..<count)
            if !inOrder {
                order = order.map { ($0 * 7 + 3) % count }.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
            }
            order += (0..<count).filter { !order.contains($0) }
            var data = Data(count: size)
            for place in order {
                switch readBlock(file, place, min(block, size - place * block)) {
                case .failure(let failure): return .failure(failure)
                case .success(let bytes): data.replaceSubrange(place * block..<place * block + bytes.count, with: bytes)
                }
            }
            return .success(data)
        }

        private static func readBlock(_ file: Int32, _ place: Int, _ count: Int) -> Result<Data, ReadFailure> {
            var buffer = [UInt8](repeating: 0, count: count)
            let got = pread(file, &buffer, count, off_t(place * block))
            return got == count
                ? .success(Data(buffer)) : .failure(ReadFailure(errno: got < 0 ? errno : 0, received: 0))
        }

        private static func dropPages(_ path: String, from offset: Int) {
            let file = open(path, O_RDONLY)
            posix_fadvise(file, off_t(offset), 0, POSIX_FADV_DONTNEED)
            close(file)
        }
    }
}
