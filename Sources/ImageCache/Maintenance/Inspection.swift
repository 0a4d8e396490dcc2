internal import CLinux
internal import Glibc

/// What a cache directory holds, told without a mount.
package struct CacheInspection: Sendable, Equatable {
    package var pictures: Int
    /// Bytes of the stored files.
    package var bytes: Int64
    /// Downloads that are not whole.
    package var partialPictures: Int
    package var partialBytes: Int64
    /// Marks against backups that are missing, each with why; empty if all are there.
    package var missingMarks: [String]
}

extension ImageCache {
    /// Looks at a cache directory without locking or changing it; a running daemon does not mind.
    package static func inspect(directory: String) throws(ImageCacheError) -> CacheInspection {
        do throws(FileError) {
            let top = try CacheFiles.open(directory, in: AT_FDCWD, O_RDONLY | O_DIRECTORY)
            defer { Glibc.close(top) }
            var found = CacheInspection(
                pictures: 0, bytes: 0, partialPictures: 0, partialBytes: 0,
                missingMarks: Marks.missing(on: top).map { "\($0.mark): \($0.reason)" })
            for format in PictureStore.formats {
                guard let version = try? CacheFiles.open(format, in: top, O_RDONLY | O_DIRECTORY) else { continue }
                defer { Glibc.close(version) }
                let contents = PictureStore.contents(of: version, in: directory)
                found.pictures += contents.pictures.count + contents.older.count
                found.bytes += contents.pictures.reduce(contents.older.reduce(0) { $0 + $1.value.length }) {
                    $0 + $1.length
                }
                let name = PictureStore.partialName
                guard let partial = try? CacheFiles.open(name, in: version, O_RDONLY | O_DIRECTORY) else { continue }
                defer { Glibc.close(partial) }
                for name in CacheFiles.names(in: partial)
                where FileKey(name: name.utf8) != nil || OlderName(name.utf8) != nil {
                    found.partialPictures += 1
                    found.partialBytes += CacheFiles.bytesOnDisk(name, in: partial)
                }
            }
            return found
        } catch {
            throw .unusable("the cache directory \(directory) cannot be read (\(error.text)); check cache_dir")
        }
    }
}
