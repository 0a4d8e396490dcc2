internal import Digests
package import Posix
package import Rankings

/// A picture to open or preload.
package struct PictureRequest: Sendable {
    package var id: PictureID
    package var location: PictureLocation
    /// The length that `stat` showed; nil for a preload whose size nobody asked yet.
    package var size: Int64?
    /// The path below the mount by which people know it, for displays; asked only when one looks.
    package var path: (@Sendable () -> String)?
    /// Whether it concerns nobody but its reader, and is not shared with other machines.
    package var isPrivate: Bool

    package init(
        id: PictureID, location: PictureLocation, size: Int64?, isPrivate: Bool = false,
        path: (@Sendable () -> String)? = nil
    ) {
        self.id = id
        self.location = location
        self.size = size
        self.isPrivate = isPrivate
        self.path = path
    }
}

/// The directory around an open picture, so that the next ones can be preloaded.
package struct Neighbours: Sendable {
    /// Names the directory: readers of two directories are two walks.
    package var directory: UInt64
    /// The open picture's place in it, by name.
    package var index: Int
    /// The same pictures by modification time; nil if nobody goes by that.
    package var byTime: PictureOrder?
    /// Whether the opener copies or packs: it goes from picture to picture without looking.
    package var isBulk: Bool
    /// The picture at a place by name, or nil outside the directory or where nothing can be preloaded.
    ///
    /// Must not wait.
    package var picture: @Sendable (Int) -> PictureRequest?

    package init(
        directory: UInt64, index: Int, byTime: PictureOrder? = nil, isBulk: Bool = false,
        picture: @escaping @Sendable (Int) -> PictureRequest?
    ) {
        self.directory = directory
        self.index = index
        self.byTime = byTime
        self.isBulk = isBulk
        self.picture = picture
    }
}

/// Another order of a directory's pictures than that of their names.
package struct PictureOrder: Sendable {
    /// By place by name: the place in this order.
    private let places: [Int32]
    /// By place in this order: the place by name.
    private let indices: [Int32]

    /// Keeps two arrays, of which each is the inverse of the other.
    ///
    /// - Parameters:
    ///   - places: By place by name, the place in this order.
    ///   - indices: By place in this order, the place by name.
    package init(places: [Int32], indices: [Int32]) {
        self.places = places
        self.indices = indices
    }

    /// The place of a picture that has a place by name; nil if it is not in this order.
    package func place(of index: Int) -> Int? {
        places.indices.contains(index) ? Int(places[index]) : nil
    }

    /// The place by name of the picture at a place, or nil outside the directory.
    package func index(at place: Int) -> Int? {
        indices.indices.contains(place) ? Int(indices[place]) : nil
    }
}

/// What is known of a picture's bytes.
package enum PictureState: Sendable, Equatable {
    case absent
    case queued
    case downloading(received: Int64, total: Int64?)
    case stored(length: Int64)
    case failed(reason: String)
}

/// Bytes that can be handed out without copying, or the need to wait.
package enum PictureBytes: Sendable {
    /// `count` bytes at `offset` of the file.
    case file(StoredFile, offset: Int64, count: Int)
    /// The end of the picture: no bytes.
    case end
}

extension StoredFile {
    /// The file of a picture, opened if need be.
    package func picture() throws(ImageCacheError) -> OpenFile {
        do throws(SystemError) { return try opened() } catch {
            if let lack = error.lackOfDescriptors { throw .exhausted(lack) }
            throw .unusable(
                "the file of an open picture cannot be opened again (\(error.text)); open the picture again")
        }
    }
}

/// Which bytes something holds of a picture that may change at the source.
///
/// Only equality that can be proved counts: the same download or file, or the same name of a version (ETag,
/// Last-Modified: RFC 9110 section 8.8) at the same length. Known in this process only, as are the kernel's pages.
package struct PictureVersion: Sendable {
    /// Names the download that brought the bytes, or the stored file.
    let token: UInt64
    /// A hash of validator and length; 0 if the source names no versions.
    var tag: UInt64 = 0

    /// Whether bytes of both may be put together.
    package func isSame(as other: PictureVersion) -> Bool {
        token == other.token || tag != 0 && tag == other.tag
    }

    static func tag(_ validator: String, length: Int64) -> UInt64 {
        XXH3.hash(Array("\(length) \(validator)".utf8))
    }
}

/// The whole picture, once reading it decides nothing any more: most reads of what is stored ask no lock that others wait for.
final class WholePicture: Sendable {
    let file: StoredFile
    /// Bytes of the picture.
    let length: Int64
    let version: PictureVersion

    init(file: StoredFile, length: Int64, version: PictureVersion) {
        self.file = file
        self.length = length
        self.version = version
    }
}
