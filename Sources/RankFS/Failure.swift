import Fuse
import Glibc
import Rankings
import Sourcing

/// The requests of the kernel that the tree itself declines.
extension Failure {
    static let nameTooLong = Failure.declined(ENAMETOOLONG, nil)
    /// The kernel names an inode that it has forgotten.
    static let forgottenInode = Failure.declined(ESTALE, nil)
    static let unknownHandle = Failure.declined(EBADF, nil)
    static let readOnly = Failure.declined(EROFS, nil)
    static let notADirectory = Failure.declined(ENOTDIR, nil)
    static let isADirectory = Failure.declined(EISDIR, nil)
    static let notALink = Failure.declined(EINVAL, nil)
    static let noSuchAttribute = Failure.declined(ENODATA, nil)
    /// A file manager's thumbnailer opens a picture that already has a thumbnail.
    static let hasThumbnail = Failure.declined(EBUSY, nil)
    /// The session's deadline has answered.
    static let late = Failure.declined(
        ETIMEDOUT,
        "it takes longer than the option timeout allows; try again in a while, or raise the option")
    /// An ioctl that has no meaning here.
    static let noSuchCommand = Failure.declined(ENOTTY, nil)
    /// A ranking that only signed-in users can see.
    static let modeNeedsSignIn = Failure.declined(
        EACCES, "only signed-in users see this ranking; sign in with `rankfs login`")
    /// A node of the owner, on a mount that other users can access.
    static let ownersOnly = Failure.declined(
        EACCES, "it is its owner's own; mount with share=all to show it to other users")
    /// A command from a user other than the owner.
    static let commandIsOwners = Failure.declined(
        EPERM, "only the mount's owner and root give commands; mount with share=all to let others")
    /// The service lists the picture but does not deliver it.
    static let withheldPicture = Failure.declined(
        EACCES, "the service withholds this picture, and user.rankfs.withheld names the reason; \(members)")
    /// The source cannot name the location of the picture.
    static let unlocated = Failure.declined(
        EIO, "the source does not tell where this picture is; report it with the work's number")

    // Only this file maps reasons to errno values and to messages.

    /// The errno that answers the kernel.
    var errno: Errno {
        Errno(rawValue: code)
    }

    private var code: Int32 {
        switch self {
        case .declined(let code, _): code
        case .absent, .notPublished, .pastTheEnd, .notFound, .gone: ENOENT
        case .needsSignIn, .withheld, .refused: EACCES
        case .notTaken: EINVAL
        case .unreachable, .offline: EHOSTUNREACH
        case .timedOut: ETIMEDOUT
        case .exhausted: EMFILE
        case .busy: EBUSY
        case .cancelled: EINTR
        // A rate limit is not EAGAIN: readers would take it for a non-blocking descriptor and spin.
        case .limited, .crowded, .turnedAway, .troubled, .answered, .full, .sizeNotTold, .unsendable, .broken,
            .untrusted, .redirectRefused, .invalidAnswer, .tooLarge, .unreadable, .damaged, .lengthContradicts,
            .database,
            .unusable:
            EIO
        }
    }

    /// The cause and the remedy as text.
    ///
    /// - Parameter isSecret: Whether the subject is secret; services repeat in their words what they are asked for.
    /// - Returns: Nil for answers that are no trouble: names that do not exist, interruptions.
    func explanation(isSecret: Bool) -> String? {
        let cause = isSecret ? ForeignText.unquoted(cause) : cause
        return switch self {
        case .absent, .notPublished, .pastTheEnd, .cancelled, .declined(_, nil): nil
        case .notFound: "the service says that it is gone; it may have been deleted by its author"
        case .gone: "the image host says that the picture is gone; it may have been deleted by its author"
        case .needsSignIn: "the service shows this to signed-in users only; sign in with `rankfs login`"
        case .withheld: "the service withholds this (\(cause)); \(Self.members)"
        case .refused: "the image host refuses the picture (\(cause)); sign in with `rankfs login` if it is for members"
        case .notTaken: "the service does not take this (\(cause))"
        case .limited(let wait):
            "the service asks to slow down; try again \(wait.map { "in \($0) s" } ?? "in a few minutes")"
        case .crowded(let seconds):
            "more programs read at once than requests may go to the service (option rate); try again in \(seconds) s"
        case .answered(let status): "the image host answered \(status); it is in trouble, try again later"
        case .unreachable: "the service cannot be reached (\(cause)); check the network, then read it again"
        case .timedOut: "the service did not answer in time; check the network, then read it again"
        case .offline: "it is not stored, and the option offline lets no request leave; mount with offline=off"
        case .unreadable: "an answer makes no sense (\(cause)); try again later, or look for a newer rankfs"
        case .sizeNotTold: "the image host does not tell this picture's length; try again later"
        case .damaged, .lengthContradicts:
            "what came is not the whole picture (\(cause)); nothing of it was kept, read it again"
        case .broken: "the picture did not come whole (\(cause)); read it again"
        case .untrusted:
            "what answered is not the image host (\(cause)); check whether the network wants a sign-in or a proxy "
                + "stands in between, then read it again"
        case .database: "the catalogue's database cannot be used (\(cause)); check the disk of the cache directory"
        case .busy(let directory):
            "another rankfs uses the cache directory \(directory); choose another `cache_dir`"
        case .declined(_, let text?): text
        case .turnedAway, .troubled, .exhausted, .unusable, .full, .unsendable, .redirectRefused, .invalidAnswer,
            .tooLarge:
            cause
        }
    }

    private static let members =
        "where a service has accounts, `rankfs login` opens what is for members, and nothing opens what a country may not see"
}
