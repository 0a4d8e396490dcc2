import CLinux
import Glibc
import ImageCache

extension Repair {
    /// Does it, and says what was done; nil if it could not be.
    func perform() -> String? {
        switch self {
        case .mark(let directory):
            guard let missing = try? ImageCache.mark(directory: directory) else { return nil }
            return missing.isEmpty ? "every mark was set." : "what the file system can hold was set."
        case .protect(let file, let rights):
            var status = stat()
            // Not through a link: whoever made it may have meant another file.
            guard unsafe lstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
                unsafe chmod(file, status.st_mode & 0o777 & ~rights) == 0
            else { return nil }
            let shown = LogText.escaped(file)
            return rights == Repair.all
                ? "\(shown) is now readable and writable by its owner alone."
                : "\(shown) can now be changed by its owner alone."
        case .detach(let mountPoint):
            guard (try? Unmounter.detach(mountPoint)) != nil else { return nil }
            return "the dead mount on \(LogText.escaped(mountPoint)) was cleared."
        case .remove(let files):
            guard files.allSatisfy({ unsafe unlink($0) == 0 || errno == ENOENT }) else { return nil }
            return "removed \(files.map { LogText.escaped($0) }.joined(separator: ", "))."
        }
    }
}
