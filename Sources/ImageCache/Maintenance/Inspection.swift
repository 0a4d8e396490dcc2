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
            guard let version = try? CacheFiles.open(PictureStore.version, in: top, O_RDONLY | O_DIRECTORY) else {
                return found
            }
            defer { Glibc.close(version) }
            for name in CacheFiles.names(in: version) {
                guard let directory = try? CacheFiles.open(name, in: version, O_RDONLY | O_DIRECTORY) else { continue }
                defer { Glibc.close(directory) }
                for file in CacheFiles.names(in: directory) where FileKey(name: file) != nil {
                    var status = stat()
                    guard unsafe fstatat(directory, file, &status, AT_SYMLINK_NOFOLLOW) == 0 else { continue }
                    if name == PictureStore.partialName {
                        found.partialPictures += 1
                        found.partialBytes += Int64(status.st_blocks) * 512
                    } else {
                        found.pictures += 1
                        found.bytes += Int64(status.st_size)
                    }
                }
            }
            return found
        } catch {
            throw .unusable("the cache directory \(directory) cannot be read (\(error.text)); check cache_dir")
        }
    }
}
