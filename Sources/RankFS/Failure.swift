import Catalog
import Fuse
import Glibc
import ImageCache
import Rankings
import Render

/// The reason why a request fails.
///
/// Only this file maps reasons to errno values and to messages.
enum Failure: Error, Hashable, Sendable {
    case noSuchName
    case nameTooLong
    /// The kernel names an inode that it has forgotten.
    case forgottenInode
    case unknownHandle
    case readOnly
    case notADirectory
    case isADirectory
    case notALink
    case noSuchAttribute
    /// A file manager's thumbnailer opens a picture that already has a thumbnail.
    case hasThumbnail
    /// An ioctl that has no meaning here.
    case noSuchCommand
    /// A ranking that only signed-in users can see.
    case modeNeedsSignIn
    /// A node of the owner, on a mount that other users can access.
    case ownersOnly
    /// A command from a user other than the owner.
    case commandIsOwners
    /// The service lists the picture but does not deliver it.
    case withheld
    /// The source cannot name the location of the picture.
    case unlocated
    case catalog(CatalogError)
    case picture(ImageCacheError)
    /// An animation could not be made from the service's data.
    case media(MediaError)
}

extension Failure {
    /// The errno that answers the kernel.
    var errno: Errno {
        Errno(rawValue: code)
    }

    private var code: Int32 {
        switch self {
        case .noSuchName: ENOENT
        case .nameTooLong: ENAMETOOLONG
        case .forgottenInode: ESTALE
        case .unknownHandle: EBADF
        case .readOnly: EROFS
        case .notADirectory: ENOTDIR
        case .isADirectory: EISDIR
        case .notALink: EINVAL
        case .noSuchAttribute: ENODATA
        case .noSuchCommand: ENOTTY
        case .hasThumbnail: EBUSY
        case .modeNeedsSignIn, .ownersOnly, .withheld: EACCES
        case .commandIsOwners: EPERM
        case .unlocated, .media: EIO
        case .catalog(let error): Self.code(of: error)
        case .picture(let error): Self.code(of: error)
        }
    }

    private static func code(of error: CatalogError) -> Int32 {
        switch error {
        case .noSuchListing: ENOENT
        case .needsSignIn: EACCES
        case .source(let error): code(of: error)
        case .sizeNotTold, .database: EIO
        }
    }

    private static func code(of error: SourceError) -> Int32 {
        switch error {
        case .notPublished, .pastTheEnd, .notFound: ENOENT
        case .needsSignIn, .withheld: EACCES
        // Not EAGAIN: readers would take it for a non-blocking descriptor and spin.
        case .limited, .turnedAway, .troubled, .unreadable: EIO
        case .refused: EINVAL
        case .unreachable, .offline: EHOSTUNREACH
        case .timedOut: ETIMEDOUT
        case .exhausted: EMFILE
        case .cancelled: EINTR
        }
    }

    private static func code(of error: ImageCacheError) -> Int32 {
        switch error {
        case .unreachable, .offline: EHOSTUNREACH
        case .timedOut: ETIMEDOUT
        case .gone: ENOENT
        case .refused: EACCES
        case .damaged, .lengthContradicts, .broken, .untrusted, .troubled, .limited, .turnedAway, .unusable: EIO
        case .exhausted: EMFILE
        case .cancelled: EINTR
        case .busy: EBUSY
        }
    }
}

extension Failure {
    /// Whether the service itself reported trouble.
    var isServiceTrouble: Bool {
        if case .catalog(.source(.troubled)) = self { true } else { false }
    }

