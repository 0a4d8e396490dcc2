import CLinux
import Glibc

/// Hands the marks by which backups pass a cache by on to a directory below it.
///
/// Which marks there are is the image cache's business: whatever it put on the parent is copied.
enum InheritedMarks {
    /// Room for the names of a few attributes, and for the short value of one.
    private static let nameBytes = 4096
    private static let valueBytes = 256

    /// Copies `user.` attributes and the nodump flag; a file system without them is no error, the parent's tag counts too.
    static func copy(from parent: String, to child: String) {
        let source = unsafe open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        let target = unsafe open(child, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { for descriptor in [source, target] where descriptor >= 0 { close(descriptor) } }
        guard source >= 0, target >= 0 else { return }
        var names = [UInt8](repeating: 0, count: nameBytes)
        let length = unsafe names.withUnsafeMutableBytes {
            unsafe flistxattr(source, $0.baseAddress?.assumingMemoryBound(to: CChar.self), $0.count)
        }
        for bytes in names.prefix(max(0, length)).split(separator: 0) {
            let name = String(decoding: bytes, as: UTF8.self)
            guard name.hasPrefix("user.") else { continue }
            var value = [UInt8](repeating: 0, count: valueBytes)
            let count = unsafe fgetxattr(source, name, &value, value.count)
            if count >= 0 { unsafe _ = fsetxattr(target, name, value, count, 0) }
        }
        if rankfs_get_nodump(source) == 1 { _ = rankfs_set_nodump(target) }
    }
}
