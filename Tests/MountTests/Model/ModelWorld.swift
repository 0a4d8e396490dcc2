import Foundation
import Synchronization
import TestSupport

/// A picture with its true bytes, as another client fetched them from the sound origin.
struct ModelFile: Sendable {
    /// Below the mount point.
    let path: String
    /// Below the origin's root.
    let source: String
    let bytes: Data
}

/// What a mount must show: pictures with their bytes, directories with their names.
struct ModelWorld: Sendable {
    let files: [ModelFile]
    let directories: [(path: String, names: [String])]

    /// Learns the truth from the sound origin; names alone are believed of the mount, which lists them for the first time.
    ///
    /// It is the bytes of so many `pictures` of the day, and of the pages of so many `works` in original quality.
    init(_ origin: OriginProcess, _ mount: Mount, _ workplace: Workplace, pictures: Int, works: Int) throws {
        let day = "ranking/\(origin.service.long.mode)/\(origin.service.long.day)"
        let names = try mount.names("\(mount.path)/\(day)")
        let told = try origin.pictures()
        guard names.count == told.count else { throw Failure("\(names.count) names for \(told.count) entries") }
        let shown = zip(names, told).compactMap { name, picture in picture.map { (name, $0) } }.prefix(pictures)
        var places = shown.map { (path: "\(day)/\($0)", source: $1) }
        var directories = [(path: day, names: names.sorted())]
        // Works of boards have no further pages.
        let entries = origin.service == .pixiv ? try origin.ranking().filter { !$0.isWithheld } : []
        for entry in entries.prefix(works) {
            let answer = try JSONSerialization.jsonObject(with: origin.fetch("/ajax/illust/\(entry.work)/pages"))
            let pages = ((answer as? [String: Any])?["body"] as? [[String: Any]] ?? []).compactMap { page in
                ((page["urls"] as? [String: Any])?["original"] as? String).flatMap { URL(string: $0)?.path }
            }
            let folder = "works/\(entry.work)"
            for (page, source) in pages.enumerated() where !source.contains("ugoira") {
                places.append(("\(folder)/p\(page).\(URL(filePath: source).pathExtension)", source))
            }
            directories.append((folder, try mount.names("\(mount.path)/\(folder)").sorted()))
        }
        let bytes = try origin.fetch(places.map(\.source), in: workplace)
        files = zip(places, bytes).map { ModelFile(path: $0.path, source: $0.source, bytes: $1) }
        self.directories = directories
    }
}

/// What came of one look at a file.
enum ModelVerdict: Equatable, Sendable {
    case right
    case failed(Int32)
    /// What no fault excuses, as the middle of a sentence.
    case wrong(String)
}

extension ModelFile {
    /// `O_DIRECT` of open(2), which the module map of glibc leaves out.
    #if arch(arm64)
    static let direct: Int32 = 0o200000
    #else
    static let direct: Int32 = 0o40000
    #endif

    /// Reads a part of the file, which may lie behind its end, and compares every byte that came.
    ///
    /// pread(2) may return less than was asked if an error stands behind it: then the rest must fail, and not be the end.
    func check(_ descriptor: Int32, offset: Int, count: Int) -> ModelVerdict {
        let wanted = max(0, min(count, bytes.count - offset))
        var done = 0
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: max(count, 1), alignment: 4096)
        defer { buffer.deallocate() }
        repeat {
            let got = pread(descriptor, buffer.baseAddress, count - done, off_t(offset + done))
            if got < 0 { return .failed(errno) }
            guard got <= wanted - done else { return .wrong("\(got) bytes where \(wanted - done) are left") }
            guard got > 0 || wanted == done else { return .wrong("the end at \(offset + done) of \(bytes.count)") }
            guard got == 0 || isSame(buffer, got, at: offset + done) else {
                return .wrong("other bytes within \(got) at \(offset + done)")
            }
            done += got
        } while done < wanted
        return .right
    }

    private func isSame(_ buffer: UnsafeMutableRawBufferPointer, _ count: Int, at offset: Int) -> Bool {
        bytes.withUnsafeBytes { told in
            guard let read = buffer.baseAddress, let right = told.baseAddress else { return false }
            return memcmp(right + offset, read, count) == 0
        }
    }

    /// Opens and reads the whole file, as cp(1) does.
    func checkWhole(in mount: String, flags: Int32 = 0, step: Int = 128 << 10) -> ModelVerdict {
        let descriptor = open("\(mount)/\(path)", O_RDONLY | O_CLOEXEC | flags)
        guard descriptor >= 0 else { return .failed(errno) }
        defer { close(descriptor) }
        for offset in stride(from: 0, through: bytes.count, by: step) {
            let verdict = check(descriptor, offset: offset, count: step)
            if verdict != .right { return verdict }
        }
        return .right
    }

    /// Holds the size that stat(2) shows against the true one.
    func checkSize(in mount: String) -> ModelVerdict {
        var status = stat()
        guard lstat("\(mount)/\(path)", &status) == 0 else { return .failed(errno) }
        return Int(status.st_size) == bytes.count
            ? .right : .wrong("a size of \(status.st_size) where \(bytes.count) is true")
    }
}

extension Random {
    /// A number below a bound that is at least 1.
    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<max(1, bound), using: &self) }

    /// True once in so many times.
    mutating func one(in count: Int) -> Bool { below(count) == 0 }
}