    /// The cause and the remedy as text, or nil for answers that are no trouble: names that do not exist, interruptions.
    var explanation: String? {
        switch self {
        case .noSuchName, .nameTooLong, .forgottenInode, .unknownHandle, .readOnly, .notADirectory, .isADirectory,
            .notALink, .noSuchAttribute, .noSuchCommand, .hasThumbnail:
            nil
        case .modeNeedsSignIn: "only signed-in users see this ranking; sign in with `rankfs login`"
        case .ownersOnly: "it is its owner's own; mount with share=all to show it to other users"
        case .commandIsOwners: "only the mount's owner and root give commands; mount with share=all to let others"
        case .withheld:
            "the service withholds this picture, and user.rankfs.withheld names the reason; \(Self.members)"
        case .unlocated: "the source does not tell where this picture is; report it with the work's number"
        case .catalog(let error): Self.explanation(of: error)
        case .picture(let error): Self.explanation(of: error)
        case .media(let error): Self.printable(error.text)
        }
    }

    private static func explanation(of error: CatalogError) -> String? {
        switch error {
        case .noSuchListing: nil
        case .needsSignIn: explanation(of: SourceError.needsSignIn)
        case .source(let error): explanation(of: error)
        case .sizeNotTold: "the image host does not tell this picture's length; try again later"
        case .database(let reason):
            "the catalogue's database cannot be used (\(printable(reason))); "
                + "check the disk of the cache directory"
        }
    }

    private static func explanation(of error: SourceError) -> String? {
        switch error {
        case .cancelled, .notPublished, .pastTheEnd: nil
        case .notFound: "the service says that it is gone; it may have been deleted by its author"
        case .needsSignIn: "the service shows this to signed-in users only; sign in with `rankfs login`"
        case .withheld(let reason): "the service withholds this work (\(printable(reason))); \(members)"
        case .limited(let wait): limited(wait)
        case .turnedAway(let reason), .troubled(let reason), .exhausted(let reason): printable(reason)
        case .unreachable(let reason): unreachable(reason)
        case .timedOut: timedOut
        case .offline: offline
        case .unreadable(let reason):
            "an answer makes no sense (\(printable(reason))); "
                + "try again later, or look for a newer rankfs"
        case .refused(let reason): "the service does not take this (\(printable(reason)))"
        }
    }

    private static func explanation(of error: ImageCacheError) -> String? {
        switch error {
        case .cancelled: nil
        case .unreachable(let reason): unreachable(reason)
        case .timedOut: timedOut
        case .offline: offline
        case .gone: "the image host says that the picture is gone; it may have been deleted by its author"
        case .refused(let reason):
            "the image host refuses the picture (\(printable(reason))); "
                + "sign in with `rankfs login` if it is for members"
        case .damaged, .lengthContradicts:
            "what came is not the whole picture (\(printable(error.text))); nothing of it was kept, read it again"
        case .broken: "the picture did not come whole (\(printable(error.text))); read it again"
        case .untrusted(let reason):
            "what answered is not the image host (\(printable(reason))); "
                + "check whether the network wants a sign-in or a proxy stands in between, then read it again"
        case .troubled(let status): "the image host answered \(status); it is in trouble, try again later"
        case .limited(let wait): limited(wait)
        case .turnedAway(let reason), .exhausted(let reason): printable(reason)
        case .busy(let directory):
            "another rankfs uses the cache directory \(printable(directory)); choose another `cache_dir`"
        case .unusable(let reason): printable(reason)
        }
    }

    private static let members =
        "where a service has accounts, `rankfs login` opens what is for members, and nothing opens what a country may not see"

    private static func unreachable(_ reason: String) -> String {
        "the service cannot be reached (\(printable(reason))); check the network, then read it again"
    }

    private static let timedOut = "the service did not answer in time; check the network, then read it again"

    private static let offline =
        "it is not stored, and the option offline lets no request leave; mount with offline=off"

    private static func limited(_ wait: Int64?) -> String {
        "the service asks to slow down; try again \(wait.map { "in \($0) s" } ?? "in a few minutes")"
    }

    /// Makes text from outside fit for one log line: control characters and line separators escaped, length limited.
    static func printable(_ text: String) -> String {
        var result = ""
        var length = 0
        for scalar in text.unicodeScalars {
            guard length < TreeLimits.longestMessagePart else { return result + "…" }
            length += 1
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
                result += "\\u{\(String(scalar.value, radix: 16))}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
