import Fuse
import Glibc
import System
import RankFS
import Rankings

/// The status documents of running mounts, read by other processes.
extension StatusDocument {
    /// A wait longer than a mount's own deadline for any answer is pointless.
    private static let patience: Duration = .seconds(5)
    /// Bytes; a status has a few kilobytes.
    static let longest = 4 << 20
    /// The path below the mount point.
    static let path = HelperFile.statusPath.text

    /// The status document of a mount; nil if there is none that this version understands.
    ///
    /// Blocks for some seconds if the mount does not answer.
    static func mounted(at mountPoint: String) -> StatusDocument? {
        (try? read(mountPoint)).flatMap { StatusDocument(json: $0) }
    }

    /// The text of a mount's status, or the reason why it has none.
    static func read(_ mountPoint: String) throws(ProgramError) -> [UInt8] {
        let path = "\(mountPoint)/\(Self.path)"
        do throws(SystemError) {
            let text = try BlockingCall.run(within: patience) { () throws(SystemError) in
                try Files.read(path, upTo: longest)
            }
            if let text { return text }
        } catch {
            throw explanation(of: error, at: mountPoint)
        }
        throw silence(of: mountPoint)
    }

    /// Checks that the mounts above some paths answer, before anything looks into them.
    ///
    /// - Parameter paths: The paths as they are written; a link that leads into a mount is not followed.
    /// - Throws: unavailable, for the first mount that does not.
    static func checkAnswers(above paths: [String]) throws(ProgramError) {
        let table = MountTable.current()
        let own = table.mountPoints(of: getuid())
        var mounts: Set<String> = []
        for path in paths {
            let mount = LocalFiles.innermost(of: table.ownMountPoints, above: try LocalFiles.absolute(path))?.mount
            mount.map { _ = mounts.insert($0) }
            // `rankfs fetch` takes paths below the only mount's root.
            if mount == nil, own.count == 1 { mounts.insert(own[0]) }
        }
        for mount in mounts.sorted() {
            guard BlockingCall.run(within: patience, { _ = fileStatus(at: "\(mount)/\(path)") }) != nil else {
                throw silence(of: mount)
            }
        }
    }

    private static func silence(of mountPoint: String) -> ProgramError {
        let shown = LogText.escaped(mountPoint)
        return .unavailable(
            "\(shown) does not answer; `rankfs unmount \(LogText.word(mountPoint))` or end its process.")
    }

    /// The error that explains why a mount returns no status.
    static func explanation(of failure: SystemError, at mountPoint: String) -> ProgramError {
        let shown = LogText.escaped(mountPoint)
        let reason =
            switch failure.code {
            case ENOTCONN:
                "the process behind \(shown) has died; `rankfs unmount \(LogText.word(mountPoint))` clears the folder."
            case EACCES where MountTable.current().isOthers(mountPoint):
                "\(shown) is another user's mount; ask them for allow_other."
            case ENOENT: "\(shown) is not a mount of rankfs; `rankfs status` alone lists those there are."
            default: "\(shown) does not tell its status: \(failure.text)."
            }
        return ProgramError(.unavailable, reason)
    }

    /// Parses the text of a mount's status.
    ///
    /// - Throws: `.unavailable` if the text comes from another version.
    static func parse(_ text: [UInt8], of path: String) throws(ProgramError) -> StatusDocument {
        guard let document = StatusDocument(json: text) else {
            throw .unavailable(
                "\(LogText.escaped(path)) is served by another version of rankfs; mount it again, or try --json.")
        }
        return document
    }

    /// The mount that uses a cache directory; nil if no mount reports that directory.
    ///
    /// Blocks for some seconds for each mount that does not answer.
    ///
    /// - Throws: unavailable, if no mount reports it and one does not answer.
    static func holder(of directory: String) throws(ProgramError) -> (mountPoint: String, processID: Int32)? {
        let wanted = LocalFiles.canonical(directory) ?? directory
        var silent: ProgramError?
        for mountPoint in MountTable.current().ownMountPoints {
            do throws(ProgramError) {
                guard let document = StatusDocument(json: try read(mountPoint)),
                    LocalFiles.canonical(document.text("cache.directory")) == wanted
                else { continue }
                return (document.text("mount_point"), Int32(clamping: document.number("pid")))
            } catch {
                if error == silence(of: mountPoint) { silent = silent ?? error }
            }
        }
        if let silent { throw silent }
        return nil
    }
}
